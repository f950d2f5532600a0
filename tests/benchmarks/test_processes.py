"""Processes are waited for, stopped, and their failures shown."""

from __future__ import annotations

import os
import sys
from functools import partial
from pathlib import Path

import pytest

from benchmarks.processes import (
    ProcessFailed,
    accepts,
    cpu_seconds,
    free_port,
    is_ok,
    output_of,
    python,
    running,
)


async def never() -> bool:
    return False


async def test_a_process_runs_from_when_it_is_ready_until_the_block_ends() -> None:
    port = free_port()
    command = python("benchmarks.echo", "--port", port)

    async with running(command, is_ready=partial(accepts, port)):
        assert await is_ok(f"http://127.0.0.1:{port}/stats")

    assert not await accepts(port)


async def test_a_process_that_ends_at_once_shows_what_it_wrote() -> None:
    command = (sys.executable, "-c", "raise SystemExit('no such port')")

    with pytest.raises(ProcessFailed, match="no such port"):
        async with running(command, is_ready=never):
            pass


async def test_the_output_of_a_process_that_fails_is_not_taken() -> None:
    with pytest.raises(ProcessFailed, match="the following arguments are required"):
        await output_of(python("benchmarks.load"), seconds=30)


async def test_a_process_that_does_not_end_is_stopped() -> None:
    endless = (sys.executable, "-c", "import signal; signal.pause()")

    with pytest.raises(ProcessFailed, match="did not end within 0 s"):
        await output_of(endless, seconds=0.2)


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs the /proc of Linux")
def test_the_cpu_time_of_a_process_is_what_the_system_counts() -> None:
    spent = cpu_seconds(os.getpid())

    times = os.times()
    assert spent == pytest.approx(times.user + times.system, abs=0.1)


def test_the_cpu_time_of_no_process_is_unknown() -> None:
    assert cpu_seconds(2**22 + 1) is None
