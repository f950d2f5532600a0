"""What a fake backend offers: its tools, prompts and resources, which tests change as they like."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]

METHOD_NOT_FOUND, INVALID_PARAMS = -32601, -32602
_LISTS = {
    "tools/list": "tools",
    "prompts/list": "prompts",
    "resources/list": "resources",
    "resources/templates/list": "resourceTemplates",
}


class Fault(Exception):
    """A JSON-RPC error that a fake answers with."""

    def __init__(self, code: int, message: str, data: object = None, status: int = 200) -> None:
        super().__init__(message)
        self.status = status
        self.error = {"code": code, "message": message} | ({"data": data} if data else {})


@dataclass(slots=True, eq=False)
class Invocation:
    """One call of a tool while it runs; `capabilities` are those that the client declared for it."""

    id: Any
    params: Json
    capabilities: Json
    emit: Callable[[Json], None]
    ask: Callable[[str, Json], Awaitable[Json]]

    @property
    def arguments(self) -> Json:
        """What the tool was given."""
        arguments: Json = self.params.get("arguments", {})
        return arguments

    def progress(self, done: float) -> None:
        """Tell how far the call is."""
        token = self.params["_meta"]["progressToken"]
        self.notify("notifications/progress", {"progressToken": token, "progress": done})

    def log(self, level: str, words: str) -> None:
        """Send a log message."""
        self.notify("notifications/message", {"level": level, "data": words})

    def notify(self, method: str, params: Json) -> None:
        """Send a notification on the stream of the call."""
        self.emit({"jsonrpc": "2.0", "method": method, "params": params})


Tool = Callable[[Invocation], Awaitable[Json]]


def text(words: str) -> Json:
    """Return the result of a tool that says something."""
    return {"content": [{"type": "text", "text": words}]}


async def echo(invocation: Invocation) -> Json:
    """Say what was given."""
    return text(json.dumps(invocation.arguments))


@dataclass(slots=True)
class Shelf:
    """The things on offer, in pages if `page_size` is set.

    `more` answers any other method, `streams` one that says or asks something before it ends. `documents`
    are those of tools and resources that say more of themselves.
    """

    tools: dict[str, Tool] = field(default_factory=lambda: {"echo": echo})
    prompts: list[str] = field(default_factory=list)
    resources: dict[str, str] = field(default_factory=dict)
    templates: list[str] = field(default_factory=list)
    descriptions: dict[str, str] = field(default_factory=dict)
    more: dict[str, Callable[[Json], Json]] = field(default_factory=dict)
    streams: dict[str, Tool] = field(default_factory=dict)
    documents: dict[str, Json] = field(default_factory=dict)
    page_size: int | None = None

    def answered(self, method: str, params: Json) -> Json:
        """Return the answer to a method that needs no stream; raise Fault."""
        match method:
            case _ if method in _LISTS:
                return self._page(_LISTS[method], self._listed(method), params.get("cursor"))
            case "prompts/get" if params["name"] in self.prompts:
                words = {"type": "text", "text": params["name"]}
                return {"messages": [{"role": "user", "content": words}]}
            case "resources/read" if (found := self.resources.get(params["uri"])) is not None:
                return {"contents": [{"uri": params["uri"], "text": found}]}
            case "resources/subscribe" | "resources/unsubscribe" | "logging/setLevel" | "ping":
                return {}
            case _ if method in self.more:
                return self.more[method](params)
        raise Fault(METHOD_NOT_FOUND, f"there is no {method}")

    def _page(self, member: str, items: list[Json], cursor: str | None) -> Json:
        start = int(cursor or 0)
        end = start + (self.page_size or len(items))
        following = {"nextCursor": str(end)} if end < len(items) else {}
        return {member: items[start:end], **following}

    def tool(self, name: str) -> Tool:
        """Return a tool; raise Fault."""
        if name not in self.tools:
            raise Fault(INVALID_PARAMS, f"Unknown tool: {name}")
        return self.tools[name]

    def _listed(self, method: str) -> list[Json]:
        match method:
            case "tools/list":
                return [self._document(name) for name in self.tools]
            case "prompts/list":
                return [{"name": name} for name in self.prompts]
            case "resources/list":
                plain = ((uri, {"uri": uri, "name": uri}) for uri in self.resources)
                return [self.documents.get(uri, document) for uri, document in plain]
        return [{"uriTemplate": template, "name": template} for template in self.templates]

    def _document(self, name: str) -> Json:
        if name in self.documents:
            return self.documents[name]
        words = self.descriptions.get(name, f"The tool {name}.")
        return {"name": name, "description": words, "inputSchema": {"type": "object"}}
