"""A gateway whose machine has run out of something: room for its log, files to open, time to run."""

from __future__ import annotations

import json
import os
import resource
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import IO

import aiohttp
import pytest
import yaml

from tests.journeys.pairs import client, in_both_fronts
from tests.support.backends import serving
from tests.support.clients import Client, named, words
from tests.support.gateways import config
from tests.support.servers import Gateway, in_thread, run_gateway
from tests.support.sessioned_backend import SessionedFake
from tests.support.waiting import until

FEW_FILES = 40
LATE_SECONDS = 20.0


@asynccontextmanager
async def gateway(fake: SessionedFake, stderr: IO[bytes] | None = None) -> AsyncIterator[Gateway]:
    """Run `vmcp serve` that logs all it can."""
    async with serving(fake):
        settings = yaml.safe_dump(config(fake, operational={"logLevel": "debug"}))
        async with in_thread(run_gateway(settings, stderr=stderr)) as running:
            yield running


async def says(caller: Client, mark: str) -> None:
    """Call, and check the words that come back."""
    params = {**named("echo"), "arguments": {"text": mark}}
    assert json.loads(words(await caller.ask("tools/call", params))) == {"text": mark}


def _full() -> IO[bytes]:
    return Path("/dev/full").open("wb")


@in_both_fronts
async def test_a_full_disk_under_the_log_stops_nobody(front: str) -> None:
    with _full() as full:
        async with gateway(SessionedFake(), full) as running:
            async with client(front, running.url) as caller:
                for number in range(50):
                    await says(caller, str(number))

            process = running.process.popen
            process.send_signal(signal.SIGTERM)
            await until(lambda: process.poll() is not None, LATE_SECONDS)

            assert process.returncode == 0


@in_both_fronts
async def test_a_log_that_nobody_reads_stops_nobody(front: str) -> None:
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb"), os.fdopen(writing, "wb") as unread:
        async with (
            gateway(SessionedFake(), unread) as running,
            client(front, running.url) as caller,
        ):
            for number in range(300):
                # Each of them is logged as one that the backend has failed.
                await caller.refused("tools/call", named("no such tool"))
                await says(caller, str(number))


@in_both_fronts
async def test_without_files_to_open_it_waits_and_goes_on_once_there_are_some(front: str) -> None:
    async with gateway(SessionedFake()) as running:
        pid = running.process.pid
        async with client(front, running.url) as caller:
            await says(caller, "before")
            before = resource.prlimit(pid, resource.RLIMIT_NOFILE)
            resource.prlimit(pid, resource.RLIMIT_NOFILE, (_open_files(pid) + FEW_FILES, before[1]))
            crowd = [await _crowd(running.url) for _ in range(2 * FEW_FILES)]

            await says(caller, "in the crowd")
            assert running.process.popen.poll() is None
            for each in crowd:
                await each.close()
            await _served_again(front, running.url)

            await says(caller, "after it")


def _open_files(pid: int) -> int:
    return len(list(Path(f"/proc/{pid}/fd").iterdir()))


async def _crowd(url: str) -> aiohttp.ClientSession:
    """Return a client that has connected, be it to be served or not."""
    session = aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=0.2))
    try:
        async with session.get(url.replace("/mcp", "/health")):
            pass
    except (aiohttp.ClientError, TimeoutError):
        pass
    return session


async def _served_again(front: str, url: str) -> None:
    async with client(front, url) as fresh:
        await says(fresh, "fresh")


@pytest.mark.parametrize("front", ["sessioned"])
async def test_a_gateway_that_was_stopped_goes_on_where_it_was(front: str) -> None:
    async with gateway(SessionedFake()) as running, client(front, running.url) as caller:
        pid = running.process.pid
        os.kill(pid, signal.SIGSTOP)
        call = caller.call("echo")
        await until(lambda: _state(pid) == "T")
        os.kill(pid, signal.SIGCONT)

        assert words((await (await call).end())["result"]) == "{}"


def _state(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0]
