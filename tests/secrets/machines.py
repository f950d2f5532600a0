"""Backends full of secrets: two that behave, and one for each way to be in trouble and to say something of it."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Mapping
from typing import Any

from tests.secrets.canaries import canary
from tests.support.backends import Fake
from tests.support.scripted import (
    EVENTS,
    JSON,
    Answer,
    Cut,
    Heard,
    Json,
    Script,
    Scripted,
    http,
    message,
    result,
)
from tests.support.sessioned_backend import SessionedFake
from tests.support.shelf import Fault, Invocation, text
from tests.support.stateless_backend import StatelessFake
from tests.support.stdio_servers.harness import SERVER

URI = "note://it?token=" + canary("uri")
QUESTION = {"message": canary("question"), "requestedSchema": {"type": "object", "properties": {}}}


async def says(invocation: Invocation) -> Json:
    """Tell of progress, log something, and give a result."""
    if "progressToken" in invocation.params.get("_meta", {}):
        invocation.progress(1)
    invocation.log("info", canary("log-message"))
    return text(canary("result"))


async def errs(_: Invocation) -> Json:
    """Give a result that is an error."""
    return {**text(canary("error-result")), "isError": True}


async def faults(_: Invocation) -> Json:
    """Give an error of JSON-RPC."""
    raise Fault(-32050, canary("fault"), {"more": canary("fault-data")})


async def asks(invocation: Invocation) -> Json:
    """Ask the caller something, in the way of either era."""
    if "inputResponses" in invocation.params:
        return text("thanks")
    if "io.modelcontextprotocol/protocolVersion" in invocation.params.get("_meta", {}):
        wanted = {"who": {"method": "elicitation/create", "params": QUESTION}}
        state = canary("state")
        return {"resultType": "input_required", "inputRequests": wanted, "requestState": state}
    await invocation.ask("elicitation/create", QUESTION)
    return text("thanks")


async def hangs(_: Invocation) -> Json:
    """Never end."""
    found: Json = await asyncio.get_running_loop().create_future()
    return found


def behaving() -> tuple[Fake, Fake]:
    """Return one backend of each era, with a secret in its path."""
    tools = {"says": says, "errs": errs, "faults": faults, "asks": asks, "hangs": hangs}
    made: tuple[Fake, Fake] = SessionedFake(**tools), StatelessFake(**tools)
    for fake in made:
        fake.paths = (f"/{canary('path')}/mcp",)
        fake.shelf.resources[URI] = canary("resource")
    return made


async def _silence(_: Heard) -> bytes:
    found: bytes = await asyncio.get_running_loop().create_future()
    return found


def _always(answer: Callable[[], Answer]) -> Mapping[str, Script]:
    return {"else": lambda _: answer()}


def _told(heard: Heard, **error: Any) -> bytes:
    return http(200, message(heard.message.get("id"), error={"code": -32000, **error}), JSON)


def _loop(heard: Heard) -> bytes:
    return result(heard, {"tools": [], "nextCursor": canary("cursor")})


def _call(answer: Callable[[], Answer]) -> Mapping[str, Script]:
    return {"tools/call": lambda _: answer()}


def _refusal(status: int, place: str) -> bytes:
    challenge = f'Bearer realm="{canary(place + "-challenge")}"'
    body = canary(f"{place}-body").encode()
    return http(status, body, "text/plain", WWW_Authenticate=challenge, X_Note=canary(place))


TROUBLES: Mapping[str, Mapping[str, Script]] = {
    "denies": _always(lambda: _refusal(401, "denial")),
    "forbids": _call(lambda: _refusal(403, "forbidding")),
    "denies-calls": _call(lambda: _refusal(401, "denied-call")),
    "breaks": _always(lambda: http(500, canary("http-body").encode(), "text/html")),
    "moves": _always(lambda: http(307, Location=f"http://127.0.0.1:1/{canary('location')}")),
    "moves-calls": _call(lambda: http(302, Location=f"https://x.test/?t={canary('moved-call')}")),
    "garbles": _call(lambda: http(200, canary("garbage").encode(), JSON)),
    "halves": _call(lambda: http(200, b'{"jsonrpc":"2.0","x":"' + canary("half").encode(), JSON)),
    "mistypes": _call(lambda: http(200, b"{}", f"text/{canary('media-type')}")),
    "misnames": _call(lambda: http(200, message(canary("wrong-id"), result={}), JSON)),
    "mumbles": _call(lambda: http(200, f"data: {{{canary('event')}\n\n".encode(), EVENTS)),
    "phrases": _call(lambda: Cut(f"HTTP/1.1 500 {canary('phrase')}\r\n\r\n".encode())),
    "babbles": _call(lambda: Cut(f"{canary('no-http')}\r\n\r\n".encode())),
    "refuses": {"initialize": lambda heard: _told(heard, message=canary("initialize-error"))},
    "lists-not": {"tools/list": lambda heard: _told(heard, message=canary("list-error"))},
    "loops": {"tools/list": _loop},
    "is-silent": {"tools/call": _silence},
    "is-busy": _call(lambda: http(429, canary("busy").encode(), Retry_After=canary("retry"))),
}


def troubled() -> Mapping[str, Scripted]:
    """Return the backends in trouble by their names."""
    return {name: Scripted(script=script) for name, script in TROUBLES.items()}


# A child that says too much, and one that ends with a complaint.
_CRASHES = "import sys; print({noise!r}); sys.stderr.write({words!r}); sys.exit(3)"


def children() -> Mapping[str, Json]:
    """Return how child processes are started, by the names of the backends."""
    env = {"PLAIN": canary("env"), "HIDDEN": {"valueEnv": "CHILD_SECRET"}}
    crash = _CRASHES.format(noise=canary("noise"), words=canary("stderr") + "\n")
    return {
        "child": {
            "command": sys.executable,
            "args": ["-S", SERVER, "--name", canary("args"), "--say", f"{canary('noise')}\n"],
            "env": env,
        },
        "crashes": {"command": sys.executable, "args": ["-c", crash, canary("args")], "env": env},
    }
