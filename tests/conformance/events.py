"""Events of the sessioned era, kept for clients that come back with Last-Event-ID."""

from __future__ import annotations

from mcp.server.streamable_http import EventCallback, EventMessage, EventStore
from mcp_types import JSONRPCMessage

KEPT = 10_000


class KeptEvents(EventStore):
    """The newest events of all streams, numbered in the order in which they were sent."""

    def __init__(self) -> None:
        self._events: dict[int, tuple[str, JSONRPCMessage | None]] = {}
        self._next = 1

    async def store_event(self, stream_id: str, message: JSONRPCMessage | None) -> str:
        """Keep an event, forgetting the oldest when there are too many; return its id."""
        number = self._next
        self._next += 1
        self._events[number] = (stream_id, message)
        self._events.pop(number - KEPT, None)
        return str(number)

    async def replay_events_after(
        self, last_event_id: str, send_callback: EventCallback
    ) -> str | None:
        """Send what followed on the stream of an event; return the stream, None if unknown."""
        last = int(last_event_id) if last_event_id.isdecimal() else 0
        if last not in self._events:
            return None
        stream = self._events[last][0]
        for number, (its_stream, message) in tuple(self._events.items()):
            if number > last and its_stream == stream and message is not None:
                await send_callback(EventMessage(message, str(number)))
        return stream
