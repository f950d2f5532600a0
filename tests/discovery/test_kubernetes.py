"""The source of a namespace goes on whatever an object or a conversion does, and tells what is not known."""

from __future__ import annotations

import asyncio
import time
from base64 import b64encode
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest

from tests.kube.scenes import SOON
from tests.support.gateways import live_config
from tests.support.kube_api import FakeApi, Object, fake_api, kubeconfig
from tests.support.waiting import moment, until
from vmcp.clock import SystemClock
from vmcp.crd.things import KINDS
from vmcp.discovery.choice import Choice
from vmcp.discovery.kubernetes import KubernetesSource, Place, resource
from vmcp.discovery.patience import Patience
from vmcp.kube.client import ApiServer
from vmcp.kube.login import ByKubeconfig
from vmcp.kube.resource import CONFIG_MAPS, SECRETS

NAMESPACE = "apps"
SECONDS = 10.0
SPEC: Object = {"groupRef": {"name": "tools"}, "incomingAuth": {"type": "anonymous"}}


class Odd(str):
    """A name with which nobody gets on while it is broken, and only slowly while it is slow."""

    __slots__ = ("is_broken", "slow_seconds")

    def __hash__(self) -> int:
        if slow := getattr(self, "slow_seconds", 0.0):
            # A conversion has a thread of its own.
            time.sleep(slow)
        if getattr(self, "is_broken", False):
            raise ZeroDivisionError("a value that may be secret")
        return super().__hash__()


@dataclass(frozen=True)
class Followed:
    api: FakeApi
    source: KubernetesSource
    name: Odd

    async def put(self, kind: str, name: str, **content: object) -> None:
        each = {"Secret": SECRETS}.get(kind) or resource(kind)
        await self.api.put(each, NAMESPACE, {"metadata": {"name": name}, **content})

    async def entry(self, name: str, **more: object) -> None:
        spec = {
            "groupRef": {"name": "tools"},
            "remoteUrl": f"https://{name}.example.com/mcp",
            "transport": "streamable-http",
            **more,
        }
        await self.put("MCPServerEntry", name, spec=spec)

    @property
    def served(self) -> set[str]:
        return {each.name for each in self.source.contribution.value.backends}

    @property
    def reasons(self) -> set[str]:
        return {each.reason for each in self.source.contribution.value.problems}

    @property
    def closed(self) -> str | None:
        found = self.source.contribution.value.closed
        return None if found is None else found.reason

    def is_lenient(self) -> None:
        """Leave a slow machine the time that only a moment is left for elsewhere, before a lack is told."""
        self.source._lenience = Patience(SECONDS)

    async def serves(self, *names: str) -> None:
        await until(lambda: self.served == {*names}, SECONDS)


@pytest.fixture
async def api() -> AsyncIterator[FakeApi]:
    async with fake_api() as made:
        for each in (*map(resource, KINDS), SECRETS, CONFIG_MAPS):
            made.install(each)
        yield made


@pytest.fixture
async def followed(api: FakeApi, tmp_path: Path) -> AsyncIterator[Followed]:
    login = kubeconfig(tmp_path / "kubeconfig", api.url, {"token": "good"})
    async with following(api, login) as made:
        await made.put("MCPGroup", "tools", spec={})
        await made.put("VirtualMCPServer", "gw", spec=SPEC)
        yield made


@asynccontextmanager
async def following(api: FakeApi, login: Path) -> AsyncIterator[Followed]:
    name = Odd("gw")
    server = ApiServer(ByKubeconfig(str(login), None, SystemClock()), SystemClock())
    place = Place(NAMESPACE, Choice(name, None, NAMESPACE, allows_loopback=True))
    loaded = live_config({"backends": []}).loaded
    source = KubernetesSource(server, place, loaded, clock=SystemClock(), pace=SOON)
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(source.run())
        yield Followed(api, source, name)
        running.cancel()


async def test_a_conversion_that_nobody_foresaw_leaves_in_force_what_is_known(
    followed: Followed,
) -> None:
    await followed.entry("one")
    await followed.serves("one")

    followed.name.is_broken = True
    await followed.entry("two")
    await until(lambda: "ConversionFailed" in followed.reasons, SECONDS)
    assert followed.served == {"one"}
    told = next(each.message for each in followed.source.contribution.value.problems)
    assert "ZeroDivisionError" in told
    assert "secret" not in told

    followed.name.is_broken = False
    await followed.entry("three")
    await followed.serves("one", "two", "three")
    assert followed.reasons == set()


@pytest.mark.parametrize("asks", [{"type": "oidc"}, {"type": "later"}, "oidc"], ids=str)
async def test_a_conversion_that_nobody_foresaw_keeps_no_gateway_open_that_asks_for_protection(
    followed: Followed, asks: object
) -> None:
    await followed.entry("one")
    await followed.serves("one")

    followed.name.is_broken = True
    spec = {"groupRef": {"name": "tools"}, "incomingAuth": asks}
    await followed.put("VirtualMCPServer", "gw", spec=spec)

    await until(lambda: followed.closed == "ConversionFailed", SECONDS)
    assert followed.served == set()


