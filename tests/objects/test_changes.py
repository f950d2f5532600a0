"""What changes beside an entry: references, rules of tools, workloads, and who may come in."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import pytest

from tests.journeys.pairs import at_both_backs, backend, client, in_both_fronts
from tests.support.backends import Fake, serving
from tests.support.clients import Client, named, stateless, words
from tests.support.gateways import Served, gateway_of
from tests.support.homes import Home
from tests.support.objects import AUTH, Json, auth, entry, group, key, obj, virtual
from tests.support.onlookers import Onlooker, bystander, onlooker, reasons
from tests.support.sessioned_backend import SessionedFake
from tests.support.shelf import Invocation, text
from tests.support.waiting import moment, until
from vmcp.latest import Latest
from vmcp.model.snapshot import Snapshot

ECHO = named("weather_echo")
OIDC = {"type": "oidc", "oidcConfigRef": {"name": "o", "audience": "a"}}


@asynccontextmanager
async def looking_on(
    front: str, home: Home, *fakes: Fake
) -> AsyncIterator[tuple[Served, Onlooker]]:
    """Serve the gateway `gw` for the block, to a client that looks on."""
    async with (
        serving(*fakes),
        gateway_of({"backends": []}, others=home.source(gateway="gw")) as served,
        client(front, served.url) as caller,
    ):
        yield served, await onlooker(caller)


async def sends(caller: Client, fake: Fake, value: str) -> None:
    """Wait until calls carry this key: a second, and more on a slow machine."""
    async with asyncio.timeout(5):
        while True:
            await caller.ask("tools/call", ECHO)
            if fake.asked("tools/call")[-1].headers["x-api-key"] == value:
                return
            await moment()


@in_both_fronts
async def test_a_reference_that_moves_takes_effect_and_the_old_one_has_none(
    front: str, home: Home
) -> None:
    fake = SessionedFake()
    async with looking_on(front, home, fake) as (_, seen):
        await home.put(group(), virtual(), key("one"), auth(), entry(fake, **AUTH))
        await seen.sees("weather_echo")
        await sends(seen.caller, fake, "one")

        await home.put(key("two", "other-key"), auth(secret="other-key"))
        await sends(seen.caller, fake, "two")

        await home.put(key("not this one"))
        await home.put(auth("other-auth", secret="other-key"))
        await home.put(key("three", "other-key"))
        await sends(seen.caller, fake, "three")

        await home.put(auth(secret="weather-key"))
        await sends(seen.caller, fake, "not this one")

        await home.put(entry(fake, externalAuthConfigRef={"name": "other-auth"}))
        await sends(seen.caller, fake, "three")


@in_both_fronts
@at_both_backs
async def test_no_call_is_lost_while_a_secret_is_rotated_and_the_first_one_after_it_carries_the_new_value(
    front: str, back: str, home: Home
) -> None:
    fake = backend(back)
    values = [f"key-{number}" for number in range(5)]
    async with looking_on(front, home, fake) as (served, seen), asyncio.TaskGroup() as tasks:
        await home.put(group(), virtual(), key(values[0]), auth(), entry(fake, **AUTH))
        await seen.sees("weather_echo")
        snapshot = served.gateway.registry.snapshot
        is_over = asyncio.Event()
        tasks.create_task(calls_until(is_over, seen.caller))
        for value in values[1:]:
            before = snapshot.value
            await home.put(key(value))
            await until(partial(is_another, snapshot, before))
            await seen.caller.ask("tools/call", named("weather_echo", mark=value))
        is_over.set()

    marked = [one for one in fake.asked("tools/call") if "mark" in one.params.get("_meta", {})]
    assert [one.headers["x-api-key"] for one in marked] == values[1:]
    sent = [one.headers["x-api-key"] for one in fake.asked("tools/call")]
    assert len(sent) > len(marked)
    assert {*sent} == {*values}


async def calls_until(is_over: asyncio.Event, caller: Client) -> None:
    """Call, again and again; no call may fail."""
    while not is_over.is_set():
        await caller.ask("tools/call", ECHO)


def is_another(cell: Latest[Snapshot], before: Snapshot) -> bool:
    return cell.value is not before


@in_both_fronts
async def test_rules_for_tools_are_applied_to_what_runs(front: str, home: Home) -> None:
    def with_rules(**aggregation: Any) -> Json:
        tools = [{"workload": "weather", "toolConfigRef": {"name": "rules"}}]
        return virtual(config={"aggregation": {**aggregation, "tools": tools}})

    def rules(name: str) -> Json:
        return obj("MCPToolConfig", "rules", {"toolsOverride": {"echo": {"name": name}}})

    fake = SessionedFake()
    async with looking_on(front, home, fake) as (served, seen):
        await home.put(group(), virtual(), entry(fake))
        await seen.sees("weather_echo")
        other = bystander(served, "weather", fake)

        await home.put(rules("say"), with_rules())
        await seen.sees("weather_say")

        await home.put(rules("tell"))
        await seen.sees("weather_tell")

        dotted = {"prefixFormat": "{workload}."}
        await home.put(with_rules(conflictResolutionConfig=dotted))
        await seen.sees("weather.tell")

        await home.put(virtual())
        await seen.sees("weather_echo")
        other.assert_untouched()


@in_both_fronts
async def test_a_server_is_followed_by_what_its_operator_says_of_it(front: str, home: Home) -> None:
    one, two = SessionedFake(), SessionedFake()
    two.shelf.tools["more"] = two.shelf.tools["echo"]
    spec = {"image": "weather:1", "transport": "streamable-http", "groupRef": {"name": "tools"}}
    async with looking_on(front, home, one, two) as (served, seen):
        await home.put(group(), virtual(), obj("MCPServer", "weather", spec))
        await until(lambda: len(reasons(served)) == 1)

        await home.report("MCPServer", "weather", url=one.url, phase="Ready")
        await seen.sees("weather_echo")

        await home.report("MCPServer", "weather", phase="Pending")
        await home.report("MCPServer", "weather", phase="Failed")
        await seen.sees()
        where = f"MCPServer/{home.namespace}/weather"
        assert reasons(served) == [(where, "NotReady")]

        await home.report("MCPServer", "weather", phase="Ready")
        await seen.sees("weather_echo")

        await home.report("MCPServer", "weather", url=f"{two.url}#weather")
        await seen.sees("weather_echo", "weather_more")


async def test_a_gateway_that_wants_callers_checked_serves_nobody_until_it_does_not(
    home: Home,
) -> None:
    fake = SessionedFake()
    await home.put(group(), entry(fake), virtual(incomingAuth=OIDC))
    chosen = home.source(gateway="gw")
    async with (
        serving(fake),
        gateway_of({"backends": []}, others=chosen, awaited=False) as served,
        stateless(served.url) as caller,
    ):
        await until(lambda: closed(served) == "IncomingAuthNotSupported")
        assert await statuses(caller) == (503, 503)

        await home.put(entry(fake), virtual())
        await served.shows("weather_echo")
        assert await statuses(caller) == (200, 200)

        await home.put(virtual(incomingAuth=OIDC))
        await until(lambda: closed(served) == "IncomingAuthNotSupported")
        assert await statuses(caller) == (503, 503)


def closed(served: Served) -> str | None:
    found: Json = served.status()["closed"] or {}
    return found.get("reason")


async def statuses(caller: Client) -> tuple[int, int]:
    """Return how a list, and /readyz, are answered."""
    listed = await caller.request("tools/list")
    ready = await caller.send("GET", {}, url=caller.url.replace("/mcp", "/readyz"))
    return listed.status, ready.status


@pytest.mark.parametrize("leaves", ["deleted", "moved"])
@in_both_fronts
@at_both_backs
async def test_a_call_under_way_ends_well_when_its_backend_leaves(
    front: str, back: str, leaves: str, home: Home
) -> None:
    go_on = asyncio.Event()

    async def slow(_: Invocation) -> Json:
        await go_on.wait()
        return text("done")

    fake = backend(back, slow=slow)
    async with looking_on(front, home, fake) as (_, seen):
        await home.put(group(), virtual(), entry(fake))
        await seen.sees("weather_echo", "weather_slow")
        call = seen.caller.call("weather_slow")
        await fake.first("tools/call")

        if leaves == "deleted":
            await home.remove("MCPServerEntry", "weather")
        else:
            await home.put(entry(fake, group="other"))
        await seen.sees()
        error = await seen.caller.refused("tools/call", named("weather_slow"))
        go_on.set()

        assert (error["code"], "weather_slow" in error["message"]) == (-32602, True)
        assert words((await (await call).end())["result"]) == "done"
