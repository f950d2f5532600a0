"""The end of the process: streams first, then the calls under way, then the server, then child processes."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import yaml

from tests.support.backends import Fake, serving
from tests.support.clients import Client, sessioned, stateless, words
from tests.support.gateways import config
from tests.support.node import ROOT
from tests.support.servers import Gateway, in_thread, run_gateway
from tests.support.sessioned_backend import SessionedFake
from tests.support.shelf import Invocation, Json, text
from tests.support.stateless_backend import StatelessFake
from tests.support.waiting import until

STDIO = ROOT / "tests" / "support" / "stdio_servers" / "server.py"
QUESTION = {"message": "Who?", "requestedSchema": {"type": "object", "properties": {}}}


@asynccontextmanager
async def process_of(*fakes: Fake, child: bool = False) -> AsyncIterator[Gateway]:
    """Run `vmcp serve` in front of fakes, and of a child process if wanted."""
    settings = config(*fakes)
    if child:
        stdio = {"command": sys.executable, "args": [str(STDIO)]}
        settings["backends"].append({"name": "child", "transport": "stdio", "stdio": stdio})
    async with in_thread(run_gateway(yaml.safe_dump(settings))) as gateway:
        yield gateway


def tell(gateway: Gateway, number: signal.Signals = signal.SIGTERM) -> None:
    os.kill(gateway.process.pid, number)


async def ended(gateway: Gateway, seconds: float) -> int:
    """Wait for the end of the process and return its exit code."""
    return await asyncio.to_thread(gateway.process.popen.wait, seconds)


async def refused(caller: Client) -> None:
    """Wait until new requests are refused."""
    while (await caller.request("tools/list")).status != 503:
        pass


def children(pid: int) -> list[int]:
    """Return the child processes of a process."""
    found = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    return [int(each) for each in found.split()]


async def waits(_: Invocation) -> Json:
    """A tool that does not end by itself."""
    return await asyncio.get_running_loop().create_future()


async def test_streams_end_at_once_and_calls_under_way_are_finished() -> None:
    async def works(_: Invocation) -> Json:
        await go_on.wait()
        return text("done")

    go_on = asyncio.Event()
    a, b = SessionedFake(works=works), StatelessFake()
    async with (
        serving(a, b),
        process_of(a, b, child=True) as gateway,
        sessioned(gateway.url) as old,
        stateless(gateway.url) as new,
    ):
        stream, listening = await old.listen(), await new.listen("mine", toolsListChanged=True)
        calls = [old.call("works"), new.call("works")]
        await a.first("tools/call", 2)
        (child,) = children(gateway.process.pid)

        tell(gateway)

        assert await stream.next() is None
        last = await listening.next() or {}
        assert (last["id"], last["result"]["resultType"]) == ("mine", "complete")
        assert await listening.next() is None
        late = await new.request("tools/list")
        assert (late.status, late.headers["retry-after"]) == (503, "1")
        assert children(gateway.process.pid) == [child]
        go_on.set()
        ends = [await (await call).end() for call in calls]
        assert [words(end["result"]) for end in ends] == ["done", "done"]
        assert await ended(gateway, 10) == 0
        with pytest.raises(ProcessLookupError):
            os.kill(child, 0)
    # Of our own session, that of the client and that of the stateless call.
    assert len(a.asked("DELETE")) == 3
    assert a.sessions == {}


async def test_a_call_that_asks_somebody_can_be_answered_and_cancelled_until_the_end() -> None:
    async def asks(invocation: Invocation) -> Json:
        return text(str((await invocation.ask("elicitation/create", QUESTION))["result"]))

    fake = SessionedFake(asks=asks, waits=waits)
    async with (
        serving(fake),
        process_of(fake) as gateway,
        sessioned(gateway.url, {"elicitation": {}}) as caller,
    ):
        answer = await caller.call("asks")
        asked = await answer.heard("elicitation/create")
        call = caller.call("waits", identity="w")
        await fake.first("tools/call", 2)
        tell(gateway)
        await refused(caller)

        await caller.answer(asked["id"], result={"action": "accept"})
        await caller.notify("notifications/cancelled", requestId="w")

        assert words((await answer.end())["result"]) == str({"action": "accept"})
        assert await (await call).next() is None
        assert await ended(gateway, 10) == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_second_signal_ends_the_process_at_once(number: signal.Signals) -> None:
    fake = SessionedFake(waits=waits)
    async with (
        serving(fake),
        process_of(fake, child=True) as gateway,
        sessioned(gateway.url) as caller,
    ):
        call = caller.call("waits")
        await fake.first("tools/call")
        (child,) = children(gateway.process.pid)
        tell(gateway, number)
        await refused(caller)
        # In a session this cancels nothing: the call is still under way.
        call.cancel()

        tell(gateway, number)

        assert await ended(gateway, 10) != 0
        await until(lambda: not Path(f"/proc/{child}/exe").exists())


async def test_a_gateway_that_is_told_to_stop_is_not_ready_but_healthy() -> None:
    fake = SessionedFake(waits=waits)
    async with (
        serving(fake),
        process_of(fake) as gateway,
        sessioned(gateway.url) as caller,
    ):
        call = caller.call("waits", identity="w")
        await fake.first("tools/call")
        tell(gateway)
        await refused(caller)

        base = gateway.url.removesuffix("/mcp")
        probes = [
            await caller.send("GET", {}, url=f"{base}/{path}") for path in ("readyz", "health")
        ]

        assert [probe.status for probe in probes] == [503, 200]
        await caller.notify("notifications/cancelled", requestId="w")
        assert await (await call).next() is None
        assert await ended(gateway, 10) == 0
