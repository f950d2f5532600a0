"""A gateway as a process, whose files are changed as people and Kubernetes change them."""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.support.backends import Fake, serving
from tests.support.clients import named, sessioned, stateless, words
from tests.support.servers import Process, free_port, in_thread, started, wait_until_ready
from tests.support.sessioned_backend import SessionedFake
from tests.support.shelf import Invocation, Json, text
from tests.support.volumes import Volume
from tests.support.waiting import moment, until

TOOLS = "notifications/tools/list_changed"
SECRET = "first-canary"


@dataclass(frozen=True, slots=True)
class Running:
    """A gateway that runs: where clients go, its operations port, its process."""

    url: str
    ops_url: str
    process: Process
    http: aiohttp.ClientSession

    async def status(self) -> Json:
        """Return what /status tells of the config."""
        async with self.http.get(f"{self.ops_url}/status") as answer:
            found: Json = (await answer.json())["config"]
            return found

    async def comes_to(self, holds: Callable[[Json], object]) -> Json:
        """Wait until what /status tells of the config fits, and return it."""
        async with asyncio.timeout(10):
            while not holds(found := await self.status()):
                await moment()
        return found

    async def reload(self) -> tuple[int, Json]:
        """Post a reload; return the status and the answer."""
        async with self.http.post(f"{self.ops_url}/reload") as answer:
            return answer.status, await answer.json()


@asynccontextmanager
async def running(file: Path) -> AsyncIterator[Running]:
    """Run a gateway with a config file for the block."""
    port, ops_port = free_port(), free_port()
    ports = ("--port", str(port), "--ops-port", str(ops_port))
    argv = [sys.executable, "-m", "vmcp", "serve", "-c", str(file), *ports]
    async with AsyncExitStack() as stack:
        process = await stack.enter_async_context(in_thread(started("vmcp serve", argv)))
        await asyncio.to_thread(wait_until_ready, process, port)
        http = await stack.enter_async_context(aiohttp.ClientSession())
        urls = f"http://127.0.0.1:{port}/mcp", f"http://127.0.0.1:{ops_port}"
        yield Running(*urls, process, http)


def config(*fakes: Fake, token_file: str | None = None, **more: Any) -> str:
    """Return the text of a config file with fakes as a and b."""
    backends = [{"name": name, "url": fake.url} for name, fake in zip("ab", fakes, strict=False)]
    bearer = {"type": "bearer_token", "bearerToken": {"tokenFile": token_file}}
    auth = {"outgoingAuth": {"default": bearer}} if token_file else {}
    return json.dumps({"backends": backends, **auth, **more})


async def test_an_edited_file_is_told_to_clients_of_both_eras(tmp_path: Path) -> None:
    one, two = SessionedFake(), SessionedFake()
    async with serving(one, two):
        file = tmp_path / "vmcp.yaml"
        file.write_text(config(one))
        async with (
            running(file) as gateway,
            sessioned(gateway.url) as first,
            stateless(gateway.url) as second,
        ):
            streams = [await first.listen(), await second.listen(toolsListChanged=True)]
            assert await first.tools() == ["a_echo"]

            for text_now, shown in (
                (config(one, two), ["a_echo", "b_echo"]),
                (config(two), ["a_echo"]),
                (config(two, aggregation={"excludeAllTools": True}), []),
            ):
                fresh = file.with_suffix(".new")
                fresh.write_text(text_now)
                fresh.rename(file)
                for stream in streams:
                    await stream.heard(TOOLS)
                assert await second.tools() == await first.tools()
                if shown != await first.tools():
                    # A backend that came is listed after the one that left.
                    for stream in streams:
                        await stream.heard(TOOLS)
                assert await first.tools() == shown


async def test_a_swapped_secret_is_used_from_the_next_call_on_and_no_call_is_lost(
    tmp_path: Path,
) -> None:
    begun, go_on = asyncio.Event(), asyncio.Event()

    async def slow(_invocation: Invocation) -> Json:
        begun.set()
        await go_on.wait()
        return text("done")

    fake = SessionedFake(slow=slow)
    async with serving(fake):
        volume = Volume(tmp_path / "secret", token=SECRET)
        file = tmp_path / "vmcp.yaml"
        file.write_text(config(fake, token_file="secret/token"))
        async with running(file) as gateway, sessioned(gateway.url) as caller:
            call = caller.call("a_slow")
            await begun.wait()

            volume.publish(token="second-canary")
            await gateway.comes_to(lambda found: found["reloads"] == 1)
            later = await caller.ask("tools/call", named("a_echo"))
            go_on.set()

            assert words((await (await call).end())["result"]) == "done"
            assert words(later) == "{}"
            sent = [heard.headers["authorization"] for heard in fake.asked("tools/call")]
            assert sent == [f"Bearer {SECRET}", "Bearer second-canary"]
            assert "canary" not in gateway.process.written()


