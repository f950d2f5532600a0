"""A server of either era, or of both, whose tools show what a client of a child process must cope with.

`--era` names what it speaks; of two eras the first request fixes one. `--discover` says how it takes the probe.
"""

from __future__ import annotations

import argparse

import tools
import wire
from wire import META, SESSIONED, STATELESS, Message

ABOUT = {"name": "fake", "version": "1"}
NOT_FOUND, INVALID = -32601, -32600
UNSUPPORTED = -32022


class Server:
    """Answer requests one after the other; a tool may leave its call open."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.era = None if options.era == "both" else options.era
        self.seen: list[Message] = []
        self.probe: Message | None = None
        self.subscriptions: dict[int, list[str]] = {}
        self.calls: dict[object, Message] = {}

    def serve(self) -> None:
        """Serve until the input ends."""
        while (message := wire.read()) is not None:
            self.seen.append(message)
            self.take(message)

    def take(self, message: Message) -> None:
        """Take one message."""
        if "method" not in message:
            tools.answered(self, message)
        elif "id" not in message:
            self.told(message)
        else:
            self.requested(message)

    def told(self, message: Message) -> None:
        """Take a notification: a cancelled request is forgotten."""
        if message["method"] == "notifications/cancelled":
            identity = message["params"]["requestId"]
            self.subscriptions.pop(identity, None)
            self.calls.pop(identity, None)

    def requested(self, request: Message) -> None:
        """Answer a request in the era that the process has."""
        method = request["method"]
        if self.era is None:
            self.era = (
                "stateless" if META + "protocolVersion" in wire.meta(request) else "sessioned"
            )
        if method == "server/discover":
            self.discover(request)
        elif method == "initialize":
            self.initialize(request)
        elif (handler := HANDLERS.get(method)) is not None:
            handler(self, request)
        else:
            wire.refuse(request, NOT_FOUND, "Method not found")

    def discover(self, request: Message) -> None:
        """Tell what is spoken, say nothing, or only once something else was refused."""
        is_late = self.options.discover == "late" and self.probe is None
        if is_late or self.options.discover == "silent":
            self.probe = request
        elif self.era == "stateless":
            wire.answer(
                request,
                supportedVersions=[STATELESS],
                capabilities=self.capabilities(),
                **self.cached(),
            )
        else:
            wire.refuse(request, NOT_FOUND, "Method not found")

    def cached(self) -> Message:
        """Return what a result that may be kept has."""
        return {"ttlMs": 0, "cacheScope": "private", "_meta": {META + "serverInfo": ABOUT}}

    def capabilities(self) -> Message:
        """Return what is offered."""
        return {
            "logging": {},
            "tools": {"listChanged": True},
            "resources": {"subscribe": not self.options.no_subscribe, "listChanged": True},
        }

    def initialize(self, request: Message) -> None:
        """Open the session, unless it is too late for that."""
        if self.era == "stateless" or (self.options.first_only and len(self.seen) > 1):
            wire.refuse(request, UNSUPPORTED, "initialize is not accepted here")
            if self.options.discover == "late" and self.probe is not None:
                self.discover(self.probe)
            return
        wire.answer(
            request, protocolVersion=SESSIONED, capabilities=self.capabilities(), serverInfo=ABOUT
        )

    def list_tools(self, request: Message) -> None:
        """List the tools."""
        schema = {"type": "object"}
        listed = [{"name": name, "inputSchema": schema} for name in sorted(tools.TOOLS)]
        wire.answer(request, tools=listed, **self.cached())

    def call_tool(self, request: Message) -> None:
        """Run a tool; it answers when it likes."""
        params = request["params"]
        tools.TOOLS[params["name"]](self, request, params.get("arguments", {}))

    def list_resources(self, request: Message) -> None:
        """List no resources."""
        wire.answer(request, resources=[], resourceTemplates=[], **self.cached())

    def set_up(self, request: Message) -> None:
        """Accept what the session is told."""
        wire.answer(request)

    def listen(self, request: Message) -> None:
        """Keep a subscription open."""
        if self.options.no_listen:
            wire.refuse(request, NOT_FOUND, "Method not found")
            return
        uris = request["params"]["notifications"].get("resourceSubscriptions", [])
        self.subscriptions[request["id"]] = uris
        tag = {META + "subscriptionId": request["id"]}
        wire.notify("notifications/subscriptions/acknowledged", _meta=tag, notifications={})


HANDLERS = {
    "tools/list": Server.list_tools,
    "tools/call": Server.call_tool,
    "resources/list": Server.list_resources,
    "resources/templates/list": Server.list_resources,
    "resources/subscribe": Server.set_up,
    "resources/unsubscribe": Server.set_up,
    "logging/setLevel": Server.set_up,
    "subscriptions/listen": Server.listen,
}


def options() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--era", choices=("sessioned", "stateless", "both"), default="both")
    parser.add_argument("--discover", choices=("answer", "silent", "late"), default="answer")
    parser.add_argument(
        "--first-only", action="store_true", help="initialize must be the first message"
    )
    parser.add_argument("--no-listen", action="store_true", help="there are no subscriptions")
    parser.add_argument(
        "--no-subscribe", action="store_true", help="there are no updates of resources"
    )
    parser.add_argument("--name", default="", help="by which its process can be found")
    parser.add_argument("--say", default="", help="what is written to stdout at first")
    return parser.parse_args()


if __name__ == "__main__":
    given = options()
    wire.write_raw(given.say.encode("utf-8", "surrogateescape"))
    Server(given).serve()
