"""What a run of the suite says, and when a run through the gateway is worse than one without it.

Pure: values in, values out. The unit is a check of a scenario, since one scenario holds many.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

PASSED = "SUCCESS"
FAILED = "FAILURE"


class BaselineError(ValueError):
    """The baseline file says something that it may not say; the message names the line."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How often each check of one scenario passed and failed."""

    passes: Mapping[str, int] = field(default_factory=dict)
    failures: Mapping[str, int] = field(default_factory=dict)

    @property
    def passed(self) -> int:
        """The number of checks that passed."""
        return sum(self.passes.values())

    @property
    def failed(self) -> int:
        """The number of checks that failed."""
        return sum(self.failures.values())


Report = Mapping[str, Outcome]
"""The outcomes of one run, by scenario."""


@dataclass(frozen=True, slots=True)
class Excuse:
    """A line of the baseline: checks of a scenario that are worse through the gateway, and why."""

    revision: str
    scenario: str
    checks: frozenset[str]
    reason: str


def outcome(checks: Sequence[Mapping[str, Any]]) -> Outcome:
    """Return the outcome of a scenario from what the suite wrote about its checks."""
    return Outcome(
        passes=Counter(check["id"] for check in checks if check["status"] == PASSED),
        failures=Counter(check["id"] for check in checks if check["status"] == FAILED),
    )


def worse(direct: Outcome, through: Outcome) -> tuple[str, ...]:
    """Return the checks that pass less often, or fail more often, through the gateway."""
    checks = {*direct.passes, *direct.failures, *through.failures}
    return tuple(
        sorted(
            check
            for check in checks
            if through.passes.get(check, 0) < direct.passes.get(check, 0)
            or through.failures.get(check, 0) > direct.failures.get(check, 0)
        )
    )


def regressions(
    revision: str, direct: Report, through: Report, excuses: Sequence[Excuse]
) -> tuple[str, ...]:
    """Return a sentence for each check that is worse without excuse and each stale excuse."""
    found = {
        scenario: worse(direct[scenario], through.get(scenario, Outcome())) for scenario in direct
    }
    ours = [excuse for excuse in excuses if excuse.revision == revision]
    return (*_unexcused(revision, found, ours), *_stale(found, ours))


def shortfalls(revision: str, direct: Report, *, passed: int, unscored: str) -> tuple[str, ...]:
    """Return a sentence for each way in which a direct run misses the published figures."""
    total = sum(each.passed for each in direct.values())
    misses = [
        f"{revision} {scenario}: {', '.join(sorted(each.failures))} fails directly."
        for scenario, each in sorted(direct.items())
        if each.failed and not scenario.startswith(unscored)
    ]
    if total != passed:
        misses.append(f"{revision}: {total} checks pass directly, not {passed}.")
    return tuple(misses)


def baseline(lines: Any, *, revisions: Collection[str]) -> tuple[Excuse, ...]:
    """Return the excuses of a parsed baseline file, refusing what is not one."""
    if not isinstance(lines, list):
        raise BaselineError("the baseline is not a list")
    excuses = tuple(_excuse(f"baseline[{number}]", line) for number, line in enumerate(lines))
    for number, excuse in enumerate(excuses):
        if excuse.revision not in revisions:
            known = ", ".join(sorted(revisions))
            raise BaselineError(f"baseline[{number}].revision must be one of {known}")
    return excuses


def _unexcused(
    revision: str, found: Mapping[str, Sequence[str]], excuses: Sequence[Excuse]
) -> list[str]:
    excused = {(excuse.scenario, check) for excuse in excuses for check in excuse.checks}
    return [
        f"{revision} {scenario}: {check} is worse through the gateway than directly."
        for scenario, checks in found.items()
        for check in checks
        if (scenario, check) not in excused
    ]


def _stale(found: Mapping[str, Sequence[str]], excuses: Sequence[Excuse]) -> list[str]:
    return [
        f"{excuse.revision} {excuse.scenario}: {check} is in the baseline and no worse through "
        "the gateway: take it out."
        for excuse in excuses
        for check in sorted(excuse.checks)
        if check not in found.get(excuse.scenario, ())
    ]


def _excuse(place: str, line: Any) -> Excuse:
    if not isinstance(line, dict):
        raise BaselineError(f"{place} is not a mapping")
    unknown = set(line) - {"revision", "scenario", "checks", "reason"}
    if unknown:
        raise BaselineError(f"{place} has unknown keys: {', '.join(sorted(map(str, unknown)))}")
    for key in ("revision", "scenario", "reason"):
        if not isinstance(line.get(key), str) or not line[key].strip():
            raise BaselineError(f"{place}.{key} must be a text that is not empty")
    checks = line.get("checks")
    if not isinstance(checks, list) or not checks:
        raise BaselineError(f"{place}.checks must be a list of check ids that is not empty")
    return Excuse(
        revision=line["revision"],
        scenario=line["scenario"],
        checks=frozenset(map(str, checks)),
        reason=line["reason"],
    )
