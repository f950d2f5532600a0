"""Names, progress, cancellation and questions pass two gateways in a row; one behind itself does not grow."""

from __future__ import annotations

import asyncio
import re
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import pytest

from tests.edge_cases.front import behind, door
from tests.journeys.pairs import at_both_backs, backend, client, in_both_fronts
from tests.support.backends import Fake, serving
from tests.support.clients import named, stateless, words
from tests.support.gateways import Served, live_config, shut
from tests.support.health import failures
from tests.support.scripted import Json, Scripted, scripted
from tests.support.shelf import Invocation, text
from tests.support.stateless_backend import StatelessFake
from vmcp.assembly import running
from vmcp.clock import SystemClock
from vmcp.latest import Latest
from vmcp.transport.incoming.endpoint import Endpoint
from vmcp.transport.incoming.entrance import entrance
from vmcp.transport.incoming.front import Front
from vmcp.transport.incoming.keeper import Keeper
from vmcp.transport.incoming.server import listening, server

# After one prefix a name of 59 has 65 characters, one of 53 has 64 after both.
NAMES = ("a_b", "a__b", "_a", "a_", "a.b", "near_", "far_", "x" * 53, "y" * 59, "z" * 64, "w" * 128)
VALID = re.compile(r"[A-Za-z0-9_.-]{1,64}")


@dataclass(frozen=True, slots=True)
class Row:
    """The two gateways of a row."""

    near: Served
    far: Served

    @property
    def url(self) -> str:
        """Where clients go."""
        return self.near.url


@asynccontextmanager
async def served(config: Json, given: socket.socket | None = None) -> AsyncIterator[Served]:
    """Serve a configuration on a socket for the block."""
    with given or listening("127.0.0.1", 0) as bound:
        live = live_config(config)
        async with running(live, {}) as gateway, asyncio.TaskGroup() as tasks:
            keeper = Keeper(SystemClock())
            endpoint = Endpoint(gateway, Latest(entrance(live.loaded.value)), keeper)
            main = server(Front(endpoint, "/mcp", lambda: True), 1.0)
            keeping = tasks.create_task(keeper.run())
            serving = tasks.create_task(main.serve([bound]))
            await gateway.readiness.reached()
            url = f"http://127.0.0.1:{bound.getsockname()[1]}/mcp"
            yield Served(url, gateway, endpoint, keeper, live)
            endpoint.stop()
            serving.cancel()
            await shut(main)
            keeping.cancel()


@asynccontextmanager
async def row(fake: Fake) -> AsyncIterator[Row]:
    """Put a gateway that calls its backend `near` in front of one that calls the fake `far`."""
    async with (
        serving(fake),
        served({"backends": [{"name": "far", "url": fake.url}]}) as far,
        served({"backends": [{"name": "near", "url": far.url}]}) as near,
    ):
        yield Row(near, far)


async def says(invocation: Invocation) -> Json:
    return text(f"{invocation.params['name']} {invocation.arguments}")


@in_both_fronts
@at_both_backs
async def test_every_name_is_routed_as_a_whole_through_both(front: str, back: str) -> None:
    fake = backend(back, **dict.fromkeys(NAMES, says))
    fake.shelf.tools.pop("echo")

    async with row(fake) as gateways, client(front, gateways.url) as caller:
        names = await caller.tools()
        told = {
            words(await caller.ask("tools/call", {"name": name, "arguments": {"n": 1}}))
            for name in names
        }

    assert told == {f"{name} {{'n': 1}}" for name in NAMES}
    assert all(VALID.fullmatch(name) for name in names)
    assert {f"near_far_{name}" for name in NAMES if len(name) <= 53} <= set(names)


async def test_a_name_that_was_shortened_twice_stays_the_same() -> None:
    fake = backend("stateless", **dict.fromkeys(NAMES, says))
    found: list[list[str]] = []

    for _ in range(2):
        async with row(fake) as gateways, client("stateless", gateways.url) as caller:
            found.append(await caller.tools())

    assert found[0] == found[1]


@in_both_fronts
@at_both_backs
async def test_progress_passes_both_under_the_clients_own_token(front: str, back: str) -> None:
    async def works(invocation: Invocation) -> Json:
        for done in (0.25, 0.5):
            invocation.progress(done)
        return text("done")

    async with row(backend(back, works=works)) as gateways, client(front, gateways.url) as caller:
        answer = await caller.call("near_far_works", progressToken=7)

        assert words((await answer.end())["result"]) == "done"
        told = [
            (note["params"]["progressToken"], note["params"]["progress"]) for note in answer.notes
        ]
        assert told == [(7, 0.25), (7, 0.5)]


