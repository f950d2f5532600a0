"""What a scrape tells of calls, clients and backends."""

from __future__ import annotations

from tests.journeys.pairs import client, in_both_fronts
from tests.support.backends import serving
from tests.support.clients import named, sessioned, stateless
from tests.support.gateways import config, gateway_of
from tests.support.scrape import samples, scraped, value
from tests.support.sessioned_backend import SessionedFake
from tests.support.shelf import Fault, Invocation, Json, text
from tests.support.stateless_backend import StatelessFake
from vmcp.model.snapshot import Snapshot

CALLS = "vmcp_calls_total"
PROMPTS = "notifications/prompts/list_changed"
TOOL = {"backend": "a", "method": "tools/call"}


@in_both_fronts
async def test_a_call_is_counted_by_backend_method_and_outcome(front: str) -> None:
    async def fails(_: Invocation) -> Json:
        return {"error": {"code": -32000, "message": "no"}}

    fake = SessionedFake(fails=fails)
    async with (
        serving(fake),
        gateway_of(config(fake)) as served,
        client(front, served.url) as caller,
    ):
        for _ in range(3):
            await caller.ask("tools/call", named("echo"))
        await fake.stop()
        error = await caller.refused("tools/call", named("echo"))

        told = await samples(served.gateway)

    outcomes = {
        dict(labels)["outcome"]: count
        for labels, count in told[CALLS].items()
        if ("method", "tools/call") in labels
    }
    assert outcomes == {"ok": 3, "error": 0, "failed": 1, "cancelled": 0}
    reasons = {
        dict(labels)["reason"]: count for labels, count in told["vmcp_call_failures_total"].items()
    }
    assert reasons == {error["data"]["reason"]: 1}
    assert told["vmcp_call_duration_seconds_count"][tuple(sorted(TOOL.items()))] == 4


async def test_calls_under_way_streams_and_sessions_are_told_as_they_are_now() -> None:
    async def looks(_: Invocation) -> Json:
        under_way = await value(served.gateway, "vmcp_calls_in_flight", backend="a")
        return text(str(under_way))

    fake = SessionedFake(looks=looks)
    async with serving(fake), gateway_of(config(fake)) as served:
        async with sessioned(served.url) as old, stateless(served.url) as new:
            await old.listen()
            await new.listen(toolsListChanged=True)
            result = await old.ask("tools/call", named("looks"))
            told = await samples(served.gateway)
        await served.is_idle()
        after = await samples(served.gateway)

    assert result["content"][0]["text"] == "1.0"
    streams = {dict(labels)["kind"]: count for labels, count in told["vmcp_streams"].items()}
    assert streams == {"session": 1, "subscription": 1, "sse": 0}
    assert told["vmcp_sessions"][()] == 1
    assert told["vmcp_requests_in_flight"][()] == 2
    assert after["vmcp_sessions"][()] == 0
    assert set(after["vmcp_streams"].values()) == {0}


@in_both_fronts
async def test_a_changed_list_is_counted_once_for_each_client_that_is_told(front: str) -> None:
    fake = StatelessFake()
    async with (
        serving(fake),
        gateway_of(config(fake)) as served,
        client(front, served.url) as caller,
    ):
        wanted = {"promptsListChanged": True} if front == "stateless" else {}
        stream = await caller.listen(**wanted)
        before = await value(served.gateway, "vmcp_list_changed_total", kind="prompts")
        fake.shelf.prompts.append("greet")
        fake.tell(PROMPTS)
        await stream.heard(PROMPTS)

        after = await value(served.gateway, "vmcp_list_changed_total", kind="prompts")

    assert (before, after) == (0, 1)


async def test_what_clients_invent_makes_no_new_series() -> None:
    fake = SessionedFake()
    async with (
        serving(fake),
        gateway_of(config(fake)) as served,
        stateless(served.url) as new,
        sessioned(served.url) as old,
    ):
        await new.refused("tools/call", named("unknown"))
        await old.refused("invented/0")
        await old.send("POST", {"Host": "elsewhere.test"}, {})
        before = (await scraped(served.gateway)).count("\n")
        for number in range(20):
            await new.refused("tools/call", named(f"unknown-{number}"))
            await old.refused(f"invented/{number}")
            await new.refused(f"invented/{number}")
            await old.send("POST", {"Host": f"elsewhere-{number}.test"}, {})
        after = (await scraped(served.gateway)).count("\n")

        refused = await value(served.gateway, "vmcp_requests_refused_total", code="421")

    assert after <= before + 1
    assert refused == 21


async def test_what_backends_invent_makes_no_new_series() -> None:
    fake = SessionedFake()
    fake.shelf.resources = {"note://1": "first"}
    async with (
        serving(fake),
        gateway_of(config(fake)) as served,
        sessioned(served.url) as caller,
    ):
        before = (await scraped(served.gateway)).count("\n")
        for code in range(-31020, -31000):
            fake.refuses["resources/subscribe"] = Fault(code, "not to be watched")
            await caller.refused("resources/subscribe", {"uri": "note://1"})

        after = (await scraped(served.gateway)).count("\n")

    assert after == before


async def test_a_backend_takes_its_series_with_it() -> None:
    fake = SessionedFake()
    async with (
        serving(fake),
        gateway_of(config(fake)) as served,
        stateless(served.url) as caller,
    ):
        await caller.ask("tools/call", named("echo"))
        assert 'backend="a"' in await scraped(served.gateway)
        served.gateway.registry.snapshot.set(Snapshot())

        left = await scraped(served.gateway)

    assert 'backend="a"' not in left