async def test_a_broken_config_is_told_and_what_was_in_force_stays(tmp_path: Path) -> None:
    fake = SessionedFake()
    async with serving(fake):
        volume = Volume(tmp_path / "config", config=config(fake))
        async with (
            running(volume.path / "config") as gateway,
            sessioned(gateway.url) as caller,
        ):
            assert (await gateway.status())["lastError"] is None

            volume.publish(config="backends: [{name: a, headerValue: first-canary}]")
            found = await gateway.comes_to(lambda found: found["lastError"])
            assert (found["reloads"], found["failures"]) == (0, 1)
            assert {error["path"] for error in found["lastError"]["errors"]} == {
                "backends[0]",
                "backends[0].headerValue",
            }
            assert await caller.tools() == ["a_echo"]
            status, told = await gateway.reload()
            assert (status, told["failures"]) == (422, 2)

            volume.publish(config=config(fake, name="mended"))
            found = await gateway.comes_to(lambda found: not found["lastError"])
            assert found["reloads"] == 1
            assert await caller.tools() == ["a_echo"]
            written = gateway.process.written()
    assert written.count("the config is broken; the one before stays in force") == 1
    assert "canary" not in written


async def test_signals_and_posts_reload_too(tmp_path: Path) -> None:
    fake = SessionedFake()
    async with serving(fake):
        file = tmp_path / "vmcp.yaml"
        file.write_text(config(fake))
        async with running(file) as gateway:
            gateway.process.popen.send_signal(signal.SIGHUP)
            await gateway.comes_to(lambda found: found["reloads"] == 1)

            assert (await gateway.reload())[0] == 200
            assert (await gateway.status())["reloads"] == 2


async def test_what_cannot_change_is_a_problem_and_options_stand_in_for_the_file(
    tmp_path: Path,
) -> None:
    fake = SessionedFake()
    async with serving(fake):
        file = tmp_path / "vmcp.yaml"
        file.write_text(config(fake, server={"port": 5, "opsPort": 6}))
        async with running(file) as gateway:
            file.write_text(config(fake, server={"port": 7, "opsPort": 8, "sse": True}))

            found = await gateway.comes_to(lambda found: found["reloads"] == 1)

            assert found["restartNeeded"] == ["server.sse"]
            async with gateway.http.get(f"{gateway.ops_url}/status") as answer:
                problems = (await answer.json())["problems"]
            assert [(one["object"], one["reason"]) for one in problems] == [
                ("Config/server.sse", "RestartNeeded")
            ]


@pytest.mark.parametrize("origin", ["https://elsewhere.test", "null"])
async def test_no_website_makes_a_gateway_reload(tmp_path: Path, origin: str) -> None:
    file = tmp_path / "vmcp.yaml"
    file.write_text("backends: []")
    async with running(file) as gateway:
        url = f"{gateway.ops_url}/reload"
        async with gateway.http.post(url, headers={"Origin": origin}) as answer:
            assert answer.status == 403
        assert (await gateway.status())["reloads"] == 0


async def test_a_command_that_changes_is_started_anew_and_the_old_one_ends(tmp_path: Path) -> None:
    file = tmp_path / "vmcp.yaml"

    def write(word: str) -> None:
        argv = [str(Path(__file__).parents[1] / "support" / "stdio_servers" / "server.py")]
        stdio = {"command": sys.executable, "args": argv, "env": {"WORD": word}}
        file.write_text(json.dumps({"backends": [{"name": "a", "stdio": stdio}]}))

    write("one")
    async with running(file) as gateway, sessioned(gateway.url) as caller:
        await until(lambda: len(_children(gateway)) == 1)
        (before,) = _children(gateway)
        shown = await caller.tools()
        assert shown

        write("two")

        await until(lambda: len(_children(gateway)) == 1 and before not in _children(gateway))
        assert await caller.tools() == shown


def _children(gateway: Running) -> list[str]:
    pid = gateway.process.popen.pid
    return Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
