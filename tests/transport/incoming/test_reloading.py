"""POST /reload: who may ask, and what the answer tells."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from starlette.applications import Starlette

from vmcp.config.errors import ConfigError
from vmcp.config.loading import LoadFailure, Loading
from vmcp.transport.incoming.reloading import reload_route

AT = datetime(2026, 11, 1, tzinfo=UTC)
GOOD = Loading("vmcp", ("vmcp.yaml",), AT, reloads=1, waiting=("server.port",))
WRONG = ConfigError("backends", "Is required.", line=1, column=2)
BROKEN = Loading("vmcp", ("vmcp.yaml",), AT, 1, 1, failure=LoadFailure(AT, "vmcp.yaml", (WRONG,)))


class Config:
    """What is asked to reload."""

    def __init__(self, loading: Loading) -> None:
        self.loading = loading
        self.reloads = 0

    async def reload(self) -> Loading:
        self.reloads += 1
        return self.loading


async def ask(
    config: Config, peer: str | None = "127.0.0.1", method: str = "POST"
) -> tuple[int, Any]:
    """Send one request from a peer; return the status and the body."""
    app = Starlette(routes=[reload_route(config.reload)])
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Any) -> None:
        sent.append(dict(message))

    client = None if peer is None else (peer, 5000)
    scope = {"type": "http", "method": method, "path": "/reload", "headers": [], "client": client}
    await app({**scope, "query_string": b""}, receive, send)
    body = b"".join(each.get("body", b"") for each in sent[1:])
    return sent[0]["status"], json.loads(body) if body.startswith(b"{") else body.decode()


async def test_a_reload_that_went_well_is_told_with_what_is_in_force() -> None:
    status, told = await ask(Config(GOOD))

    assert status == 200
    assert told == {
        "sources": ["vmcp.yaml"],
        "loadedAt": "2026-11-01T00:00:00Z",
        "reloads": 1,
        "failures": 0,
        "restartNeeded": ["server.port"],
        "lastError": None,
    }


async def test_a_broken_config_is_told_with_all_its_errors() -> None:
    status, told = await ask(Config(BROKEN))

    assert status == 422
    assert told["lastError"]["message"] == "vmcp.yaml: 1 error"
    assert told["lastError"]["errors"] == [
        {
            "path": "backends",
            "message": "Is required.",
            "found": None,
            "allowed": None,
            "suggestion": None,
            "line": 1,
            "column": 2,
            "file": None,
        }
    ]


@pytest.mark.parametrize("peer", ["10.0.0.1", "192.168.1.9", "::2", "testclient", "", None])
async def test_nobody_else_than_this_machine_may_ask(peer: str | None) -> None:
    config = Config(GOOD)

    status, told = await ask(config, peer)

    assert (status, told) == (403, "Only this machine itself may ask for a reload.\n")
    assert config.reloads == 0


@pytest.mark.parametrize("peer", ["127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1"])
async def test_every_address_of_the_loopback_is_this_machine(peer: str) -> None:
    assert (await ask(Config(GOOD), peer))[0] == 200


async def test_looking_at_it_reloads_nothing() -> None:
    config = Config(GOOD)

    assert (await ask(config, method="GET"))[0] == 405
    assert config.reloads == 0
