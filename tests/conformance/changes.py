"""What moves while the fixture runs, who has asked to hear of it, and how each era is told."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from mcp.server import ServerRequestContext
from mcp.server.session import ServerSession
from mcp.server.subscriptions import (
    InMemorySubscriptionBus,
    PromptsListChanged,
    ResourcesListChanged,
    ResourceUpdated,
    ServerEvent,
    ToolsListChanged,
)
from mcp_types import LoggingLevel

Context = ServerRequestContext[Any, Any]

LEVELS: tuple[LoggingLevel, ...] = (
    "debug",
    "info",
    "notice",
    "warning",
    "error",
    "critical",
    "alert",
    "emergency",
)
EVENTS: Mapping[str, Callable[[], ServerEvent]] = {
    "tools": ToolsListChanged,
    "prompts": PromptsListChanged,
    "resources": ResourcesListChanged,
}
NOTIFY: Mapping[str, Callable[[ServerSession], Awaitable[None]]] = {
    "tools": ServerSession.send_tool_list_changed,
    "prompts": ServerSession.send_prompt_list_changed,
    "resources": ServerSession.send_resource_list_changed,
}


class Changes:
    """Counts the changes of each list and tells both eras: listen streams and open sessions."""

    def __init__(self) -> None:
        self.bus = InMemorySubscriptionBus()
        self._generations: Counter[str] = Counter()
        self._sessions: dict[str, ServerSession] = {}
        self._levels: dict[str, LoggingLevel] = {}
        self._watchers: dict[str, set[str]] = {}

    def generation(self, kind: str) -> int:
        """Return how often the list of this kind has changed."""
        return self._generations[kind]

    def opened(self, ctx: Context) -> None:
        """Remember a session that has finished its handshake."""
        self._sessions[session_id(ctx)] = ctx.session

    def set_level(self, ctx: Context, level: LoggingLevel) -> None:
        """Send this session no log message below the level from now on."""
        self._levels[session_id(ctx)] = level

    def wants(self, ctx: Context, level: LoggingLevel) -> bool:
        """Tell whether the session of this request wants log messages of the level."""
        lowest = self._levels.get(session_id(ctx), "debug")
        return LEVELS.index(level) >= LEVELS.index(lowest)

    def watch(self, ctx: Context, uri: str) -> None:
        """Tell this session of updates of the resource."""
        self._watchers.setdefault(uri, set()).add(session_id(ctx))

    def unwatch(self, ctx: Context, uri: str) -> None:
        """Stop telling this session of updates of the resource."""
        self._watchers.get(uri, set()).discard(session_id(ctx))

    async def change(self, kind: str) -> None:
        """Change the list of this kind and tell everybody."""
        self._generations[kind] += 1
        await self.bus.publish(EVENTS[kind]())
        for session in tuple(self._sessions.values()):
            await NOTIFY[kind](session)

    async def update(self, uri: str) -> None:
        """Change the content of a resource and tell those that watch it."""
        self._generations[uri] += 1
        await self.bus.publish(ResourceUpdated(uri=uri))
        for watcher in tuple(self._watchers.get(uri, ())):
            await self._sessions[watcher].send_resource_updated(uri)


def session_id(ctx: Context) -> str:
    """Return the id of the session that a request belongs to; empty where there is none."""
    return "" if ctx.request is None else ctx.request.headers.get("mcp-session-id", "")
