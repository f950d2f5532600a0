"""A namespace with a dozen members of every kind, and a gateway on it under calls that never stop."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from tests.kube.scenes import SOON
from tests.net.certificates import authority, identity
from tests.support.backends import Fake, serving
from tests.support.calls import Calls, calling
from tests.support.cluster.admin import Object
from tests.support.cluster.checker import Checker
from tests.support.cluster.resources import Resources
from tests.support.gateways import Served, gateway_of
from tests.support.sessioned_backend import SessionedFake
from tests.support.stateless_backend import StatelessFake
from tests.support.waiting import until
from vmcp.clock import SystemClock
from vmcp.crd.kinds import GROUP, STORED_VERSION
from vmcp.discovery.choice import Choice
from vmcp.discovery.kubernetes import NAME, KubernetesSource, Place
from vmcp.discovery.reload import LiveConfig
from vmcp.discovery.scoping import scope
from vmcp.kube.access import Login
from vmcp.kube.client import ApiServer
from vmcp.kube.pace import PACE, Pace

# Each fault as long as an operator may see it, at the pace of production; else long enough to pass all deadlines.
IS_FULL = os.environ.get("VMCP_FAULTS") == "full"  # noqa: TID251 - who runs the tests chooses
USUAL = PACE if IS_FULL else replace(SOON, silent_seconds=2.0)
# Within such a time of a fault's end there is no difference left.
SECONDS = 30.0

TOOLS_GROUP = "tools"
SECRETS = tuple(f"s{number}" for number in range(5))
# Some refer to what has no name that an object could have.
ODD = "No Such Name"
READABLE = (*SECRETS, "ca", ODD)
MEMBERS = (*(f"e{number:02}" for number in range(8)), "m0", "m1", "p0", "p1")


def obj(kind: str, name: str, spec: Object | None = None, **more: Any) -> Object:
    """Return an object as people write it."""
    api = "v1" if kind in ("Secret", "ConfigMap") else f"{GROUP}/{STORED_VERSION}"
    body = {} if spec is None else {"spec": spec}
    return {"apiVersion": api, "kind": kind, "metadata": {"name": name}, **body, **more}


def entry(name: str, url: str, group: str = TOOLS_GROUP, **more: Any) -> Object:
    """Return a member that runs elsewhere."""
    usual = {"groupRef": {"name": group}, "remoteUrl": url, "transport": "streamable-http"}
    return obj("MCPServerEntry", name, {**usual, **more})


def secret(name: str, value: str) -> Object:
    """Return a Secret with one key."""
    return obj("Secret", name, stringData={"value": value})


@dataclass(frozen=True, slots=True)
class Backends:
    """One server of each era, and one that has a certificate of a private authority."""

    plain: tuple[Fake, Fake]
    safe: Fake

    def objects(self) -> list[Object]:
        """Return all objects of the namespace."""
        return [*self._shared(), *self._entries(), *self._workloads()]

    def _shared(self) -> list[Object]:
        auths = [(f"a{number}", f"s{number}") for number in range(4)]
        return [
            obj("MCPGroup", TOOLS_GROUP, {}),
            obj(
                "VirtualMCPServer",
                "gw",
                {"groupRef": {"name": TOOLS_GROUP}, "incomingAuth": {"type": "anonymous"}},
            ),
            obj("ConfigMap", "ca", data={"ca.crt": authority("private").pem}),
            obj(
                "MCPToolConfig",
                "t",
                {"toolsOverride": {"echo": {"description": "Says it again."}}},
            ),
            *(secret(name, "first") for name in SECRETS),
            *(obj("MCPExternalAuthConfig", name, _header("X-Api-Key", of)) for name, of in auths),
        ]

    def _entries(self) -> list[Object]:
        trust = {"caBundleRef": {"configMapRef": {"name": "ca"}}}
        from_secret = {"headerName": "X-Team", "valueSecretRef": {"name": "s4", "key": "value"}}
        more: dict[int, Object] = {
            **{number: {"externalAuthConfigRef": {"name": f"a{number}"}} for number in range(4)},
            **dict.fromkeys((4, 5), trust),
            6: {"headerForward": {"addHeadersFromSecret": [from_secret]}},
            7: {"headerForward": {"addPlaintextHeaders": {"X-Plain": "yes"}}},
        }
        return [
            entry(
                f"e{number:02}",
                self.safe.url if number in (4, 5) else self.plain[number % 2].url,
                **more[number],
            )
            for number in range(8)
        ]

    def _workloads(self) -> list[Object]:
        member = {"groupRef": {"name": TOOLS_GROUP}, "transport": "streamable-http"}
        server = {**member, "image": "image", "toolConfigRef": {"name": "t"}}
        proxy = {**member, "remoteUrl": "https://elsewhere.example.com/mcp"}
        return [
            *(obj("MCPServer", name, server) for name in ("m0", "m1")),
            *(obj("MCPRemoteProxy", name, proxy) for name in ("p0", "p1")),
        ]

    async def apply(self, resources: Resources, without: str = "") -> None:
        """Bring all objects to a namespace, but for a kind; say how those are reached that run in the cluster."""
        await resources.put(*(each for each in self.objects() if each["kind"] != without))
        for kind, names in (("MCPServer", ("m0", "m1")), ("MCPRemoteProxy", ("p0", "p1"))):
            for name, fake in zip(names, self.plain, strict=True):
                if kind != without:
                    await resources.report(kind, name, url=fake.url, phase="Ready")


def _header(name: str, of: str) -> Object:
    ref = {"name": of, "key": "value"}
    return {
        "type": "headerInjection",
        "headerInjection": {"headerName": name, "valueSecretRef": ref},
    }


@asynccontextmanager
async def backends() -> AsyncIterator[Backends]:
    """Serve the backends for the block."""
    safe = SessionedFake()
    safe.tls = identity("127.0.0.1", signer=authority("private")).server()
    made = Backends((SessionedFake(), StatelessFake()), safe)
    async with serving(*made.plain, safe):
        yield made


class Team:
    """The namespace and its gateway."""

    def __init__(
        self, resources: Resources, far: Backends, served: Served, source: KubernetesSource
    ) -> None:
        self.resources = resources
        self.backends = far
        self.served = served
        self.source = source
        place, loaded = source._place, served.live.loaded.value
        self._checker = Checker(
            resources.cluster,
            scope(place.choice, loaded, NAME, has_operator=True),
            resources.namespace,
            source,
            served,
        )
        self._number = 0

    @property
    def is_in_sync(self) -> bool:
        return bool(self.source.told()["inSync"])

    @property
    def members(self) -> set[str]:
        """The names of those who are served."""
        return {each.name for each in self.source.contribution.value.backends}

    @property
    def phases(self) -> set[str]:
        """The phases of all that is watched."""
        told: Any = self.source.told()
        return {each["phase"] for each in (*told["kinds"], *told["byName"])}

    @property
    def problems(self) -> set[tuple[str, str]]:
        """The kinds of objects that have problems, with the reasons."""
        return {(each.key.kind, each.reason) for each in self.source.contribution.value.problems}

    async def change(self) -> None:
        """Rotate a Secret; have one member come and another one go."""
        self._number += 1
        name, url = f"x{self._number}", self.backends.plain[self._number % 2].url
        await self.resources.put(secret("s0", name), entry(name, url))
        if self._number > 1:
            await self.resources.remove("MCPServerEntry", f"x{self._number - 1}")

    async def is_true(self, word: str, *told: tuple[str, str]) -> None:
        """Compare all with a fresh look, but for problems that are `told` of kinds; then clients see it."""
        took = await self._checker.finds_nothing(SECONDS, told)
        print(f"{word}: no difference after {took:.2f} s")  # noqa: T201 - shown with -s, or where it fails
        await until(self._shows_all, SECONDS)

    def _shows_all(self) -> bool:
        found = self.served.gateway.views.catalog.value.tools.names
        return {*found} == {f"{name}_echo" for name in self.members}

    @asynccontextmanager
    async def called(self, word: str, members: Sequence[str] = MEMBERS) -> AsyncIterator[Calls]:
        """Call members for the block, then compare, while calls go on."""
        tools = [f"{name}_echo" for name in members]
        async with calling(self.served.url, tools) as calls:
            yield calls
            await self.is_true(word)
        most = 1000 * calls.longest_seconds
        print(f"{word}: {calls.answered} calls answered, the longest in {most:.0f} ms")  # noqa: T201


@asynccontextmanager
async def team(
    resources: Resources, pace: Pace = USUAL, login: Login | None = None
) -> AsyncIterator[Team]:
    """Serve a namespace with all its members for the block."""
    async with backends() as far:
        await far.apply(resources)
        async with gateway(resources, far, pace, login or resources.login()) as made:
            await made.is_true("at the start")
            assert made.members == {*MEMBERS}
            yield made


@asynccontextmanager
async def gateway(
    resources: Resources, far: Backends, pace: Pace, login: Login
) -> AsyncIterator[Team]:
    """Serve a namespace as it is for the block."""
    choice = Choice("gw", None, resources.namespace, allows_loopback=True)

    def made(live: LiveConfig) -> Sequence[KubernetesSource]:
        server, clock = ApiServer(login, SystemClock()), SystemClock()
        place = Place(resources.namespace, choice)
        return [KubernetesSource(server, place, live.loaded, clock=clock, pace=pace)]

    async with gateway_of({"backends": []}, others=made) as served:
        (source,) = (each for each in served.gateway.sources if isinstance(each, KubernetesSource))
        yield Team(resources, far, served, source)


async def lasting(seconds: float) -> None:
    """Return when so much time has passed."""
    loop = asyncio.get_running_loop()
    ends = loop.time() + seconds
    await until(partial(_is_past, loop, ends), seconds + 10)


def _is_past(loop: asyncio.AbstractEventLoop, ends: float) -> bool:
    return loop.time() >= ends
