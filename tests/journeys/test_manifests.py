"""A gateway on a folder of manifests: what is written there is served, and open sessions hear of it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.journeys.pairs import at_both_backs, backend, client, in_both_fronts
from tests.net.certificates import authority, identity
from tests.support.backends import Fake, serving
from tests.support.clients import Answer, Client, named, stateless
from tests.support.gateways import Served, gateway_of
from tests.support.sessioned_backend import SessionedFake
from tests.support.waiting import moment, until
from vmcp.discovery.choice import Choice
from vmcp.discovery.choice import Folder as FolderChoice
from vmcp.discovery.manifests import ManifestsSource
from vmcp.discovery.reload import LiveConfig

TOOLS = "notifications/tools/list_changed"
API = "toolhive.stacklok.dev/v1beta1"

Json = dict[str, Any]


def obj(kind: str, name: str, spec: Json | None = None, **more: Any) -> Json:
    api = "v1" if kind in ("Secret", "ConfigMap") else API
    body = {} if spec is None else {"spec": spec}
    return {"apiVersion": api, "kind": kind, "metadata": {"name": name}, **body, **more}


def entry(fake: Fake, name: str = "weather", group: str = "tools", **spec: Any) -> Json:
    whole = {
        "groupRef": {"name": group},
        "remoteUrl": fake.url,
        "transport": "streamable-http",
        **spec,
    }
    return obj("MCPServerEntry", name, whole)


def virtual(name: str = "gw", **spec: Any) -> Json:
    whole = {"groupRef": {"name": "tools"}, "incomingAuth": {"type": "anonymous"}, **spec}
    return obj("VirtualMCPServer", name, whole)


class Folder:
    """A folder of manifests, changed as people and pipelines do."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def put(self, name: str, *objects: Json) -> None:
        """Write a file anew, in one step."""
        self.write(name, yaml.safe_dump_all(objects))

    def write(self, name: str, text: str) -> None:
        """Write a text anew, in one step."""
        at = self.path / name
        at.parent.mkdir(parents=True, exist_ok=True)
        fresh = at.with_suffix(".tmp")
        fresh.write_text(text)
        fresh.rename(at)

    def remove(self, name: str) -> None:
        """Delete a file."""
        (self.path / name).unlink()

    def source(self, **chosen: Any) -> Callable[[LiveConfig], list[ManifestsSource]]:
        """Return what makes the source of the folder."""
        usual: Json = {"gateway": None, "group": None, "namespace": None, "allows_loopback": True}
        folder = FolderChoice(self.path, Choice(**{**usual, **chosen}))
        return lambda live: [ManifestsSource(folder, live.loaded)]


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    path = tmp_path / "manifests"
    path.mkdir()
    return Folder(path)


def gateway(
    folder: Folder, settings: Json | None = None, *, awaited: bool = True, **chosen: Any
) -> AbstractAsyncContextManager[Served]:
    return gateway_of(
        {"backends": [], **(settings or {})}, awaited=awaited, others=folder.source(**chosen)
    )


def reasons(served: Served) -> list[tuple[str, str]]:
    return [(one["object"], one["reason"]) for one in served.status()["problems"]]


def names(served: Served) -> list[str]:
    return [one["name"] for one in served.status()["backends"]]


async def open_stream(caller: Client) -> Answer:
    listen: Any = caller.listen  # type: ignore[attr-defined]
    if hasattr(caller, "initialize"):
        answer: Answer = await listen()
    else:
        answer = await listen("mine", toolsListChanged=True)
    return answer


CA = {"caBundleRef": {"configMapRef": {"name": "weather-ca"}}}
AUTH = {"externalAuthConfigRef": {"name": "weather-auth"}}


def auth() -> Json:
    ref = {"name": "weather-key", "key": "value"}
    settings = {"headerName": "X-Api-Key", "valueSecretRef": ref}
    spec = {"type": "headerInjection", "headerInjection": settings}
    return obj("MCPExternalAuthConfig", "weather-auth", spec)


def key(value: str) -> Json:
    return obj("Secret", "weather-key", stringData={"value": value})


def ca(name: str) -> Json:
    return obj("ConfigMap", "weather-ca", data={"ca.crt": authority(name).pem})


