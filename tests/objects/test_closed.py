"""Who asks for a protection that there is not is served nothing: not on what is open, not beside the objects."""

from __future__ import annotations

import asyncio

from tests.support.backends import serving
from tests.support.clients import Client, Json, named, sessioned, stateless, words
from tests.support.gateways import Served, gateway_of
from tests.support.homes import Home
from tests.support.objects import entry, group, virtual
from tests.support.onlookers import Onlooker
from tests.support.sessioned_backend import SessionedFake
from tests.support.shelf import Invocation, text
from tests.support.waiting import until

OIDC: Json = {"incomingAuth": {"type": "oidc", "oidcConfigRef": {"name": "o", "audience": "a"}}}
BOTH = ("beside_echo", "weather_echo")
NOTE = "note://n"
UPDATED = "notifications/resources/updated"


def configured(fake: SessionedFake) -> Json:
    """Return a config with a backend of its own."""
    return {"backends": [{"name": "beside", "url": fake.url, "transport": "streamable-http"}]}


def closed(served: Served) -> str | None:
    found: Json = served.status()["closed"] or {}
    return found.get("reason")


async def test_streams_that_are_open_tell_of_no_backend_until_all_are_served_again(
    home: Home,
) -> None:
    fake, beside = SessionedFake(), SessionedFake()
    beside.shelf.resources[NOTE] = "x"
    async with (
        serving(fake, beside),
        gateway_of(configured(beside), others=home.source(gateway="gw")) as served,
        sessioned(served.url) as one,
        stateless(served.url) as two,
    ):
        await home.put(group(), virtual(), entry(fake))
        await served.shows(*BOTH)
        old = Onlooker(one, await one.listen())
        new = Onlooker(
            two, await two.listen("mine", toolsListChanged=True, resourceSubscriptions=[NOTE])
        )
        await one.ask("resources/subscribe", {"uri": NOTE})
        beside.tell(UPDATED, uri=NOTE)
        await old.stream.heard(UPDATED)
        await new.stream.heard(UPDATED)

        await home.put(virtual(**OIDC))
        await until(lambda: closed(served) == "IncomingAuthNotSupported")
        await served.shows()
        beside.tell(UPDATED, uri=NOTE, told="meanwhile")
        await one.notify("notifications/roots/list_changed")
        await home.put(virtual())
        await served.shows(*BOTH)

        beside.shelf.tools["more"] = beside.shelf.tools["echo"]
        beside.tell("notifications/tools/list_changed")
        for each in (old, new):
            await each.sees(*BOTH, "beside_more")
            # That something was missed is told when all are back, but not what it was.
            assert [note for note in each.stream.notes if "told" in note.get("params", {})] == []


async def test_each_path_says_so_and_a_call_under_way_ends_well(home: Home) -> None:
    go_on = asyncio.Event()

    async def slow(_: Invocation) -> Json:
        await go_on.wait()
        return text("done")

    fake, beside = SessionedFake(slow=slow), SessionedFake()
    async with (
        serving(fake, beside),
        gateway_of(configured(beside), others=home.source(gateway="gw")) as served,
        sessioned(served.url) as one,
        stateless(served.url) as two,
    ):
        await home.put(group(), virtual(), entry(fake))
        await served.shows(*BOTH, "weather_slow")
        call = one.call("weather_slow")
        await fake.first("tools/call")

        await home.put(virtual(**OIDC))
        await until(lambda: closed(served) == "IncomingAuthNotSupported")
        await served.shows()

        for path in ("", "/", "/weather", "/beside", "/nothing", "/v/nothing"):
            for caller in (one, two):
                assert await answered(caller, path) == (503, "10"), path
        stream = await one.send("GET", {}, url=one.url.replace("/mcp", "/sse"))
        assert (stream.status, (await one.listen()).status) == (503, 503)
        go_on.set()
        assert words((await (await call).end())["result"]) == "done"

        await home.put(virtual())
        await served.shows(*BOTH, "weather_slow")
        # The session was not lost.
        assert (await one.ask("tools/call", named("weather_echo")))["content"]


async def answered(caller: Client, path: str) -> tuple[int, str | None]:
    """Return how a list is answered at a path below the endpoint, and when to come again."""
    url, caller.url = caller.url, caller.url + path
    answer = await caller.request("tools/list")
    caller.url = url
    return answer.status, answer.headers.get("Retry-After")
