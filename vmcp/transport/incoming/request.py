"""One HTTP request as the endpoint has read it."""

from __future__ import annotations

import itertools
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass

from vmcp.model.identity import ANONYMOUS, Caller
from vmcp.model.view import WHOLE, View
from vmcp.protocol.account import Account
from vmcp.protocol.failures import HeaderMismatch
from vmcp.transport.incoming.arrival import NOWHERE, Arrival
from vmcp.transport.incoming.asgi import Receive, Scope, Send
from vmcp.transport.incoming.limits import HEADER_LIMIT, Accepted, Refused, accepted
from vmcp.transport.incoming.room import Place


@dataclass(frozen=True, slots=True)
class Guest:
    """Who it is that has a way of its own to us, and which part of the whole it uses."""

    caller: Caller
    view: View


@dataclass(slots=True)
class HttpRequest:
    """A request whose headers were read: lower-case names; the lines of a list are joined.

    `id` is the client's X-Request-Id where it sent one that can be logged, else one of ours. A bare request did
    not come as HTTP: it has no headers that repeat its body. `view` is told by the path; where it comes
    from and who calls is found out by the endpoint, before anybody serves it. `place` is what it takes of the
    room for all. `fault` is what is wrong with the head: it is raised once it is known who may read it.
    """

    id: str
    method: str
    headers: Mapping[str, str]
    accepted: Accepted
    receive: Receive
    send: Send
    is_bare: bool = False
    account: Account | None = None
    view: View = WHOLE
    arrival: Arrival = NOWHERE
    caller: Caller = ANONYMOUS
    place: Place | None = None
    fault: Refused | HeaderMismatch | None = None

    @property
    def guest(self) -> Guest:
        """Who calls, and at what."""
        return Guest(self.caller, self.view)

    @property
    def id_header(self) -> tuple[bytes, bytes]:
        """The header that tells the client under which id we log."""
        return (b"x-request-id", self.id.encode())


_ID = re.compile(r"[A-Za-z0-9._:/+=-]{1,128}")
_OURS = secrets.token_hex(4)
_numbers = itertools.count(1)

# A second one of these could mean one thing to us and another to whoever stands before us.
_ONCE = frozenset(("mcp-session-id", "content-type", "host", "origin"))
_REPEATING_THE_BODY = ("mcp-protocol-version", "mcp-method", "mcp-name", "mcp-param-")


def read(scope: Scope, receive: Receive, send: Send, view: View) -> HttpRequest:
    """Read the head of a request, whatever is wrong with it."""
    raw: list[tuple[bytes, bytes]] = scope["headers"]
    headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in raw}
    fault: Refused | HeaderMismatch | None = None
    if len(headers) != len(raw):
        headers, fault = _joined(raw)
    if sum([len(name) + len(value) for name, value in raw]) > HEADER_LIMIT:
        fault = Refused(431, f"The headers may have at most {HEADER_LIMIT} bytes.")
    identity = headers.get("x-request-id")
    if identity is None or not _ID.fullmatch(identity):
        identity = number()
    wanted = accepted(headers.get("accept"))
    return HttpRequest(
        identity, scope["method"], headers, wanted, receive, send, view=view, fault=fault
    )


def number() -> str:
    """Return the next id under which a request is logged that has none."""
    return f"{_OURS}-{next(_numbers)}"


def _joined(
    raw: list[tuple[bytes, bytes]],
) -> tuple[dict[str, str], Refused | HeaderMismatch | None]:
    """Return the headers, and what is wrong where one stands twice that may not; the first one counts then."""
    headers: dict[str, str] = {}
    fault: Refused | HeaderMismatch | None = None
    for key, text in raw:
        name, value = key.decode("latin-1"), text.decode("latin-1")
        if name not in headers:
            headers[name] = value
        elif name in _ONCE:
            fault = Refused(400, f"The header {name} stands twice.")
        elif name.startswith(_REPEATING_THE_BODY):
            fault = HeaderMismatch(f"The header {name} stands twice.")
        else:
            headers[name] = f"{headers[name]}, {value}"
    return headers, fault