async def secured(fake: Fake, authority_name: str, value: str) -> None:
    """Have a fake serve with a new certificate and take another key, at the port where it was."""
    port = fake.port
    await fake.stop()
    fake.tls = identity("127.0.0.1", signer=authority(authority_name)).server()
    fake.wanted = {"x-api-key": value}
    await fake.start(port)


async def answers(caller: Client) -> None:
    """Wait until calls are answered again, a second at most."""
    async with asyncio.timeout(1):
        while "error" in await (await caller.request("tools/call", named("weather_echo"))).end():
            await moment()


@in_both_fronts
@at_both_backs
async def test_all_that_happens_to_an_entry_is_seen_by_an_open_session(
    front: str, back: str, folder: Folder
) -> None:
    fake = backend(back)
    fake.tls = identity("127.0.0.1", signer=authority("first")).server()
    fake.wanted = {"x-api-key": "one"}
    async with serving(fake), gateway(folder) as served, client(front, served.url) as caller:
        stream = await open_stream(caller)
        assert await caller.tools() == []

        folder.put("group.yaml", obj("MCPGroup", "tools", {}))
        folder.put("weather/secrets.yaml", key("one"), ca("first"))
        folder.put("weather/entry.yaml", entry(fake, **CA, **AUTH), auth())
        await stream.heard(TOOLS)
        assert await caller.tools() == ["weather_echo"]
        await caller.ask("tools/call", named("weather_echo"))

        await secured(fake, "second", "two")
        folder.put("weather/secrets.yaml", key("two"), ca("second"))
        await answers(caller)
        assert fake.heard.all[-1].headers["x-api-key"] == "two"

        folder.put("weather/secrets.yaml", key("two"))
        await served.shows()
        assert reasons(served) == [("MCPServerEntry/default/weather", "CABundleNotFound")]
        assert (await caller.refused("tools/call", named("weather_echo")))["code"] == -32602

        folder.put("weather/secrets.yaml", key("two"), ca("second"))
        await served.shows("weather_echo")
        await caller.ask("tools/call", named("weather_echo"))

        folder.put("weather/entry.yaml", entry(fake, group="other", **CA, **AUTH), auth())
        await served.shows()
        assert reasons(served) == []

        folder.put("weather/entry.yaml", entry(fake, **CA, **AUTH), auth())
        await served.shows("weather_echo")
        stream = await open_stream(caller)
        folder.remove("weather/entry.yaml")
        await stream.heard(TOOLS)
        assert await caller.tools() == []


async def test_a_broken_file_is_told_and_what_it_held_before_stays_in_force(folder: Folder) -> None:
    one, two = SessionedFake(), SessionedFake()
    async with serving(one, two):
        folder.put("a.yaml", obj("MCPGroup", "tools", {}), entry(one, "a"))
        folder.put("b.yaml", entry(two, "b"))
        async with gateway(folder) as served:
            await served.shows("a_echo", "b_echo")

            folder.write("a.yaml", "kind: MCPGroup\n  name: x\n")
            await until(lambda: reasons(served) == [("File/a.yaml", "FileBroken")])

            (problem,) = served.status()["problems"]
            assert problem["message"].startswith("Line 2: ")
            assert problem["message"].endswith("What it held before stays in force.")
            assert names(served) == ["a", "b"]

            folder.remove("b.yaml")
            await until(lambda: names(served) == ["a"])
            folder.put("a.yaml", obj("MCPGroup", "tools", {}))
            await until(lambda: (names(served), reasons(served)) == ([], []))


async def test_a_file_that_is_broken_from_the_start_keeps_no_other_from_being_served(
    folder: Folder,
) -> None:
    fake = SessionedFake()
    async with serving(fake):
        folder.put("a.json", obj("MCPGroup", "tools", {}), entry(fake))
        folder.put("good/b.yaml", obj("MCPGroup", "tools", {}), entry(fake))
        async with gateway(folder) as served:
            await served.shows("weather_echo")

            assert reasons(served) == [("File/a.json", "FileBroken")]