async def test_a_gateway_that_may_not_be_read_is_not_taken_for_one_without_protections(
    api: FakeApi, tmp_path: Path
) -> None:
    login = kubeconfig(tmp_path / "kubeconfig", api.url, {"token": "good"})
    api.denied = {"virtualmcpservers"}
    async with following(api, login) as followed:
        assert followed.closed == "NotSynced"
        await until(lambda: followed.closed == "GatewayUnreadable", SECONDS)
        assert followed.reasons == {"GatewayUnreadable", "KindForbidden"}

        await followed.put("MCPGroup", "tools", spec={})
        await followed.put("VirtualMCPServer", "gw", spec=SPEC)
        await followed.entry("one")
        api.denied = set()
        await followed.serves("one")
        assert followed.closed is None

        # What is known stays in force.
        api.denied = {"virtualmcpservers"}
        await api.cut()
        await until(lambda: "KindForbidden" in followed.reasons, SECONDS)
        assert (followed.served, followed.closed) == ({"one"}, None)


async def test_one_change_converts_only_what_it_touches(followed: Followed) -> None:
    await followed.put("Secret", "key", data=value("one"))
    await followed.entry("one")
    await followed.entry("two", headerForward=forward("key"))
    await followed.serves("one", "two")
    before = followed.source.told()["converted"]
    known = followed.source.contribution.value

    await followed.put("Secret", "key", data=value("two"))

    await until(lambda: followed.source.contribution.value is not known, SECONDS)
    assert followed.source.told()["converted"] == before + 1


async def test_a_secret_that_is_not_known_yet_is_never_told_as_missing(followed: Followed) -> None:
    await followed.put("Secret", "key", data=value("one"))
    await followed.entry("one")
    await followed.serves("one")

    async with watching(followed) as told:
        await followed.entry("two", headerForward=forward("key"))
        await followed.serves("one", "two")

    assert told[-1] == ({"one", "two"}, set())
    assert {reason for _, reasons in told for reason in reasons} == set()


async def test_a_secret_that_is_replaced_takes_no_backend_away(followed: Followed) -> None:
    followed.is_lenient()
    await followed.put("Secret", "key", data=value("one"))
    await followed.entry("one", headerForward=forward("key"))
    await followed.serves("one")
    known = followed.source.contribution.value

    async with watching(followed) as told:
        await followed.api.delete(SECRETS, NAMESPACE, "key")
        await followed.entry("two")
        await while_it_is_heard()
        await followed.put("Secret", "key", data=value("two"))
        await followed.serves("one", "two")

    assert told == [({"one", "two"}, set())]
    assert followed.source.contribution.value.backends[0] != known.backends[0]


@pytest.mark.parametrize("first", ["gateway", "group"])
async def test_of_two_kinds_that_change_together_either_may_be_heard_of_first(
    followed: Followed, first: str
) -> None:
    followed.is_lenient()
    await followed.entry("one")
    await followed.serves("one")

    async with watching(followed) as told:
        spec = {**SPEC, "groupRef": {"name": "others"}}
        changes = {
            "gateway": partial(followed.put, "VirtualMCPServer", "gw", spec=spec),
            "group": partial(followed.put, "MCPGroup", "others", spec={}),
            "entry": partial(followed.entry, "one", groupRef={"name": "others"}),
        }
        for each in sorted(changes, key=lambda one: one != first):
            await changes[each]()
            await while_it_is_heard()
        await followed.entry("two", groupRef={"name": "others"})
        await followed.serves("one", "two")

    assert all(reasons == set() for _, reasons in told)


async def test_what_stays_missing_is_told(followed: Followed) -> None:
    await followed.put("Secret", "key", data=value("one"))
    await followed.entry("one", headerForward=forward("key"))
    await followed.entry("two")
    await followed.serves("one", "two")

    await followed.api.delete(SECRETS, NAMESPACE, "key")

    await until(lambda: followed.reasons == {"SecretNotFound"}, SECONDS)
    assert followed.served == {"two"}


async def test_a_backend_stays_while_its_reference_moves_however_long_conversions_take(
    followed: Followed,
) -> None:
    for name in ("one", "two"):
        await followed.put("Secret", name, data=value(name))
    await followed.entry("moving", headerForward=forward("one"))
    await followed.serves("moving")
    followed.name.slow_seconds = 0.03

    async with watching(followed) as told:
        for turn in range(10):
            followed.api.list_seconds = {"secrets": 0.05 + 0.01 * turn}
            await followed.entry("moving", headerForward=forward(("two", "one")[turn % 2]))
            for more in range(40):
                await followed.entry(f"other-{turn}-{more}")
                await moment()
            await until(partial(served, followed, f"other-{turn}-39"), SECONDS)

    assert all("moving" in names for names, _ in told)
    assert {reason for _, reasons in told for reason in reasons} == set()


@asynccontextmanager
async def watching(followed: Followed) -> AsyncIterator[list[tuple[set[str], set[str]]]]:
    """Give what is served and why not, each time that it changes in the block."""
    told: list[tuple[set[str], set[str]]] = []
    before = followed.source.contribution.value

    async def look() -> None:
        async for now in followed.source.contribution.changes():
            if now is not before:
                told.extend([(followed.served, followed.reasons)])

    async with asyncio.TaskGroup() as tasks:
        looking = tasks.create_task(look())
        yield told
        await moment()
        looking.cancel()


async def while_it_is_heard() -> None:
    """Leave the source the time to hear of a change, and to convert it."""
    for _ in range(20):
        await moment()


def served(followed: Followed, name: str) -> bool:
    return name in followed.served


def value(text: str) -> Object:
    return {"value": b64encode(text.encode()).decode()}


def forward(secret: str) -> Object:
    header = {"headerName": "X-Key", "valueSecretRef": {"name": secret, "key": "value"}}
    return {"addHeadersFromSecret": [header]}
