"""`vmcp serve --stdio --kubernetes` as its launcher sees it: who asks at once is served, who stops it is heard."""

from __future__ import annotations

import asyncio
import json
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.support.backends import serving
from tests.support.fake_home import fake_home
from tests.support.kube_api import kubeconfig
from tests.support.objects import entry, group, virtual
from tests.support.sessioned_backend import SessionedFake

SECONDS = 20.0
CLIENT = {"capabilities": {}, "clientInfo": {"name": "launcher", "version": "1"}}
ASKED: tuple[dict[str, Any], ...] = (
    {"id": 1, "method": "initialize", "params": {"protocolVersion": "2025-11-25", **CLIENT}},
    {"method": "notifications/initialized"},
    {"id": 2, "method": "tools/list"},
)


@asynccontextmanager
async def launched(login: Path, *words: str) -> AsyncIterator[Process]:
    """Run it for the block."""
    argv = ("serve", "--stdio", "--kubernetes", "--name", "gw", "--namespace", "apps")
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "vmcp", *argv, "--allow-loopback-backends", *words),
        env={"KUBECONFIG": str(login)},
        stdin=PIPE,
        stdout=PIPE,
        stderr=PIPE,
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def answer(process: Process, identity: int) -> dict[str, Any]:
    """Return the response to a request; what comes before it is passed over."""
    assert process.stdout is not None
    async with asyncio.timeout(SECONDS):
        while line := await process.stdout.readline():
            message: dict[str, Any] = json.loads(line)
            if message.get("id") == identity and "method" not in message:
                return message
    raise AssertionError("it has ended")


@pytest.mark.parametrize(
    ("words", "tools"),
    [((), ["weather_echo"]), (("--backend", "weather"), ["echo"])],
    ids=["all", "one"],
)
async def test_a_client_that_asks_at_once_is_served(
    words: tuple[str, ...], tools: list[str], tmp_path: Path
) -> None:
    fake = SessionedFake()
    async with fake_home(tmp_path) as home, serving(fake):
        await home.put(group(), virtual(), entry(fake))
        async with launched(home.kubeconfig, *words) as process:
            assert process.stdin is not None
            for each in ASKED:
                process.stdin.write(json.dumps({"jsonrpc": "2.0", **each}).encode() + b"\n")

            assert "result" in await answer(process, 1)
            listed = (await answer(process, 2))["result"]["tools"]
            assert [each["name"] for each in listed] == tools


@pytest.mark.parametrize("words", [(), ("--backend", "weather")], ids=["all", "one"])
async def test_it_ends_when_it_is_told_to_while_the_api_server_is_away(
    words: tuple[str, ...], tmp_path: Path
) -> None:
    login = kubeconfig(tmp_path / "kubeconfig", "http://127.0.0.1:1", {"token": "good"})
    async with launched(login, *words) as process:
        assert process.stderr is not None
        async with asyncio.timeout(SECONDS):
            while b"serving on standard input" not in await process.stderr.readline():
                assert process.returncode is None
        process.terminate()

        async with asyncio.timeout(10):
            assert await process.wait() == 0
