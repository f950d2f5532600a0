"""The log level is changed from this machine alone, while the gateway runs."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import pytest
from starlette.applications import Starlette

from vmcp.telemetry.level import OUR_LOGGER, level, set_level
from vmcp.transport.incoming.leveling import level_route


@pytest.fixture(autouse=True)
def _levels_as_they_were() -> Iterator[None]:
    loggers = [logging.getLogger(), logging.getLogger(OUR_LOGGER)]
    before = [each.level for each in loggers]
    set_level("info")
    yield
    for each, one in zip(loggers, before, strict=True):
        each.setLevel(one)


async def post(query: str, peer: str = "127.0.0.1") -> tuple[int, str]:
    scope = {
        "type": "http",
        "method": "POST",
        "path": "/loglevel",
        "query_string": query.encode(),
        "headers": [],
        "client": (peer, 1),
    }
    sent: list[Any] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b""}

    async def send(message: Any) -> None:
        sent.append(message)

    await Starlette(routes=[level_route()])(scope, receive, send)
    return sent[0]["status"], sent[1]["body"].decode()


async def test_the_level_is_another_one_at_once(caplog: pytest.LogCaptureFixture) -> None:
    assert await post("level=debug") == (200, "debug\n")

    assert level() == "debug"
    assert logging.getLogger("vmcp.gateway.pool").isEnabledFor(logging.DEBUG)
    assert not logging.getLogger("some.library").isEnabledFor(logging.INFO)
    (line,) = [vars(each) for each in caplog.records]
    assert (line["before"], line["now"]) == ("info", "debug")


@pytest.mark.parametrize("query", ["", "level=loud", "level=DEBUG", "level=debug%0A"])
async def test_a_level_that_there_is_not_changes_nothing(query: str) -> None:
    assert await post(query) == (400, "level must be one of: debug, info, warning, error.\n")
    assert level() == "info"


@pytest.mark.parametrize("peer", ["10.0.0.1", "::2", "nonsense"])
async def test_other_machines_change_nothing(peer: str) -> None:
    status, _ = await post("level=debug", peer)

    assert status == 403
    assert level() == "info"
