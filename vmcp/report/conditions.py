"""The conditions of a VirtualMCPServer that are the gateway's to tell."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from vmcp.model.health import PartialFailure
from vmcp.model.keys import ObjectKey
from vmcp.model.problem import Problem
from vmcp.model.snapshot import Snapshot
from vmcp.report.entries import Entry, Standing, is_member
from vmcp.report.text import joined, written

DISCOVERED, DEGRADED, AUTH = "BackendsDiscovered", "Degraded", "AuthConfigured"
TYPES = (AUTH, DISCOVERED, DEGRADED)

_MOST_MESSAGE = 1024
_MOST_NAMES = 10
_UNSUPPORTED_AUTH = "IncomingAuthNotSupported"
# With these, members may be there that are not known.
_BLIND = frozenset(("ConversionFailed", "GroupNotFound", "KindForbidden"))
# What has no effect is told, and leaves the rest as it is meant.
_HARMLESS = "FieldNotSupported"

Truth = Literal["True", "False", "Unknown"]


@dataclass(frozen=True, slots=True)
class Said:
    """One condition without its times."""

    type: str
    status: Truth
    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class Held:
    """A status that a condition had, and since when."""

    status: str
    since: str


def said(
    snapshot: Snapshot, entries: Sequence[Entry], owner: ObjectKey, unlisted: int
) -> tuple[Said, ...]:
    """Return all conditions; `unlisted` is how many of the entries find no room in the status."""
    problems = [each for each in snapshot.problems if not is_member(each.key)]
    own = [each for each in problems if each.key == owner]
    missing = snapshot.closed or next((each for each in problems if each.reason in _BLIND), None)
    told = [
        # The status is the object's own: what is wrong with itself needs no name.
        *(_told(each) for each in own if each != missing),
        *(_named(each) for each in problems if each.key != owner and each != missing),
    ]
    return (
        _auth(snapshot.closed),
        _discovered(entries, missing, told, unlisted),
        _degraded(snapshot, entries, own),
    )


def stamped(
    conditions: Iterable[Said], before: Mapping[str, Held], now: datetime
) -> Mapping[str, Held]:
    """Return since when each condition has its status: the time moves with the status alone."""
    fresh = written(now)
    return {
        each.type: held
        if (held := before.get(each.type)) is not None and held.status == each.status
        else Held(each.status, fresh)
        for each in conditions
    }


def rendered(
    conditions: Iterable[Said], held: Mapping[str, Held], generation: int
) -> list[dict[str, Any]]:
    """Return conditions as they are written."""
    return [
        {
            "type": each.type,
            "status": each.status,
            "reason": each.reason,
            "message": each.message,
            "lastTransitionTime": held[each.type].since,
            "observedGeneration": generation,
        }
        for each in conditions
    ]


def in_force(status: object) -> Mapping[str, Held]:
    """Return what a status has of our conditions."""
    listed = status.get("conditions") if isinstance(status, Mapping) else None
    found = listed if isinstance(listed, list) else []
    return {
        each["type"]: Held(str(each["status"]), str(each["lastTransitionTime"]))
        for each in found
        if isinstance(each, Mapping)
        and each.get("type") in TYPES
        and {"status", "lastTransitionTime"} <= each.keys()
    }


def _auth(closed: Problem | None) -> Said:
    if closed is None:
        message = "The spec asks for no protection that this version does not provide."
        return Said(AUTH, "True", "IncomingAuthValid", message)
    status: Truth = "False" if closed.reason == _UNSUPPORTED_AUTH else "Unknown"
    return Said(AUTH, status, closed.reason, joined([closed.message], _MOST_MESSAGE))


def _discovered(
    entries: Sequence[Entry], missing: Problem | None, told: Sequence[str], unlisted: int
) -> Said:
    if missing is not None:
        return _joined(DISCOVERED, "False", missing.reason, [missing.message, *told])
    if not entries:
        return _joined(DISCOVERED, "True", "NoBackends", ["There are no backends.", *told])
    usable = sum(each.standing.is_usable for each in entries)
    counted = f"{usable} of {len(entries)} backends can be used now."
    more = [f"{unlisted} of them are not listed here."] if unlisted else []
    return _joined(DISCOVERED, "True", "BackendsDiscovered", [counted, *more, *told])


def _degraded(snapshot: Snapshot, entries: Sequence[Entry], own: Sequence[Problem]) -> Said:
    if (closed := snapshot.closed) is not None:
        return _joined(DEGRADED, "True", closed.reason, [closed.message])
    failing = [each for each in entries if each.standing.is_failing]
    wrong = [each for each in own if each.reason != _HARMLESS]
    if failing:
        told = [*_failing(snapshot, failing, len(entries)), *map(_told, wrong)]
        return _joined(DEGRADED, "True", "BackendsDegraded", told)
    if wrong:
        return _joined(DEGRADED, "True", wrong[0].reason, [each.message for each in wrong])
    return _well(entries)


def _failing(snapshot: Snapshot, failing: Sequence[Entry], count: int) -> Iterator[str]:
    names = [f"{each.name} ({each.standing.value})" for each in failing[:_MOST_NAMES]]
    left = len(failing) - len(names)
    more = f" and {left} more" if left else ""
    yield f"{len(failing)} of {count} backends are not ready: {', '.join(names)}{more}."
    fails = snapshot.health.partial_failure is PartialFailure.FAIL
    if fails and any(each.is_unhealthy for each in failing):
        yield "Until they are back, lists are errors (partialFailureMode is fail)."


def _well(entries: Sequence[Entry]) -> Said:
    waiting = sum(each.standing is Standing.UNKNOWN for each in entries)
    if waiting:
        message = f"{waiting} of {len(entries)} backends have not answered yet."
        return Said(DEGRADED, "False", "BackendsPending", message)
    if entries:
        return Said(DEGRADED, "False", "BackendsReady", "All backends are ready.")
    return Said(DEGRADED, "False", "NoBackends", "There are no backends.")


def _told(problem: Problem) -> str:
    return f"{problem.reason}: {problem.message}"


def _named(problem: Problem) -> str:
    return f"{problem.key.kind} '{problem.key.name}': {_told(problem)}"


def _joined(type_: str, status: Truth, reason: str, sentences: Sequence[str]) -> Said:
    return Said(type_, status, reason, joined(sentences, _MOST_MESSAGE))
