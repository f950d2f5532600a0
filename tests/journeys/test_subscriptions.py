"""Updates of single resources: asked for once at the backend, told to all who want them."""

from __future__ import annotations

import pytest

from tests.journeys.pairs import at_both_backs, backend
from tests.support.backends import Fake, replacing, serving
from tests.support.clients import (
    Answer,
    Client,
    SessionedClient,
    StatelessClient,
    sessioned,
    stateless,
)
from tests.support.gateways import config, gateway_of
from tests.support.sessioned_backend import SessionedFake
from tests.support.shelf import Fault
from tests.support.stateless_backend import StatelessFake
from tests.support.waiting import until
from vmcp.model.snapshot import Contribution

UPDATED = "notifications/resources/updated"
ONE, TWO = "note://1", "note://2"


def with_notes(back: str) -> Fake:
    fake = backend(back)
    fake.shelf.resources = {ONE: "first", TWO: "second"}
    return fake


def wanted(fake: Fake) -> set[str]:
    """Return the resources whose updates the backend would tell."""
    if isinstance(fake, StatelessFake):
        return {uri for uri in (ONE, TWO) if fake.hears(uri)}
    assert isinstance(fake, SessionedFake)
    return {uri for session in fake.sessions.values() if session.stream for uri in session.uris}


async def subscribed(caller: Client, *uris: str) -> Answer:
    """Subscribe in the way of the client's era and return the stream that will tell."""
    if isinstance(caller, StatelessClient):
        return await caller.listen(resourceSubscriptions=list(uris))
    assert isinstance(caller, SessionedClient)
    for uri in uris:
        await caller.ask("resources/subscribe", {"uri": uri})
    return await caller.listen()


@at_both_backs
async def test_an_update_reaches_all_who_subscribed_and_nobody_else(back: str) -> None:
    fake = with_notes(back)
    async with serving(fake), gateway_of(config(fake)) as served:
        async with (
            sessioned(served.url) as one,
            stateless(served.url) as two,
            sessioned(served.url) as three,
        ):
            streams = [await subscribed(one, ONE), await subscribed(two, ONE)]
            other = await subscribed(three, TWO)
            await until(lambda: wanted(fake) == {ONE, TWO})

            fake.tell(UPDATED, uri=ONE)
            heard = [await stream.heard(UPDATED) for stream in streams]
            fake.tell(UPDATED, uri=TWO)

            assert [each["params"]["uri"] for each in heard] == [ONE, ONE]
            assert (await other.heard(UPDATED))["params"]["uri"] == TWO
            assert other.notes == []
            meta = {"io.modelcontextprotocol/subscriptionId": "listen"}
            assert heard[1]["params"]["_meta"] == meta
            assert "_meta" not in heard[0]["params"]
        await until(lambda: wanted(fake) == set())
        await served.is_idle()


@at_both_backs
async def test_an_update_right_after_the_subscription_is_told(back: str) -> None:
    fake = with_notes(back)
    async with (
        serving(fake),
        gateway_of(config(fake)) as served,
        sessioned(served.url) as caller,
    ):
        stream = await caller.listen()
        await caller.ask("resources/subscribe", {"uri": ONE})

        fake.tell(UPDATED, uri=ONE)

        assert (await stream.heard(UPDATED))["params"]["uri"] == ONE


@at_both_backs
async def test_the_backend_is_asked_once_for_a_resource_that_many_want(back: str) -> None:
    fake = with_notes(back)
    async with serving(fake), gateway_of(config(fake)) as served:
        async with sessioned(served.url) as one, sessioned(served.url) as two:
            for caller in (one, two):
                await caller.ask("resources/subscribe", {"uri": ONE})
            await one.ask("resources/unsubscribe", {"uri": ONE})
            assert wanted(fake) == {ONE}

            await two.ask("resources/unsubscribe", {"uri": ONE})

            await until(lambda: wanted(fake) == set())
            asked = [len(fake.asked(f"resources/{what}")) for what in ("subscribe", "unsubscribe")]
            assert asked == ([1, 1] if back == "sessioned" else [0, 0])
        await served.is_idle()


