"""Remember which backend made which task for which caller, so that it is found again, from a new session too.

A view is a server of its own to its clients: tasks made in one are unknown in another.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from weakref import ref

from vmcp.clock import Clock
from vmcp.model.identity import ANONYMOUS, Caller
from vmcp.model.inventory import Era
from vmcp.model.keys import ObjectKey
from vmcp.model.view import View
from vmcp.protocol.call import Client
from vmcp.protocol.tasks import Task

_MOST_TASKS = 10_000
# A backend tells of the end of its tasks itself, as long as we ask it a little later than it forgets them.
_GRACE_SECONDS = 60.0

_Key = tuple[Caller, View, Era, str]


@dataclass(slots=True)
class _Kept:
    backend: ObjectKey
    began: float
    ttl_seconds: float | None
    # Weak: what a client said of itself must not outlive its session here.
    session: ref[Client]


class Tasks:
    """A bounded table: what outlives its time to live is forgotten, and the oldest where there are too many."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._kept: OrderedDict[_Key, _Kept] = OrderedDict()

    def __len__(self) -> int:
        return len(self._kept)

    def made(self, client: Client, backend: ObjectKey, task: Task) -> bool:
        """Take note of a new task; False where a live one of another backend has its id."""
        known = self._live(client, task.id)
        if known is not None and known.backend != backend:
            return False
        key = _key(client, task.id)
        self._kept[key] = _Kept(backend, self._clock.monotonic(), task.ttl_seconds, ref(client))
        self._kept.move_to_end(key)
        if len(self._kept) > _MOST_TASKS:
            self._kept.popitem(last=False)
        return True

    def maker(self, client: Client, identity: str) -> ObjectKey | None:
        """Return the backend that made a task; the session that names a task has it from then on."""
        known = self._live(client, identity)
        if known is None:
            return None
        known.session = ref(client)
        return known.backend

    def told(self, client: Client, task: Task) -> None:
        """Take note of how long a task is kept now."""
        if (known := self._live(client, task.id)) is not None:
            known.ttl_seconds = task.ttl_seconds

    def forget(self, client: Client, identity: str) -> None:
        """Forget a task that its backend knows no more."""
        self._kept.pop(_key(client, identity), None)

    def of(self, client: Client) -> dict[ObjectKey, frozenset[str]]:
        """Return the tasks that a client may list, by their backends in order.

        Those who come without credentials share one name, so each of their sessions lists its own.
        """
        found: dict[ObjectKey, set[str]] = {}
        for caller, view, era, identity in tuple(self._kept):
            if (caller, view, era) != (client.caller, client.view, client.era):
                continue
            known = self._live(client, identity)
            if known is not None and (caller != ANONYMOUS or known.session() is client):
                found.setdefault(known.backend, set()).add(identity)
        return {key: frozenset(found[key]) for key in sorted(found, key=str)}

    def _live(self, client: Client, identity: str) -> _Kept | None:
        key = _key(client, identity)
        known = self._kept.get(key)
        if known is None or known.ttl_seconds is None:
            return known
        if self._clock.monotonic() > known.began + known.ttl_seconds + _GRACE_SECONDS:
            del self._kept[key]
            return None
        return known


def _key(client: Client, identity: str) -> _Key:
    return client.caller, client.view, client.era, identity
