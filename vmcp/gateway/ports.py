"""What the gateway needs from the layers around it, as Protocols; `vmcp.assembly` puts the real ones in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol, runtime_checkable

from vmcp.gateway.deadline import Deadline
from vmcp.gateway.vitals import Vitals
from vmcp.model.backend import Backend
from vmcp.model.health import Stage
from vmcp.model.inventory import Inventory
from vmcp.model.keys import ObjectKey
from vmcp.protocol.call import Answer, Ask, Call, Client, Done, Note
from vmcp.protocol.failures import BackendFailed


class Telling(Protocol):
    """A part beside those of the gateway, as far as operators are told of it."""

    def told(self) -> Mapping[str, object]:
        """Return how it is, as JSON."""
        ...


class Reply(Protocol):
    """Where the events of one call go before it is done; the incoming side renders them for its era."""

    @property
    def deadline(self) -> Deadline:
        """The time that the call still has; an outgoing side stops it while a person is asked."""
        ...

    async def note(self, note: Note) -> None:
        """Send a notification to the client; return when it was taken (this is the back pressure)."""
        ...

    async def ask(self, ask: Ask) -> tuple[Answer, ...]:
        """Put the requests of a live Ask to the client and return its answers in the same order.

        A client that cannot be asked gives an error as its answer; nothing is raised for that.
        """
        ...


@runtime_checkable
class Resting(Protocol):
    """A Reply whose client can be let go while there is nothing to say, and comes back by itself."""

    async def rest(self, retry_milliseconds: int | None) -> None:
        """Let go of the client's connection, if that is possible; what follows is kept for it."""
        ...


class BackendClient(Protocol):
    """The one way to a backend. All methods may be called from many tasks at once."""

    @property
    def backend(self) -> Backend:
        """The backend that it speaks to."""
        ...

    @property
    def uris(self) -> frozenset[str]:
        """The resources of which it asks for updates."""
        ...

    def retune(self, backend: Backend) -> None:
        """Go on with other settings of the backend, which need no new connection."""
        ...

    def succeed(self, before: BackendClient) -> None:
        """Take over the subscriptions of another client of the same backend, before `run`."""
        ...

    def retire(self) -> None:
        """Report nothing any more; calls under way go on until `run` is cancelled."""
        ...

    async def run(self) -> None:
        """Keep the connection: open, list, listen, and again after a loss. Ends only by being cancelled."""
        ...

    async def call(self, call: Call, reply: Reply) -> Done | Ask:
        """Carry a call whose names are the backend's own, and return its end.

        An Ask at the end always has a Retry. Raise BackendFailed when the backend could not do its part. Being
        cancelled cancels the call at the backend by the rule of its era.
        """
        ...

    async def notify(self, client: Client, method: str, params: bytes | None) -> None:
        """Send a client's notification where a session of this client is open; else do nothing."""
        ...

    async def subscribe(self, uri: str) -> None:
        """Ask for updates of a resource, for all clients at once; raise a Failure."""
        ...

    async def unsubscribe(self, uri: str) -> None:
        """Ask for no more updates of a resource."""
        ...

    async def set_level(self, client: Client) -> None:
        """Bring a client's log level to where a session of this client is open."""
        ...

    async def release(self, client: Client) -> None:
        """End what is kept for a client whose session has ended."""
        ...


class Findings(Protocol):
    """Where a backend's client says what it learnt; the calls return at once."""

    def listed(self, inventory: Inventory) -> None:
        """Take the lists of a backend, as they are now."""
        ...

    def checked(self, backend: ObjectKey) -> None:
        """Take note that a backend has answered a check."""
        ...

    def failed(self, backend: ObjectKey, stage: Stage, failure: BackendFailed) -> None:
        """Take note that a backend cannot be reached or listed, or does not answer a check."""
        ...

    def vitals(self, backend: ObjectKey) -> Vitals:
        """Return how a backend fares, and by which rules it is looked after."""
        ...

    def resource_updated(self, backend: ObjectKey, uri: str, params: bytes) -> None:
        """Take an update of a subscribed resource: raw params of the notification."""
        ...