@at_both_backs
async def test_many_subscriptions_one_after_the_other_do_not_get_slower(back: str) -> None:
    fake = with_notes(back)
    fake.shelf.resources = {f"note://{number}": "a note" for number in range(20)}
    async with (
        serving(fake),
        gateway_of(config(fake)) as served,
        sessioned(served.url) as caller,
    ):
        stream = await caller.listen()
        for uri in fake.shelf.resources:
            await caller.ask("resources/subscribe", {"uri": uri})

            fake.tell(UPDATED, uri=uri)

            assert (await stream.heard(UPDATED))["params"]["uri"] == uri


@at_both_backs
async def test_subscriptions_outlive_the_loss_of_the_backend(back: str) -> None:
    before, after = with_notes(back), with_notes(back)
    async with (
        serving(before),
        gateway_of(config(before)) as served,
        sessioned(served.url) as caller,
    ):
        stream = await subscribed(caller, ONE)
        async with replacing(before, after):
            await until(lambda: wanted(after) == {ONE})

            after.tell(UPDATED, uri=ONE)

            assert (await stream.heard(UPDATED))["params"]["uri"] == ONE


@at_both_backs
async def test_subscriptions_outlive_a_backend_that_is_removed_and_comes_back(back: str) -> None:
    fake = with_notes(back)
    async with serving(fake), gateway_of(config(fake)) as served:
        async with sessioned(served.url) as one, stateless(served.url) as two:
            streams = [await subscribed(one, ONE), await subscribed(two, ONE)]
            await until(lambda: wanted(fake) == {ONE})
            registry = served.gateway.registry
            backends = registry.snapshot.value.backends
            registry.take(Contribution("static"))
            await served.shows()

            registry.take(Contribution("static", backends))

            # What was missed meanwhile counts as an update.
            for stream in streams:
                await stream.heard(UPDATED)
            await until(lambda: wanted(fake) == {ONE})
            fake.tell(UPDATED, uri=ONE)
            for stream in streams:
                await stream.heard(UPDATED)
        await until(lambda: wanted(fake) == set())
        await served.is_idle()


async def test_a_refused_subscription_is_told_and_not_kept() -> None:
    fake = with_notes("sessioned")
    fake.refuses["resources/subscribe"] = Fault(-32602, "not to be watched")
    async with serving(fake), gateway_of(config(fake)) as served:
        async with sessioned(served.url) as caller, stateless(served.url) as other:
            error = await caller.refused("resources/subscribe", {"uri": ONE})
            stream = await other.listen(resourceSubscriptions=[ONE], toolsListChanged=True)

            assert error == {"code": -32602, "message": "not to be watched"}
            honoured = stream.notes[0]["params"]["notifications"]
            assert honoured == {"toolsListChanged": True}
        await served.is_idle()


async def test_two_who_subscribe_together_are_both_told_when_the_backend_refuses() -> None:
    fake = with_notes("sessioned")
    fake.refuses["resources/subscribe"] = Fault(-32602, "not to be watched")
    gate = fake.hold("resources/subscribe")
    async with serving(fake), gateway_of(config(fake)) as served:
        async with sessioned(served.url) as one, sessioned(served.url) as two:
            first = one.begin("resources/subscribe", {"uri": ONE})
            await fake.first("resources/subscribe")
            second = two.begin("resources/subscribe", {"uri": ONE})
            await two.ask("ping")
            gate.set()

            ends = [await (await each).end() for each in (first, second)]

            assert ["error" in end for end in ends] == [True, True]
        await served.is_idle()


