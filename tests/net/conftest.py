from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping

import pytest
import uvloop

from tests.net.raw import sockets
from tests.net.skipping import SkippingLoop
from tests.support.waiting import until
from vmcp.net.client import HttpClient

# Only the loop of asyncio lets a test turn its time.
TURNS_TIME = ("test_idle.py",)


def pytest_asyncio_loop_factories(
    config: pytest.Config,  # noqa: ARG001
    item: pytest.Item,
) -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    """Name the event loops that a test runs on."""
    if item.path.name in TURNS_TIME:
        return {"skipping": SkippingLoop}
    return {"asyncio": asyncio.new_event_loop, "uvloop": uvloop.new_event_loop}


@pytest.fixture(autouse=True)
async def nothing_left() -> AsyncIterator[None]:
    """Fail a test that leaves a task or a socket behind."""
    before = sockets()

    yield

    # What is left stays; what the system still tears down on a busy machine does not.
    await until(lambda: sockets() <= before, 20.0)
    assert asyncio.all_tasks() == {asyncio.current_task()}


@pytest.fixture
async def client(nothing_left: None) -> AsyncIterator[HttpClient]:  # noqa: ARG001
    made = HttpClient("vmcp-test")
    yield made
    await made.close()
