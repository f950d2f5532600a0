"""A `vmcp serve` whose every input holds secrets, through all that can go wrong, and all that it then says."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import aiohttp

from tests.net.certificates import identity
from tests.secrets.canaries import canary
from tests.secrets.machines import URI, behaving, troubled
from tests.secrets.settings import ADA, AUTHORITY, BOB, BROKEN, DESKTOP, ENVIRONMENT, written
from tests.support.backends import serving
from tests.support.clients import Answer, Client, Way, named, sessioned, stateless
from tests.support.collector import Collector, collecting
from tests.support.proxy import proxying
from tests.support.scripted import Json, Scripted, scripted
from tests.support.servers import free_port, in_thread, started, wait_until_ready

FORM = {"elicitation": {"form": {}}}
_PAGES = (
    "status",
    "status/live",
    *(f"status/catalog?show={show}" for show in ("listed", "left-out", "problems")),
    "metrics",
    *(f"explain?name={name}" for name in ("web_says", "new_says", "says", "nothing")),
)
_CLIENT = {
    "Cookie": f"session={canary('cookie')}",
    "X-Other": canary("client-header"),
    "X-Tenant": canary("tenant"),
    "Referer": f"http://localhost/?t={canary('referer')}",
    "User-Agent": canary("agent"),
}


@dataclass
class Scene:
    """What a gateway said, by the place where it said it; and what reached others, so that it is known to have."""

    said: dict[str, str] = field(default_factory=dict)
    heard: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Stage:
    """A gateway that runs in the scene."""

    file: Path
    url: str
    ops_url: str
    env: Mapping[str, str]
    log: Path


@asynccontextmanager
async def staged(folder: Path, scene: Scene) -> AsyncIterator[Stage]:
    """Run all backends and the gateway; keep what is heard of it."""
    fakes, bad = behaving(), troubled()
    mutual, desk = Scripted(), Scripted()
    async with AsyncExitStack() as stack:
        collector = stack.enter_context(collecting())
        proxy = await stack.enter_async_context(
            proxying(b"HTTP/1.1 407 Auth\r\nContent-Length: 0\r\n\r\n")
        )
        await stack.enter_async_context(serving(*fakes))
        await stack.enter_async_context(scripted(*bad.values(), desk))
        tls = identity("127.0.0.1", signer=AUTHORITY)
        await stack.enter_async_context(mutual.serving(tls=tls.server(AUTHORITY.pem)))
        urls = {
            "web": fakes[0].url,
            "new": fakes[1].url,
            **{name: each.url for name, each in bad.items()},
            "mutual": mutual.url.replace("http:", "https:"),
            "proxied": "http://backend.test/mcp",
            "desk": desk.url,
        }
        file = written(folder, urls, collector.url)
        env = {
            **ENVIRONMENT,
            "HTTP_PROXY": f"http://me:{canary('proxy')}@127.0.0.1:{proxy.port}",
            "NO_PROXY": "127.0.0.1",
        }
        yield await stack.enter_async_context(_running(file, env, scene, collector))
    scene.heard += [repr(each) for fake in fakes for each in fake.heard.all]
    scene.heard += [repr(each) for one in (*bad.values(), desk) for each in one.heard.all]
    scene.heard += [head.decode() for head in proxy.heads]


@asynccontextmanager
async def _running(
    file: Path, env: Mapping[str, str], scene: Scene, collector: Collector
) -> AsyncIterator[Stage]:
    port, ops = free_port(), free_port()
    desktop = str(file.parent / DESKTOP)
    words = (
        "serve",
        "-c",
        str(file),
        "--mcp-json",
        desktop,
        "--port",
        str(port),
        "--ops-port",
        str(ops),
    )
    argv = [sys.executable, "-m", "vmcp", *words]
    async with in_thread(started("vmcp serve", argv, env=env)) as process:
        await asyncio.to_thread(wait_until_ready, process, port)
        urls = f"http://127.0.0.1:{port}/mcp", f"http://127.0.0.1:{ops}"
        yield Stage(file, *urls, env, process.log)
        process.popen.terminate()
        await asyncio.to_thread(process.popen.wait, 20)
        scene.said["the log"] = process.log.read_text()
    sent = [body for _, _, body in collector.requests]
    scene.said["spans and metrics"] = "\n".join(each.decode("latin-1") for each in sent)
    scene.heard += [repr(each) for each in collector.requests]


async def play(folder: Path, scene: Scene) -> None:
    """Let clients do all that they can, then look at everything that the gateway says of itself."""
    async with staged(folder, scene) as stage:
        for open_ in (sessioned, stateless):
            way = Way({**_CLIENT, "Authorization": f"Bearer {ADA}"})
            url = f"{stage.url}?token={canary('query')}"
            async with open_(url, FORM, way=way) as caller:
                await _used(caller, scene)
        await _abused(stage)
        scene.said["answers to others"] = await _as_another(stage)
        scene.said["answers to reloads"] = await _reloaded(stage)
        async with aiohttp.ClientSession() as http:
            for page in _PAGES:
                answer = await http.get(f"{stage.ops_url}/{page}")
                assert answer.status == 200, page
                scene.said[page] = await answer.text()
        await _commands(stage, scene)


async def _used(caller: Client, scene: Scene) -> None:
    """Call everything that there is at the backends that behave."""
    told = ("web_says", "web_errs", "web_faults", "new_says", "new_errs", "new_faults")
    for tool in (*told, "child_about", "desk-child_about", "desk_echo"):
        params: Json = {"name": tool, "arguments": {"text": canary("argument")}}
        params["_meta"] = {"progressToken": canary("progress-token")}
        await _ended(await caller.request("tools/call", params), scene)
    for tool in ("web_asks", "new_asks"):
        await _asked(caller, tool, scene)
    for method, params in (
        ("resources/read", {"uri": URI}),
        ("resources/read", {"uri": f"note://gone?token={canary('unknown-uri')}"}),
        ("prompts/get", {"name": "gone", "arguments": {"text": canary("prompt-argument")}}),
        ("completion/complete", {"ref": {}, "argument": {"value": canary("completed")}}),
        (f"custom/{canary('method')}", {"text": canary("unknown-param")}),
    ):
        await _ended(await caller.request(method, params), scene)


async def _ended(answer: Answer, scene: Scene) -> Json | None:
    """Read an answer to its end; what the caller itself is told is no leak."""
    ended = None
    while (said := await answer.next()) is not None:
        ended = said
        if "method" not in said:
            break
    scene.heard.append(answer.raw.decode())
    return ended


async def _asked(caller: Client, tool: str, scene: Scene) -> None:
    """Answer what a tool asks, by a question in between or by a new call."""
    params = named(tool)
    answer = await caller.request("tools/call", params)
    said = await answer.next()
    assert said is not None, tool
    given = {"action": "accept", "content": {"secret": canary("elicited")}}
    if "method" in said:
        assert hasattr(caller, "answer")
        await caller.answer(said["id"], result=given)
        await _ended(answer, scene)
        return
    scene.heard.append(answer.raw.decode())
    more = {
        "inputResponses": dict.fromkeys(said["result"]["inputRequests"], given),
        "requestState": said["result"]["requestState"],
    }
    await _ended(await caller.request("tools/call", {**params, **more}), scene)


async def _abused(stage: Stage) -> None:
    """Send what must be refused, with secrets in it."""
    key = {"Authorization": f"Bearer {ADA}", "Content-Type": "application/json"}
    secret = canary("abuse")
    requests: list[tuple[str, str, dict[str, str], bytes | None]] = [
        ("POST", "", {"Authorization": f"Bearer {canary('wrong-key')}"}, b"{}"),
        ("POST", "", {"X-API-Key": canary("wrong-key")}, b"{}"),
        ("POST", "", {**key, "Host": f"{secret}.test"}, b"{}"),
        ("POST", "", {**key, "Origin": f"http://{secret}.test"}, b"{}"),
        (
            "POST",
            "",
            {**key, "Mcp-Session-Id": canary("session")},
            b'{"jsonrpc":"2.0","id":1,"method":"ping"}',
        ),
        ("GET", "", {**key, "Mcp-Session-Id": secret, "Last-Event-ID": secret}, None),
        ("DELETE", "", {**key, "Mcp-Session-Id": secret}, None),
        ("POST", "", key, f'{{"jsonrpc":"2.0","{secret}'.encode()),
        ("POST", "", {**key, "Content-Type": f"text/{secret}"}, b"{}"),
        ("POST", "", {**key, "MCP-Protocol-Version": secret}, b"{}"),
        ("POST", f"/{secret}", key, b"{}"),
        ("POST", f"/v/{secret}", key, b"{}"),
        ("PUT", f"?token={secret}", key, None),
        ("GET", f"/../{secret}", key, None),
        ("GET", f"/../messages?sessionId={secret}", key, None),
        ("POST", f"/../messages?sessionId={secret}", key, b"{}"),
    ]
    async with aiohttp.ClientSession() as http:
        for method, path, headers, body in requests:
            url = f"{stage.url}{path}"
            await (await http.request(method, url, headers=headers, data=body)).read()
    _, _, place = stage.url.partition("//")
    reader, writer = await asyncio.open_connection("127.0.0.1", int(place.split(":")[1][:-4]))
    writer.write(f"NOT HTTP {secret}\r\n\r\n".encode())
    with suppress(ConnectionError):
        await reader.read()
    writer.close()


async def _as_another(stage: Stage) -> str:
    """Call each backend in trouble as somebody who knows no secret, and return all that is said."""
    said: list[str] = []
    for open_ in (sessioned, stateless):
        async with open_(stage.url, way=Way({"X-API-Key": BOB})) as caller:
            for name in (*troubled(), "mutual", "proxied", "crashes"):
                answer = await caller.request("tools/call", named(f"{name}_echo"))
                with suppress(AssertionError):
                    await answer.end()
                said.append(f"{name}: {answer.status} {answer.headers} {answer.raw.decode()}")
            for method in ("tools/list", "prompts/list", "resources/templates/list"):
                answer = await caller.request(method)
                await answer.end()
                said.append(answer.raw.decode())
    return "\n".join(said)


async def _reloaded(stage: Stage) -> str:
    """Break the config in each way, reload, and return what was said."""
    whole, said = stage.file.read_text(), []
    async with aiohttp.ClientSession() as http:
        for place, text in BROKEN.items():
            stage.file.write_text(text.replace("%s", canary(f"broken-{place}")))
            answer = await http.post(f"{stage.ops_url}/reload")
            assert answer.status == 422, place
            said += [
                await answer.text(),
                await (await http.get(f"{stage.ops_url}/status")).text(),
                await _ran(stage, "validate", "-c", str(stage.file)),
            ]
        stage.file.write_text(whole)
        assert (await http.post(f"{stage.ops_url}/reload")).status == 200
    return "\n".join(said)


async def _ran(stage: Stage, *words: str) -> str:
    """Run a command in the environment of the gateway and return what it writes."""
    argv = (sys.executable, "-m", "vmcp", *words)
    async with in_thread(started("vmcp", argv, env=stage.env)) as process:
        await asyncio.to_thread(process.popen.wait, 60)
        return process.log.read_text()


COMMANDS: Mapping[str, tuple[str, ...]] = {
    "vmcp validate --live": (
        "validate",
        "--live",
        "--timeout",
        "4",
        "-c",
        "{file}",
        "--mcp-json",
        "{desktop}",
    ),
    "vmcp doctor": ("doctor", "--timeout", "4", "-c", "{file}", "--mcp-json", "{desktop}"),
    "vmcp explain -c": (
        "explain",
        "web_says",
        "--timeout",
        "4",
        "-c",
        "{file}",
        "--mcp-json",
        "{desktop}",
    ),
    "vmcp status": ("status", "--ops-url", "{ops}"),
    "vmcp explain": ("explain", "web_says", "--ops-url", "{ops}"),
    "vmcp reload": ("reload", "--ops-url", "{ops}"),
    **{
        f"vmcp {command}": (command, *words, "--url", url, "-H", f"X-API-Key: {canary('cli-key')}")
        for command, words in (("tools", ()), ("call", ("web_says",)))
        for url in (f"http://me:{canary('userinfo')}@{{host}}/mcp/none?token={canary('cli-url')}",)
    },
}


async def _commands(stage: Stage, scene: Scene) -> None:
    for name, words in COMMANDS.items():
        filled = [
            each.format(
                file=stage.file,
                desktop=stage.file.parent / DESKTOP,
                ops=stage.ops_url,
                host=urlsplit(stage.url).netloc,
            )
            for each in words
        ]
        scene.said[name] = await _ran(stage, *filled)


PLACES = (
    "the log",
    "spans and metrics",
    "answers to others",
    "answers to reloads",
    *_PAGES,
    *COMMANDS,
)
