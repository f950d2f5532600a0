"""The sessions of one backend: one for each client session, opened on first use and ended with it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

from vmcp.gateway.turns import Turns
from vmcp.protocol.call import Client

# Sessions that clients without one share, by caller and declared capabilities; past that the oldest one ends.
_MOST_SHARED = 256

Key = Client | tuple[object, bytes]
S = TypeVar("S")


class Sessions(Generic[S]):
    """Keep the sessions by their keys; each is opened by one of those who want it, the others wait."""

    def __init__(
        self,
        opened: Callable[[Client], Awaitable[S]],
        ended: Callable[[S], None],
    ) -> None:
        self._open = opened
        self._end = ended
        self._kept: dict[Key, S] = {}
        self._turns: Turns[Key] = Turns()

    def known(self, client: Client) -> S | None:
        """Return the session of a client, None where none is open."""
        return self._kept.get(_key(client))

    async def of(self, client: Client) -> S:
        """Return the session of a client, opened now where there was none."""
        key = _key(client)
        async with self._turns.of(key):
            known = self._kept.get(key)
            if known is None:
                known = await self._open(client)
                self._keep(key, known, client)
        return known

    def _keep(self, key: Key, session: S, client: Client) -> None:
        if client.has_ended:
            self._end(session)
            return
        self._kept[key] = session
        shared = [known for known in self._kept if isinstance(known, tuple)]
        if len(shared) > _MOST_SHARED:
            self._end(self._kept.pop(shared[0]))

    def lose(self, client: Client, session: S) -> None:
        """Forget a session that is gone, unless another one has taken its place."""
        key = _key(client)
        if self._kept.get(key) is session:
            del self._kept[key]

    def take(self, client: Client) -> S | None:
        """Return the session of a client and keep it no more."""
        return self._kept.pop(_key(client), None)

    def take_all(self) -> list[S]:
        """Return all sessions and keep them no more."""
        taken, self._kept = list(self._kept.values()), {}
        return taken

    def forget_all(self) -> None:
        """Forget all sessions: the backend that knew them is no more."""
        self._kept.clear()


def _key(client: Client) -> Key:
    return client if client.lasting else (client.caller, client.capabilities)
