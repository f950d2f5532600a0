from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping

import pytest
import uvloop

from tests.support.stdio_servers.harness import children, open_pipes

# Child processes and their pipes are where the two event loops differ.
ON_BOTH_LOOPS = ("test_process.py",)


def pytest_asyncio_loop_factories(
    config: pytest.Config,  # noqa: ARG001
    item: pytest.Item,
) -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    """Name the event loops that a test runs on."""
    if item.path.name in ON_BOTH_LOOPS:
        return {"asyncio": asyncio.new_event_loop, "uvloop": uvloop.new_event_loop}
    return {"asyncio": asyncio.new_event_loop}


@pytest.fixture
async def nothing_left() -> AsyncIterator[None]:
    """Fail a test that leaves a process or a pipe behind."""
    pipes, processes = open_pipes(), children()

    yield

    assert children() == processes
    assert open_pipes() == pipes
