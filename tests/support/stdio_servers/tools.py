"""The tools of the fake server: each shows one thing that a child process may do."""

from __future__ import annotations

import base64
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import wire
from wire import META, Message

Arguments = dict[str, Any]
Server = Any
Tool = Callable[[Server, Message, Arguments], None]


def say(request: Message, value: object) -> None:
    """Answer a call with a value, as JSON in a text."""
    wire.answer(request, content=[{"type": "text", "text": json.dumps(value)}])


def echo(_: Server, request: Message, arguments: Arguments) -> None:
    """Give the arguments back."""
    say(request, arguments)


def about(_: Server, request: Message, __: Arguments) -> None:
    """Tell of the process."""
    say(request, {"pid": os.getpid(), "env": dict(os.environ), "cwd": os.getcwd()})  # noqa: TID251, PTH109


def seen(server: Server, request: Message, _: Arguments) -> None:
    """Tell every message that came."""
    say(request, server.seen)


def large(_: Server, request: Message, arguments: Arguments) -> None:
    """Answer with one line of a given size; its id comes first, last, or is hidden from both ends."""
    text = b'{"content":[{"type":"text","text":"' + b"x" * arguments["bytes"] + b'"}]}'
    result = b'"result":' + text
    identity = b'"id":%d' % request["id"]
    members = {
        "first": (b'"jsonrpc":"2.0"', identity, result),
        "last": (result, b'"jsonrpc":"2.0"', identity),
        "hidden": (b'"other":1', identity, result, b'"jsonrpc":"2.0"', b'"another":1'),
    }[arguments.get("id", "first")]
    wire.write_raw(b"{" + b",".join(members) + b"}\n")


def hang(server: Server, request: Message, _: Arguments) -> None:
    """Never answer."""
    server.calls[request["id"]] = request


def release(server: Server, request: Message, _: Arguments) -> None:
    """Answer the calls that hang, then this one."""
    for waiting in server.calls.values():
        say(waiting, "released")
    server.calls.clear()
    say(request, "done")


def log(_: Server, request: Message, arguments: Arguments) -> None:
    """Log something, then answer."""
    for level in arguments["levels"]:
        wire.notify("notifications/message", level=level, data=level)
    say(request, "logged")


def progress(_: Server, request: Message, arguments: Arguments) -> None:
    """Tell of progress, then answer."""
    for step in range(1, arguments["steps"] + 1):
        wire.notify(
            "notifications/progress",
            progressToken=wire.meta(request).get("progressToken"),
            progress=step,
        )
    say(request, "arrived")


def ask(server: Server, request: Message, arguments: Arguments) -> None:
    """Ask the client for something; its answer is the answer."""
    wanted = {"method": arguments["method"], "params": arguments.get("params", {})}
    answers = request["params"].get("inputResponses")
    if server.era == "sessioned":
        server.calls[f"ask-{request['id']}"] = request
        wire.write({"id": f"ask-{request['id']}", **wanted})
    elif answers is None:
        wire.answer(
            request, resultType="input_required", inputRequests={"it": wanted}, requestState="state"
        )
    else:
        say(request, {"answers": answers, "state": request["params"]["requestState"]})


def answered(server: Server, message: Message) -> None:
    """Take a client's answer to what a call asked."""
    request = server.calls.pop(message["id"], None)
    if request is not None:
        say(request, {key: message[key] for key in ("result", "error") if key in message})


def unask(server: Server, request: Message, _: Arguments) -> None:
    """Take back what the calls that wait have asked."""
    for identity in list(server.calls):
        wire.notify("notifications/cancelled", requestId=identity)
        say(server.calls.pop(identity), "taken back")
    say(request, "done")


def leave(_: Server, request: Message, arguments: Arguments) -> None:
    """Exit at once, after an answer if one is wanted."""
    if arguments.get("answer"):
        say(request, "bye")
    os._exit(arguments.get("status", 0))


def close(server: Server, __: Message, arguments: Arguments) -> None:
    """Close the output, or the input, and live on."""
    os.close(1 if arguments["what"] == "output" else 0)
    while arguments["what"] == "output" and wire.read() is not None:
        continue
    if arguments["what"] == "input":
        server.calls.clear()
        signal.pause()


def write(_: Server, request: Message, arguments: Arguments) -> None:
    """Write bytes to the output as they are, then answer."""
    wire.write_raw(base64.b64decode(arguments["base64"]))
    say(request, "written")


def complain(_: Server, request: Message, arguments: Arguments) -> None:
    """Write to the standard error, then answer."""
    sys.stderr.write((arguments["line"] + "\n") * arguments["times"])
    sys.stderr.flush()
    say(request, "complained")


def deaf(_: Server, __: Message, ___: Arguments) -> None:
    """Read nothing any more."""
    signal.pause()


def stubborn(_: Server, request: Message, __: Arguments) -> None:
    """Answer, then read nothing and let no signal but one end it."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    say(request, os.getpid())
    while True:
        signal.pause()


def spawn(_: Server, request: Message, arguments: Arguments) -> None:
    """Start a process that holds on to the pipes, and tell its id."""
    child = subprocess.Popen(
        [sys.executable, "-S", "-c", "import signal; signal.pause()"], stdin=subprocess.DEVNULL
    )
    say(request, child.pid)
    if arguments.get("leave"):
        os._exit(3)


def change(server: Server, request: Message, arguments: Arguments) -> None:
    """Tell unasked that something has changed."""
    notes = {
        "tools": ("notifications/tools/list_changed", {}),
        "resource": ("notifications/resources/updated", {"uri": arguments.get("uri")}),
    }
    method, params = notes[arguments["what"]]
    for identity in server.subscriptions or (None,):
        tag = {"_meta": {META + "subscriptionId": identity}} if identity is not None else {}
        wire.notify(method, **params, **tag)
    say(request, "changed")


def stop_listening(server: Server, request: Message, _: Arguments) -> None:
    """End the subscriptions."""
    for identity in server.subscriptions:
        wire.notify("notifications/cancelled", requestId=identity)
    server.subscriptions.clear()
    say(request, "stopped")


def request(_: Server, request: Message, arguments: Arguments) -> None:
    """Ask the client for something and do not wait for what it says."""
    wire.write({"id": "by-the-way", "method": arguments["method"]})
    say(request, "asked")


TOOLS: dict[str, Tool] = {
    tool.__name__: tool
    for tool in (
        *(echo, about, seen, large, hang, release, log, progress, ask, unask, leave, close),
        *(write, complain, deaf, stubborn, spawn, change, stop_listening, request),
    )
}
