"""A lost backend is tried again at a calm pace, and not before the time that it names."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from itertools import pairwise

import pytest

from tests.support.virtual_time import in_virtual_time
from vmcp.model.backend import Backend, HttpEndpoint
from vmcp.model.inventory import Inventory
from vmcp.model.keys import ObjectKey
from vmcp.protocol.failures import BackendFailed
from vmcp.transport.outgoing.errands import Errands
from vmcp.transport.outgoing.speech import EraContradicted, Speech
from vmcp.transport.outgoing.supervised import SupervisedBackend

KEY = ObjectKey("Backend", "a")
BACKEND = Backend(KEY, "a", HttpEndpoint("http://127.0.0.1:1/mcp"), timeout_seconds=30)


class Failures:
    """Takes the findings of a backend that never gets as far as its lists."""

    def __init__(self) -> None:
        self.reasons: list[str] = []

    def listed(self, inventory: Inventory) -> None:
        raise AssertionError(inventory)

    def failed(self, backend: ObjectKey, reason: str, message: str) -> None:
        assert backend == KEY
        assert "'a'" in message
        self.reasons.append(reason)

    def resource_updated(self, backend: ObjectKey, uri: str, params: bytes) -> None:
        raise AssertionError((backend, uri, params))


async def waits(fault: Callable[[], Exception], tries: int) -> tuple[Sequence[float], list[str]]:
    """Let every attempt fail; return the waits between so many tries, and the reasons that were told."""
    loop, times = asyncio.get_running_loop(), list[float]()
    enough = asyncio.Event()

    @asynccontextmanager
    async def connect() -> AsyncIterator[Speech]:
        times.append(loop.time())
        if len(times) > tries:
            enough.set()
        raise fault()
        yield

    findings = Failures()
    client = SupervisedBackend(BACKEND, connect, findings, Errands())
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(client.run())
        await enough.wait()
        running.cancel()
    return [b - a for a, b in pairwise(times)], findings.reasons


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        (lambda: BackendFailed("a", "Unreachable", "it is not there."), "Unreachable"),
        (lambda: EraContradicted("it speaks neither"), "NotMcp"),
        (TimeoutError, "TimedOut"),
    ],
)
@in_virtual_time
async def test_the_waits_double_from_one_second_to_sixty(
    fault: Callable[[], Exception], reason: str
) -> None:
    found, reasons = await waits(fault, 9)

    assert found == pytest.approx([1, 2, 4, 8, 16, 32, 60, 60, 60], rel=0.1)
    assert set(reasons) == {reason}


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        pytest.param(5, [5, 5, 5, 8], id="longer than the first waits"),
        pytest.param(0, [1, 2, 4, 8], id="at once"),
        pytest.param(3600, [60, 60, 60, 60], id="longer than the longest wait"),
    ],
)
@in_virtual_time
async def test_a_busy_backend_is_left_alone_for_as_long_as_it_says(
    asked: int, expected: list[float]
) -> None:
    def fault() -> Exception:
        return BackendFailed("a", "Overloaded", "it is busy.", retryAfterSeconds=asked)

    found, _ = await waits(fault, 4)

    assert found == pytest.approx(expected, rel=0.11)
    assert all(wait >= min(asked, 60) for wait in found)
