"""Nothing that is secret in a namespace is in what its gateway says, whatever becomes of the objects."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.secrets.canaries import canary, found
from tests.support.backends import serving
from tests.support.clients import named, sessioned
from tests.support.cluster.following import following
from tests.support.fake_home import FakeHome, fake_home
from tests.support.kube_api import kubeconfig
from tests.support.objects import AUTH, TEAM, auth, entry, entry_at, group, key, obj, virtual
from tests.support.servers import Gateway, in_thread
from tests.support.sessioned_backend import SessionedFake
from tests.support.waiting import moment
from vmcp.discovery.kubernetes import resource

SECONDS = 20.0
PLACES = (
    *("the log", "the status of the VirtualMCPServer", "vmcp status", "vmcp explain"),
    *("/status", "/metrics", "/explain?name=weather_echo", "/explain?name=bad_echo"),
)
INLINE = {
    "type": "header_injection",
    "headerInjection": {"headerName": "X-Inline", "headerValue": canary("inline")},
}
PLAIN = {"headerForward": {"addPlaintextHeaders": {"X-Plain": canary("plain")}}}
# What must have been on its way for its absence elsewhere to mean anything.
REACHED = {"injected", "rotated", "inline", "plain"}


def gateway(**more: Any) -> dict[str, Any]:
    """Return a VirtualMCPServer that holds a credential itself."""
    config = {"outgoingAuth": {"source": "discovered", "backends": {"inline": INLINE}}, **more}
    return virtual(config=config)


async def all_well(home: FakeHome, fake: SessionedFake) -> None:
    await home.put(group(), gateway(), auth(), key(canary("injected")))
    await home.put(entry(fake, **AUTH, **TEAM), entry(fake, "inline", **PLAIN))
    await home.put(entry_at(f"{fake.url}?token={canary('query')}", "query"))


async def all_ill(home: FakeHome, fake: SessionedFake) -> None:
    """Put canaries where nobody reads them, and where they cannot be read."""
    bad = {"name": "bad-key", "key": "value"}
    sent = {"headerName": "X-Bad", "valueSecretRef": bad}
    await home.put(key(f"{canary('broken')}\nX: y", "bad-key"))
    await home.put(entry(fake, "bad", headerForward={"addHeadersFromSecret": [sent]}))
    await home.put(entry_at(f"http://me:{canary('userinfo')}@x.test/mcp", "user"))
    await home.put(entry_at(f"ftp://x.test/{canary('path')}", "ftp"))
    await home.put(entry_at(f"http://127.0.0.1:1/{canary('dead-path')}?t={canary('dead')}", "dead"))
    await home.put(entry(fake, "odd", headerForward={"addPlaintextHeaders": canary("misplaced")}))
    await home.put(
        entry(fake, "line", headerForward={"addPlaintextHeaders": {"X-L": canary("l") + "\n"}})
    )
    injection = {"headerName": canary("misnamed") + ":", "valueSecretRef": bad}
    wrong = {"type": "headerInjection", "headerInjection": injection}
    await home.put(obj("MCPExternalAuthConfig", "wrong", wrong))
    await home.put(entry(fake, "wrong", externalAuthConfigRef={"name": "wrong"}))
    token = {"type": "bearerToken", "bearerToken": canary("misread")}
    await home.put(obj("MCPExternalAuthConfig", "odd-auth", token))
    await home.put(obj("ConfigMap", "bundle", data={"ca.crt": canary("bundle")}))
    bundle = {"caBundleRef": {"configMapRef": {"name": "bundle"}}}
    await home.put(entry(fake, "untrusted", **bundle))


async def told(said: dict[str, str], there: Gateway, home: FakeHome) -> None:
    """Add what each place tells now."""
    async with aiohttp.ClientSession() as http:
        for place in PLACES:
            if place.startswith("/"):
                async with http.get(f"{there.ops_url}{place}") as answer:
                    said[place] = said.get(place, "") + await answer.text()
    for words in (("status",), ("explain", "weather_echo")):
        said[f"vmcp {words[0]}"] = said.get(f"vmcp {words[0]}", "") + await ran(*words, there)
    kept = home.api.found(resource("VirtualMCPServer"), home.namespace, "gw")
    place = "the status of the VirtualMCPServer"
    said[place] = said.get(place, "") + json.dumps(kept.get("status", {}))


async def ran(*words: Any) -> str:
    """Return all that a command writes about a gateway."""
    *named_words, there = words
    argv = [sys.executable, "-m", "vmcp", *named_words, "--ops-url", there.ops_url]
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        *argv, stdout=pipe, stderr=asyncio.subprocess.STDOUT, env={"COLUMNS": "400"}
    )
    out, _ = await process.communicate()
    return out.decode()


async def status_of(there: Gateway) -> Mapping[str, Any]:
    async with aiohttp.ClientSession() as http, http.get(f"{there.ops_url}/status") as answer:
        shown: Mapping[str, Any] = await answer.json()
        return shown


async def has(there: Gateway, *reasons: str) -> None:
    """Wait until there are problems with these reasons."""
    async with asyncio.timeout(SECONDS):
        while not {*reasons} <= {one["reason"] for one in (await status_of(there))["problems"]}:
            await moment()


async def play(folder: Path) -> tuple[dict[str, str], str]:
    """Return what each place told through all of it, and all that reached others."""
    fake, said, kube = SessionedFake(), dict[str, str](), canary("kube-token")
    async with fake_home(folder) as home, serving(fake):
        home.api.tokens = {kube}
        login = kubeconfig(folder / "kubeconfig", home.api.url, {"token": kube})
        await all_well(home, fake)
        async with in_thread(following("apps", "gw", login, "--log-level", "debug")) as there:
            await calls(there, "weather_echo", "inline_echo", "query_echo")
            await all_ill(home, fake)
            await has(there, "SecretInvalid", "RemoteURLInvalid", "SpecInvalid", "CABundleInvalid")
            await told(said, there, home)

            await home.put(key(canary("rotated")))
            await calls(there, "weather_echo")
            home.api.tokens = {"another"}
            await home.api.cut()
            await home.put(gateway(audit=canary("audit")))
            home.api.tokens = {kube}
            await has(there, "GatewayInvalid")
            await told(said, there, home)
            there.process.popen.terminate()
            await asyncio.to_thread(there.process.popen.wait, SECONDS)
            said["the log"] = there.process.log.read_text()
    return said, repr([each.headers for each in fake.heard.all])


async def calls(there: Gateway, *tools: str) -> None:
    async with sessioned(there.url) as caller, asyncio.timeout(SECONDS):
        while not {*tools} <= {*await caller.tools()}:
            await moment()
        for tool in tools:
            await caller.ask("tools/call", named(tool))


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, str], str]:
    return asyncio.run(play(tmp_path_factory.mktemp("cluster")))


@pytest.mark.parametrize("place", PLACES)
def test_no_secret_of_a_namespace_is_told(scene: tuple[dict[str, str], str], place: str) -> None:
    said = scene[0][place]

    assert said
    assert found(said) == set()


def test_every_secret_of_a_namespace_was_on_its_way(scene: tuple[dict[str, str], str]) -> None:
    assert REACHED - found(scene[1]) == set()