@at_both_backs
async def test_a_cancelled_call_is_cancelled_behind_both(back: str) -> None:
    async def never(_: Invocation) -> Json:
        await asyncio.get_running_loop().create_future()
        return text("never")

    for front in ("sessioned", "stateless"):
        fake = backend(back, never=never)
        async with row(fake) as gateways, client(front, gateways.url) as caller:
            call = caller.call("near_far_never", identity="mine")
            await fake.first("tools/call")

            if front == "stateless":
                call.cancel()
            else:
                await caller.notify("notifications/cancelled", requestId="mine")

            assert await fake.cancelled.first(bool) == "never"


async def test_a_question_passes_both_and_its_answer_comes_back() -> None:
    question = {"message": "Who?", "requestedSchema": {"type": "object", "properties": {}}}

    async def asks(invocation: Invocation) -> Json:
        if (answers := invocation.params.get("inputResponses")) is not None:
            return text(f"{answers} {invocation.params['requestState']}")
        wanted = {"who": {"method": "elicitation/create", "params": question}}
        return {"resultType": "input_required", "inputRequests": wanted, "requestState": "own"}

    can = {"elicitation": {"form": {}}}
    async with row(StatelessFake(asks=asks)) as gateways, stateless(gateways.url, can) as caller:
        call = {**named("near_far_asks"), "arguments": {"n": 1}}
        asked = await caller.ask("tools/call", call)
        retry = {
            **call,
            "inputResponses": {"who": {"action": "accept"}},
            "requestState": asked["requestState"],
        }
        result = await caller.ask("tools/call", retry)
        other = {**retry, "arguments": {"n": 2}}
        error = await caller.refused("tools/call", other)

    assert asked["inputRequests"]["who"]["params"] == question
    assert words(result) == "{'who': {'action': 'accept'}} own"
    assert error["code"] == -32602


@in_both_fronts
async def test_a_change_behind_both_reaches_the_lists_in_front(front: str) -> None:
    fake = backend("stateless")

    async with row(fake) as gateways, client(front, gateways.url) as caller:
        assert await caller.tools() == ["near_far_echo"]

        fake.shelf.tools["more"] = says
        fake.tell("notifications/tools/list_changed")

        await gateways.near.shows("near_far_echo", "near_far_more")
        assert await caller.tools() == ["near_far_echo", "near_far_more"]


async def test_a_far_error_names_the_far_backend_and_no_url() -> None:
    fake = backend("stateless")

    async with row(fake) as gateways, client("stateless", gateways.url) as caller:
        await fake.stop()
        error = await caller.refused("tools/call", named("near_far_echo"))

    assert error["code"] == -32603
    assert error["data"]["backend"] == "far"
    assert "127.0.0.1" not in str(error)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]"])
@pytest.mark.parametrize("path", ["/mcp", "/mcp/"])
async def test_a_url_that_is_the_gateways_own_is_left_out_with_a_problem(
    host: str, path: str
) -> None:
    good = Scripted()

    async with scripted(good):
        config = behind(good)
        config["backends"].append({"name": "self", "url": f"http://{host}:4483{path}"})
        async with door(config) as gateway:
            problems = gateway.gateway.registry.snapshot.value.problems
            assert await gateway.tools() == ["a_echo"]

    assert [(problem.key.name, problem.reason) for problem in problems] == [
        ("self", "SelfReference")
    ]


@pytest.mark.parametrize(
    "via",
    [
        pytest.param("{us}", id="directly"),
        pytest.param("1.0 near, 1.1 {us}, 1.1 far", id="by others"),
        pytest.param(", ".join(["1.1 replica"] * 17), id="on and on"),
    ],
)
async def test_a_request_that_comes_back_is_refused(via: str) -> None:
    good = Scripted()

    async with scripted(good), door(behind(good)) as gateway:
        told = via.format(us=gateway.gateway.pseudonym)
        seen = await gateway.call("a_echo", via=told)

    assert seen.status == 508
    assert not good.asked("tools/call")


async def test_a_call_tells_through_whom_it_came() -> None:
    good = Scripted("stateless")

    async with scripted(good), door(behind(good)) as gateway:
        for headers in ({"via": "1.0 near, 1.1 far"}, {}):
            assert (await gateway.call("a_echo", **headers)).result

        us = f"1.1 {gateway.gateway.pseudonym}"
    passed, direct = (heard.all("via") for heard in good.asked("tools/call"))
    assert (passed, direct) == ([f"1.0 near, 1.1 far, {us}"], [us])


async def test_a_url_that_leads_back_unseen_is_told_as_such_and_nothing_grows() -> None:
    good = Scripted()

    # The file says another port than the one that is listened on, as it does behind an ingress.
    bound = listening("127.0.0.1", 0)
    async with scripted(good):
        config = behind(good)
        config["backends"].append(
            {"name": "loop", "url": f"http://127.0.0.1:{bound.getsockname()[1]}/mcp"}
        )
        async with served(config, bound) as itself:
            found = failures(itself.gateway)

            assert itself.gateway.views.catalog.value.tools.names == ("a_echo",)

    assert found["loop"].reason == "SelfReference"
