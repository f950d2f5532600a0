"""The steps that are the same over every transport: the protocol, the lists, a ping."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack

import msgspec

from vmcp.cli.checkups.steps import Course
from vmcp.model.backend import Backend
from vmcp.model.inventory import Inventory, Peer
from vmcp.transport.outgoing import listing
from vmcp.transport.outgoing.speech import Speech

Connect = Callable[[], AbstractAsyncContextManager[Speech]]


async def speak(course: Course, backend: Backend, connect: Connect) -> None:
    """Open the way to a backend as the gateway does, list it, ask for a sign of life; raise Ended."""
    async with AsyncExitStack() as stack:
        speech = await course.take("protocol", stack.enter_async_context(connect()))
        course.ok(_described(speech.peer))
        listed = listing.inventory(
            speech.ask, backend.key, backend.name, speech.peer, None, listing.ALL_LISTS
        )
        found = await course.take("list", listed)
        _judge(course, found)
        await course.take("ping", speech.probe())
        course.ok("It answers the check of its health.")


def _described(peer: Peer) -> str:
    return f"MCP {peer.version} ({peer.era.value}), {_server(peer.server_info)}."


def _server(info: bytes) -> str:
    try:
        found = msgspec.json.decode(info, type=dict[str, object])
    except (msgspec.DecodeError, msgspec.ValidationError):
        return "unnamed server"
    words = [str(found[key])[:64] for key in ("name", "version") if found.get(key)]
    return " ".join(words) or "unnamed server"


def _judge(course: Course, found: Inventory) -> None:
    counts = (
        (len(found.tools), "tools"),
        (len(found.prompts), "prompts"),
        (len(found.resources), "resources"),
        (len(found.templates), "templates"),
    )
    said = ", ".join(f"{count} {what}" for count, what in counts)
    if found.problems:
        left_out = " ".join(problem.message for problem in found.problems)
        course.warn("LeftOut", f"{said}. {left_out}")
    else:
        course.ok(f"{said}.")