async def test_a_session_that_ends_while_it_subscribes_leaves_nothing_behind() -> None:
    fake = with_notes("sessioned")
    gate = fake.hold("resources/subscribe")
    async with serving(fake), gateway_of(config(fake)) as served:
        async with sessioned(served.url) as caller:
            caller.begin("resources/subscribe", {"uri": ONE})
            await fake.first("resources/subscribe")
            await caller.end()
            gate.set()
            await until(lambda: not len(served.keeper))
        await until(lambda: wanted(fake) == set())
        await served.is_idle()


async def test_a_resource_that_nobody_has_cannot_be_subscribed_to() -> None:
    a, b = with_notes("sessioned"), with_notes("stateless")
    async with (
        serving(a, b),
        gateway_of(config(a, b)) as served,
        sessioned(served.url) as caller,
        stateless(served.url) as other,
    ):
        error = await caller.refused("resources/subscribe", {"uri": "nothing://here"})
        stream = await other.listen(resourceSubscriptions=["nothing://here"])

        assert (error["code"], error["data"]) == (-32602, {"uri": "nothing://here"})
        assert stream.notes[0]["params"]["notifications"] == {}


@pytest.mark.parametrize("offers", [True, False])
async def test_subscriptions_are_offered_where_a_backend_offers_them(*, offers: bool) -> None:
    fake = with_notes("sessioned")
    if not offers:
        fake.capabilities["resources"] = {}
    async with (
        serving(fake),
        gateway_of(config(fake)) as served,
        sessioned(served.url) as caller,
    ):
        told = caller.welcome["capabilities"]["resources"]

    assert told == ({"subscribe": True} if offers else {}) | {"listChanged": True}


@at_both_backs
async def test_a_subscription_that_its_client_closes_is_ended_at_the_backend(back: str) -> None:
    fake = with_notes(back)
    async with serving(fake), gateway_of(config(fake)) as served:
        async with stateless(served.url) as caller:
            stream = await caller.listen(resourceSubscriptions=[ONE])
            assert wanted(fake) == {ONE}

            stream.close()

            await until(lambda: wanted(fake) == set())
        await served.is_idle()


async def test_a_hanging_backend_does_not_hold_up_the_subscriptions_to_others() -> None:
    slow, quick = SessionedFake(), SessionedFake()
    slow.shelf.resources = {f"slow://{number}": "x" for number in range(5)}
    quick.shelf.resources = {ONE: "first"}
    async with serving(slow, quick), gateway_of(config(slow, quick)) as served:
        async with stateless(served.url) as caller:
            gate = slow.hold("resources/subscribe")
            uris = [*slow.shelf.resources, ONE]
            listening = caller.begin(
                "subscriptions/listen", {"notifications": {"resourceSubscriptions": uris}}, "l"
            )

            # All are asked at once, not one after the other.
            await slow.first("resources/subscribe", 5)
            await until(lambda: wanted(quick) == {ONE})
            gate.set()

            acknowledged = await (await listening).next() or {}
            honoured = acknowledged["params"]["notifications"]["resourceSubscriptions"]
            assert sorted(honoured) == sorted(uris)
        await served.is_idle()


async def test_what_changes_while_a_subscription_is_being_made_is_told_after_it() -> None:
    fake = with_notes("sessioned")
    async with (
        serving(fake),
        gateway_of(config(fake)) as served,
        stateless(served.url) as caller,
    ):
        gate = fake.hold("resources/subscribe")
        wishes = {"resourceSubscriptions": [ONE], "promptsListChanged": True}
        listening = caller.begin("subscriptions/listen", {"notifications": wishes}, "l")
        await fake.first("resources/subscribe")
        fake.shelf.prompts.append("greet")
        fake.tell("notifications/prompts/list_changed")
        await until(lambda: served.gateway.views.catalog.value.prompts.names)
        gate.set()

        stream = await listening
        first = await stream.next() or {}
        second = await stream.next() or {}

        assert first["method"] == "notifications/subscriptions/acknowledged"
        assert second["method"] == "notifications/prompts/list_changed"
