"""What the two eras and the two transports of a backend have in common: how one speaks to it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Protocol

from vmcp.gateway.ports import Reply
from vmcp.model.backend import Backend
from vmcp.model.document import Document
from vmcp.model.health import Stage
from vmcp.model.inventory import Peer
from vmcp.protocol.call import Ask, Call, Client, Done
from vmcp.protocol.document import EMPTY
from vmcp.protocol.failures import BackendFailed
from vmcp.protocol.jsonrpc import Notification

Hear = Callable[[Notification], None]
Asking = Callable[[str, Document], Awaitable[Document]]


class Refused(Exception):
    """The backend answered one of our own requests with a JSON-RPC error."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


class NoStream(Exception):
    """The backend offers no stream on which it would tell of changes."""


class BackendGone(BackendFailed):
    """The one connection on which everything is said has ended: there is nothing to open a stream on."""


class EraContradicted(Exception):
    """The backend answers as one of the other era does; the call was not executed.

    `end` is the answer itself, for the case that the era proves right all the same.
    """

    def __init__(self, message: str, end: Done | None = None) -> None:
        super().__init__(message)
        self.end = end


class Speech(Protocol):
    """An open way to a backend, in one era over one transport."""

    @property
    def peer(self) -> Peer:
        """What the backend said of itself."""
        ...

    async def ask(self, method: str, params: Document) -> Document:
        """Put a request of our own and return its result; raise Refused or BackendFailed."""
        ...

    async def call(self, call: Call, reply: Reply) -> Done | Ask:
        """Carry a client's call to its end; raise BackendFailed or EraContradicted."""
        ...

    async def listen(self, hear: Hear, ready: Callable[[], None]) -> None:
        """Hand over what the backend tells unasked; call `ready` once it would tell.

        Return when the stream has ended and may be opened again; raise NoStream, or BackendFailed when the
        backend is lost.
        """
        ...

    async def probe(self) -> None:
        """Find out whether the backend answers; raise BackendFailed or EraContradicted.

        How long that may take, who asks decides.
        What it says of itself meanwhile is its `peer` from then on.
        """
        ...

    async def subscribe(self, uri: str) -> None:
        """Ask for updates of a resource; raise Refused or BackendFailed."""
        ...

    async def unsubscribe(self, uri: str) -> None:
        """Ask for no more updates of a resource; raise Refused or BackendFailed."""
        ...

    async def notify(self, client: Client, method: str, params: bytes | None) -> None:
        """Pass a client's notification on where a session of it is open."""
        ...

    async def set_level(self, client: Client) -> None:
        """Bring a client's log level to where a session of it is open."""
        ...

    def retune(self, backend: Backend) -> None:
        """Go on with other settings of the backend, which need no new connection."""
        ...

    def forget_clients(self) -> None:
        """End what is kept for all clients, without waiting for it."""
        ...

    async def release(self, client: Client) -> None:
        """End what is kept for a client."""
        ...


async def ping(ask: Asking) -> None:
    """Put a ping; a server that does not know it, or refuses it, has answered too. Raise BackendFailed."""
    with suppress(Refused):
        await ask("ping", EMPTY)


@contextmanager
def during(stage: Stage) -> Iterator[None]:
    """Say of a failure within the block what was being done, where it does not say so itself."""
    try:
        yield
    except BackendFailed as failure:
        failure.stage = failure.stage or stage
        raise