async def test_a_gateway_whose_file_cannot_be_read_serves_nobody(folder: Folder) -> None:
    fake = SessionedFake()
    async with serving(fake):
        folder.put("a.yaml", obj("MCPGroup", "tools", {}), entry(fake))
        folder.write("gw.yaml", "kind: VirtualMCPServer\nspec: {unclosed\n")
        async with gateway(folder, awaited=False) as served, stateless(served.url) as caller:
            answer = await caller.request("tools/list")

            assert answer.status == 503
            assert served.status()["closed"]["reason"] == "GatewayInvalid"


async def test_a_gateway_that_wants_callers_checked_serves_nobody_until_it_does_not(
    folder: Folder,
) -> None:
    fake = SessionedFake()
    oidc = {"type": "oidc", "oidcConfigRef": {"name": "o", "audience": "a"}}
    async with serving(fake):
        folder.put("a.yaml", obj("MCPGroup", "tools", {}), entry(fake))
        folder.put("gw.yaml", virtual(incomingAuth=oidc))
        async with gateway(folder, awaited=False) as served, stateless(served.url) as caller:
            refused = await caller.request("tools/list")
            ready = await caller.send("GET", {}, url=served.url.replace("/mcp", "/readyz"))
            assert (refused.status, ready.status) == (503, 503)
            assert served.status()["closed"]["reason"] == "IncomingAuthNotSupported"

            folder.put("gw.yaml", virtual())
            await served.shows("weather_echo")
            assert await caller.tools() == ["weather_echo"]
            assert served.gateway.readiness.is_ready


async def test_a_change_of_the_gateway_is_applied_to_what_runs(folder: Folder) -> None:
    fake = SessionedFake()
    async with serving(fake):
        folder.put("a.yaml", obj("MCPGroup", "tools", {}), entry(fake))
        folder.put("gw.yaml", virtual())
        async with gateway(folder) as served:
            await served.shows("weather_echo")
            client_before = served.client("weather")

            aggregation = {"conflictResolutionConfig": {"prefixFormat": "{workload}."}}
            tools = [{"workload": "weather", "toolConfigRef": {"name": "renamed"}}]
            rules = obj("MCPToolConfig", "renamed", {"toolsOverride": {"echo": {"name": "say"}}})
            folder.put("rules.yaml", rules)
            folder.put("gw.yaml", virtual(config={"aggregation": {**aggregation, "tools": tools}}))
            await served.shows("weather.say")

            assert served.client("weather") is client_before


async def test_one_of_several_gateways_and_namespaces_is_chosen(folder: Folder) -> None:
    one, two = SessionedFake(), SessionedFake()
    async with serving(one, two):
        for fake, place in ((one, "blue"), (two, "green")):
            things = [obj("MCPGroup", "tools", {}), entry(fake), virtual(place)]
            for thing in things:
                thing["metadata"]["namespace"] = place
            folder.put(f"{place}.yaml", *things)
        async with gateway(folder, namespace="green") as served:
            await served.shows("weather_echo")
            assert served.status()["backends"][0]["object"] == "MCPServerEntry/green/weather"
        async with gateway(folder) as served:
            assert [reason for _, reason in reasons(served)] == ["NamespaceNotChosen"]


async def test_the_backends_of_a_config_file_are_served_beside_those_of_a_folder(
    folder: Folder,
) -> None:
    one, two = SessionedFake(), SessionedFake()
    async with serving(one, two):
        folder.put("a.yaml", obj("MCPGroup", "tools", {}), entry(one))
        own = {"name": "own", "url": two.url}
        async with gateway(folder, {"backends": [own]}) as served:
            await served.shows("own_echo", "weather_echo")

            shown = {
                one["name"]: (one["object"], one["auth"]["from"])
                for one in served.status()["backends"]
            }
            assert shown == {
                "own": ("Backend/own", "none"),
                "weather": ("MCPServerEntry/default/weather", "none"),
            }


async def test_a_url_on_this_machine_is_not_dialled_unless_the_process_allows_it(
    folder: Folder,
) -> None:
    fake = SessionedFake()
    async with serving(fake):
        folder.put("a.yaml", obj("MCPGroup", "tools", {}), entry(fake))
        async with gateway(folder, allows_loopback=False) as served:
            assert [reason for _, reason in reasons(served)] == ["RemoteURLInvalid"]
            assert fake.heard.all == []
