"""A rolling restart: whatever was accepted is answered, streams are completed, and another gateway takes over."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from time import perf_counter

import aiohttp
import pytest
import yaml

from tests.failures.load import End, Load
from tests.failures.sites import CHILD
from tests.support.backends import Fake, serving
from tests.support.clients import StatelessClient, named, sessioned, stateless, words
from tests.support.gateways import config
from tests.support.servers import Gateway, in_thread, run_gateway
from tests.support.sessioned_backend import SessionedFake
from tests.support.shelf import Invocation, Json, text
from tests.support.stateless_backend import StatelessFake
from tests.support.waiting import until

GRACE_SECONDS = 20.0
SLACK_SECONDS = 8.0
CLIENTS = 3
ENOUGH_CALLS = 300
QUESTION = {"message": "Who?", "requestedSchema": {"type": "object", "properties": {}}}
FORM = {"elicitation": {"form": {}}}
ACCEPTED = {"action": "accept", "content": {}}


class Recorded:
    """A tool that takes its time and writes down whom it has served."""

    def __init__(self) -> None:
        self.begun: set[str] = set()

    async def __call__(self, invocation: Invocation) -> Json:
        said: str = invocation.arguments["text"]
        self.begun.add(said)
        if "progressToken" in invocation.params.get("_meta", {}):
            invocation.progress(1)
        await asyncio.sleep(0.02)
        return text(said)


async def waits(_: Invocation) -> Json:
    return await asyncio.get_running_loop().create_future()


async def asks(invocation: Invocation) -> Json:
    return text(str((await invocation.ask("elicitation/create", QUESTION))["result"]["action"]))


async def asks_again(invocation: Invocation) -> Json:
    answers = invocation.params.get("inputResponses")
    if answers is not None:
        return text(f"{invocation.params['requestState']} {answers['who']['action']}")
    wanted = {"who": {"method": "elicitation/create", "params": QUESTION}}
    return {"resultType": "input_required", "inputRequests": wanted, "requestState": "own"}


@asynccontextmanager
async def process_of(
    *fakes: Fake, child: bool = False, key: Path | None = None
) -> AsyncIterator[Gateway]:
    """Run `vmcp serve`, in front of a child process too if wanted, and with a key of its own or a shared one."""
    settings = config(*fakes)
    if child:
        arguments = ["-S", str(CHILD), "stateless", "/dev/null"]
        stdio = {"command": sys.executable, "args": arguments}
        settings["backends"].append({"name": "child", "transport": "stdio", "stdio": stdio})
    if key is not None:
        settings["server"] = {"sealKeyFile": str(key)}
    async with in_thread(run_gateway(yaml.safe_dump(settings))) as gateway:
        yield gateway


def children(pid: int) -> list[int]:
    """Return the child processes of a process."""
    found = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    return [int(each) for each in found.split()]


def is_gone(pid: int) -> bool:
    return not Path(f"/proc/{pid}/exe").exists()


async def ended(gateway: Gateway, seconds: float) -> int:
    """Wait for the end of the process and return its exit code."""
    return await asyncio.to_thread(gateway.process.popen.wait, seconds)


async def test_no_call_that_was_accepted_is_lost_when_it_is_told_to_end_under_load() -> None:
    tools = Recorded(), Recorded()
    a, b = SessionedFake(works=tools[0]), StatelessFake(works=tools[1])
    load = Load(("a_works", "b_works"), CLIENTS)
    async with serving(a, b), process_of(a, b, child=True) as gateway:
        (child,) = children(gateway.process.pid)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(load.run(gateway.url))
            await until(lambda: load.journal.count(End.ANSWERED) > ENOUGH_CALLS, 30)
            began = perf_counter()
            os.kill(gateway.process.pid, signal.SIGTERM)
        code = await ended(gateway, GRACE_SECONDS)
        took = perf_counter() - began

        begun = tools[0].begun | tools[1].begun
        journal = load.journal
        assert (code, journal.faults) == (0, [])
        assert {said: journal.ends[said] for said in begun} == dict.fromkeys(begun, End.ANSWERED)
        assert took < GRACE_SECONDS
        assert is_gone(child)
    assert a.sessions == {}


async def test_new_requests_are_refused_with_when_to_come_back_and_streams_are_completed() -> None:
    fake = SessionedFake(waits=waits)
    async with (
        serving(fake),
        process_of(fake) as gateway,
        sessioned(gateway.url) as old,
        stateless(gateway.url) as new,
    ):
        stream, listening = await old.listen(), await new.listen("mine", toolsListChanged=True)
        call = old.call("waits", identity="w")
        await fake.first("tools/call")

        os.kill(gateway.process.pid, signal.SIGTERM)

        assert await stream.next() is None
        assert (await listening.next() or {})["id"] == "mine"
        assert await listening.next() is None
        late = await new.request("tools/list")
        assert (late.status, late.headers["retry-after"]) == (503, "1")
        await old.notify("notifications/cancelled", requestId="w")
        assert await (await call).next() is None
        assert await ended(gateway, GRACE_SECONDS) == 0
        with pytest.raises(aiohttp.ClientConnectorError):
            await new.request("tools/list")


async def streams_first(invocation: Invocation) -> Json:
    invocation.progress(1)
    return await waits(invocation)


async def test_calls_that_do_not_end_are_told_so_after_the_grace_period() -> None:
    a, b = SessionedFake(streams=streams_first, asks=asks), StatelessFake(streams=streams_first)
    async with (
        serving(a, b),
        process_of(a, b, child=True) as gateway,
        sessioned(gateway.url, FORM) as old,
        stateless(gateway.url, FORM) as new,
    ):
        # Nobody answers what is asked: the clock of the call stands still.
        asked = await old.request("tools/call", named("asks"), "asked")
        assert (await asked.next() or {})["method"] == "elicitation/create"
        calls = [
            each.call(name, progressToken=name)
            for name in ("a_streams", "b_streams")
            for each in (old, new)
        ]
        await a.first("tools/call", 3)
        await b.first("tools/call", 2)
        (child,) = children(gateway.process.pid)
        began = perf_counter()

        os.kill(gateway.process.pid, signal.SIGTERM)

        assert await ended(gateway, GRACE_SECONDS + SLACK_SECONDS) == 0
        assert GRACE_SECONDS - 1 < perf_counter() - began < GRACE_SECONDS + SLACK_SECONDS
        assert is_gone(child)
        ends = [await (await each).end() for each in calls] + [await asked.end()]
        assert [each["error"]["data"] for each in ends] == [{"reason": "Stopping"}] * 5


async def test_a_second_signal_under_load_ends_it_at_once() -> None:
    fake = SessionedFake(works=Recorded(), waits=waits)
    load = Load(("works",), CLIENTS)
    async with serving(fake), process_of(fake) as gateway, sessioned(gateway.url) as caller:
        call = caller.call("waits")
        await fake.first("tools/call")
        # In a session this cancels nothing: the call is still under way.
        call.cancel()
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(load.run(gateway.url))
            await until(lambda: load.journal.count(End.ANSWERED) > 20, 30)
            os.kill(gateway.process.pid, signal.SIGTERM)
            await until(lambda: load.journal.count(End.REFUSED) > 0, 30)
            os.kill(gateway.process.pid, signal.SIGTERM)
            began = perf_counter()
            assert await ended(gateway, SLACK_SECONDS) != 0

        assert perf_counter() - began < SLACK_SECONDS
        assert load.journal.faults == []


@pytest.fixture
def key(tmp_path: Path) -> Path:
    """A key that two gateways share."""
    path = tmp_path / "key"
    path.write_text("a key that is long enough for a seal, and no secret here")
    return path


async def asked(caller: StatelessClient) -> Json:
    """Call a tool that asks; return the params that answer it."""
    asking = await caller.ask("tools/call", named("asks"))
    assert asking["resultType"] == "input_required"
    responses = dict.fromkeys(asking["inputRequests"], ACCEPTED)
    answers = {"inputResponses": responses, "requestState": asking["requestState"]}
    return {**named("asks"), **answers}


async def test_a_stateless_client_goes_on_at_the_next_gateway_where_it_was_asked(
    key: Path,
) -> None:
    fake = StatelessFake(asks=asks_again)
    async with (
        serving(fake),
        process_of(fake, key=key) as first,
        process_of(fake, key=key) as second,
    ):
        async with stateless(first.url, FORM) as caller:
            answers = await asked(caller)
        os.kill(first.process.pid, signal.SIGTERM)
        assert await ended(first, GRACE_SECONDS) == 0

        async with stateless(second.url, FORM) as caller:
            assert words(await caller.ask("tools/call", answers)) == "own accept"


@pytest.mark.parametrize("shared", [True, False])
async def test_what_the_next_gateway_cannot_go_on_with_is_told_as_expired(
    key: Path, *, shared: bool
) -> None:
    # With a session behind, the call itself waited in the first gateway; without a shared key nothing can be read.
    fake = SessionedFake(asks=asks) if shared else StatelessFake(asks=asks_again)
    given = key if shared else None
    async with (
        serving(fake),
        process_of(fake, key=given) as first,
        process_of(fake, key=given) as second,
    ):
        async with stateless(first.url, FORM) as caller:
            answers = await asked(caller)

        async with stateless(second.url, FORM) as caller:
            error = await caller.refused("tools/call", answers)

        assert error["code"] == -32602
        assert error["data"] == {"reason": "RequestStateExpired"}
