"""The status as it should be now, bounded in size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from vmcp.model.keys import ObjectKey
from vmcp.report.conditions import Held, Said, rendered, said, stamped
from vmcp.report.entries import Entries, Entry, Picture


@dataclass(frozen=True, slots=True)
class Limits:
    """How many entries a status lists, and how many bytes they take as JSON."""

    entries: int
    entry_bytes: int


# An object has at most 1.5 MiB in etcd, and who owns which field takes about as much as the fields.
LIMITS = Limits(entries=1000, entry_bytes=640 * 2**10)


@dataclass(frozen=True, slots=True)
class Draft:
    """A status, since when its conditions hold, and what of it is worth a write by itself."""

    fields: Mapping[str, Any]
    held: Mapping[str, Held]
    news: tuple[object, ...]
    size: int


class Drafts:
    """Makes one status after the other for one object."""

    def __init__(self, owner: ObjectKey, limits: Limits) -> None:
        self._owner = owner
        self._limits = limits
        self._entries = Entries()

    def of(
        self, picture: Picture, held: Mapping[str, Held], *, generation: int, now: datetime
    ) -> Draft:
        """Return the status for a picture; `held` is since when the conditions were as they are."""
        entries = self._entries.of(picture)
        listed = chosen(entries, self._limits)
        conditions = said(picture.snapshot, entries, self._owner, len(entries) - len(listed))
        times = stamped(conditions, held, now)
        fields = {
            "backendCount": _usable(picture, entries),
            "discoveredBackends": [each.fields for each in listed],
            "conditions": rendered(conditions, times, generation),
        }
        news = (generation, conditions, tuple(each.news for each in listed))
        return Draft(fields, times, news, sum(each.size for each in listed) + _size(conditions))


def chosen(entries: Sequence[Entry], limits: Limits) -> list[Entry]:
    """Return the entries that find room, in order: those that fail have it first."""
    kept: list[Entry] = []
    room = limits.entry_bytes
    for each in sorted(entries, key=lambda entry: not entry.standing.is_failing):
        room -= each.size
        if room < 0 or len(kept) == limits.entries:
            break
        kept.append(each)
    return sorted(kept, key=lambda entry: entry.name)


def _usable(picture: Picture, entries: Sequence[Entry]) -> int:
    """Return how many backends can be used: none while nobody is served."""
    if picture.snapshot.closed is not None:
        return 0
    return sum(each.standing.is_usable for each in entries)


def _size(conditions: Sequence[Said]) -> int:
    return sum(len(each.message) + len(each.reason) for each in conditions)
