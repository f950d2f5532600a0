"""All that happens to one entry, as open sessions of both eras see it, on a folder and on a namespace."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

import pytest

from tests.journeys.pairs import at_both_backs, backend, client, in_both_fronts
from tests.net.certificates import authority, identity
from tests.support.backends import Fake, serving
from tests.support.clients import Client, named
from tests.support.gateways import Served, gateway_of
from tests.support.homes import Home
from tests.support.objects import AUTH, CA, TEAM, auth, ca, entry, group, key, virtual
from tests.support.onlookers import Onlooker, bystander, onlooker, reasons
from tests.support.waiting import moment, until

HERE, BESIDE = "weather_echo", "beside_echo"
ECHO = named(HERE)


@dataclass(frozen=True, slots=True)
class Scene:
    """Who takes part: objects, a gateway with a client, and the backend to which things happen."""

    home: Home
    served: Served
    seen: Onlooker
    fake: Fake

    @property
    def caller(self) -> Client:
        return self.seen.caller

    async def works(self) -> None:
        await self.caller.ask("tools/call", ECHO)


def secure(fake: Fake, authority_name: str, value: str) -> None:
    """Have a fake show a certificate of this authority, and want this key."""
    fake.tls = identity("127.0.0.1", signer=authority(authority_name)).server()
    fake.wanted = {"x-api-key": value, "x-team": value}


async def secured_anew(fake: Fake, authority_name: str, value: str) -> None:
    """Have it do so at the port where it was: the old ones stop working."""
    port = fake.port
    await fake.stop()
    secure(fake, authority_name, value)
    await fake.start(port)


@pytest.mark.parametrize(
    "chosen", [{"group": "tools"}, {"gateway": "gw"}], ids=["group", "gateway"]
)
@in_both_fronts
@at_both_backs
async def test_all_that_happens_to_an_entry_is_seen_by_an_open_session(
    front: str, back: str, chosen: dict[str, Any], home: Home
) -> None:
    fake, beside = backend(back), backend(back)
    secure(fake, "first", "one")
    async with (
        serving(fake, beside),
        gateway_of({"backends": []}, others=home.source(**chosen)) as served,
        client(front, served.url) as caller,
    ):
        scene = Scene(home, served, await onlooker(caller), fake)
        assert await caller.tools() == []
        await home.put(group(), virtual(), entry(beside, "beside"))
        await scene.seen.sees(BESIDE)
        await caller.ask("tools/call", named(BESIDE))
        other = bystander(served, "beside", beside)

        await appears(scene)
        await has_its_keys_rotated(scene)
        await loses_its_bundle_and_gets_it_back(scene)
        await changes_its_group_and_comes_back(scene)
        await is_deleted(scene)

        other.assert_untouched()
        await caller.ask("tools/call", named(BESIDE))


@in_both_fronts
@at_both_backs
async def test_a_server_that_takes_rotated_keys_later_than_the_gateway_is_back_within_a_second(
    front: str, back: str, home: Home
) -> None:
    fake = backend(back)
    secure(fake, "first", "one")
    async with (
        serving(fake),
        gateway_of({"backends": []}, others=home.source(group="tools")) as served,
        client(front, served.url) as caller,
    ):
        scene = Scene(home, served, await onlooker(caller), fake)
        await home.put(group(), key("one"), ca("first"), auth(), entry(fake, **CA, **AUTH, **TEAM))
        await scene.seen.sees(HERE)

        await home.put(ca("second"), key("two"))
        # The next attempt of its own is seconds away.
        await until(lambda: failures(served) >= 3)
        assert "not trusted" in (await caller.refused("tools/call", ECHO))["message"]
        await secured_anew(fake, "second", "two")

        await answers_soon(caller)


def failures(served: Served) -> int:
    (shown,) = served.status()["backends"]
    count: int = (shown["lastFailure"] or {"count": 0})["count"]
    return count


async def appears(scene: Scene) -> None:
    await scene.home.put(key("one"), ca("first"), auth(), entry(scene.fake, **CA, **AUTH, **TEAM))

    await scene.seen.sees(BESIDE, HERE)
    await scene.works()


async def has_its_keys_rotated(scene: Scene) -> None:
    await secured_anew(scene.fake, "second", "two")
    await scene.caller.refused("tools/call", ECHO)

    await scene.home.put(key("two"), ca("second"))

    await answers_soon(scene.caller)


async def answers_soon(caller: Client) -> None:
    # A second is what it takes; a slow machine needs more.
    async with asyncio.timeout(5):
        while "error" in await (await caller.request("tools/call", ECHO)).end():
            await moment()


async def loses_its_bundle_and_gets_it_back(scene: Scene) -> None:
    await scene.home.remove("ConfigMap", "weather-ca")

    await scene.seen.sees(BESIDE)
    where = f"MCPServerEntry/{scene.home.namespace}/weather"
    assert reasons(scene.served) == [(where, "CABundleNotFound")]
    assert (await scene.caller.refused("tools/call", ECHO))["code"] == -32602

    await scene.home.put(ca("second"))

    await scene.seen.sees(BESIDE, HERE)
    await scene.works()


async def changes_its_group_and_comes_back(scene: Scene) -> None:
    await scene.home.put(entry(scene.fake, group="other", **CA, **AUTH, **TEAM))

    await scene.seen.sees(BESIDE)
    assert reasons(scene.served) == []

    await scene.home.put(entry(scene.fake, **CA, **AUTH, **TEAM))

    await scene.seen.sees(BESIDE, HERE)
    await scene.works()


async def is_deleted(scene: Scene) -> None:
    await scene.home.remove("MCPServerEntry", "weather")

    await scene.seen.sees(BESIDE)
    error = await scene.caller.refused("tools/call", ECHO)
    assert (error["code"], HERE in error["message"]) == (-32602, True)
