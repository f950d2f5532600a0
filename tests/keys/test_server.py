"""Keys of `server` and the name change where the gateway listens and what it is; journeys show the others."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.edge_cases.front import door
from tests.support.backends import serving
from tests.support.clients import StatelessClient, named, stateless, words
from tests.support.gateways import config, gateway_of
from tests.support.servers import free_port, in_thread, started
from tests.support.shelf import Invocation, Json, text
from tests.support.stateless_backend import StatelessFake
from tests.support.waiting import moment
from vmcp.gateway.status import status

QUESTION = {"message": "Who?", "requestedSchema": {"type": "object", "properties": {}}}
SEAL = {"SEAL": "a key of many words that is long enough"}


@asynccontextmanager
async def launched(tmp_path: Path, **server: Any) -> AsyncIterator[Json]:
    """Run `vmcp serve` and return what it logs of where it listens, once it does."""
    file = tmp_path / "vmcp.yaml"
    file.write_text(json.dumps({"backends": [], "server": server}))
    argv = [sys.executable, "-m", "vmcp", "serve", "-c", str(file)]
    async with in_thread(started("vmcp serve", argv)) as process:
        while not (said := process.log.read_text().splitlines()):
            process.check_alive()
            await moment()
        yield json.loads(said[0])


@pytest.mark.config_key("server.host", "server.port", "server.opsHost", "server.opsPort")
async def test_it_listens_at_the_addresses_that_are_named(tmp_path: Path) -> None:
    port, ops = free_port(), free_port()
    server = {"host": "127.0.0.2", "port": port, "opsHost": "127.0.0.3", "opsPort": ops}

    async with launched(tmp_path, **server) as said, aiohttp.ClientSession() as http:
        health = await http.get(f"http://127.0.0.2:{port}/health")
        status = await http.get(f"http://127.0.0.3:{ops}/status")
        older = await http.get(f"http://127.0.0.2:{port}/sse")

    assert (health.status, status.status, older.status) == (200, 200, 404)
    assert said["url"] == f"http://127.0.0.2:{port}/mcp"


@pytest.mark.config_key("server.limits.connections")
async def test_connections_past_the_limit_are_told_to_come_back(tmp_path: Path) -> None:
    # Those of a proxy are not counted by address, so that the limit of all is the one that is met.
    limits = {"connections": 1, "connectionsPerClient": 1}
    server = {"port": 0, "opsPort": 0, "limits": limits, "trustedProxies": ["127.0.0.1"]}
    async with launched(tmp_path, **server) as said, aiohttp.ClientSession() as http:
        health = said["url"].replace("/mcp", "/health")
        _, held = await asyncio.open_connection("127.0.0.1", int(health.split(":")[2][:-7]))
        status = (await http.get(health)).status
        held.close()

    assert status == 503


@pytest.mark.config_key("server.sse")
async def test_the_older_transport_is_served_where_it_is_wanted(tmp_path: Path) -> None:
    server = {"port": 0, "opsPort": 0, "sse": True}
    async with launched(tmp_path, **server) as said, aiohttp.ClientSession() as http:
        answer = await http.get(said["url"].replace("/mcp", "/sse"))
        assert answer.status == 200


@pytest.mark.config_key("name")
async def test_operators_are_told_the_name() -> None:
    async with door({"backends": [], "name": "corner-shop"}) as gateway:
        assert json.loads(status(gateway.gateway))["name"] == "corner-shop"


async def asks(invocation: Invocation) -> Json:
    """Ask the client, with a state of its own that it wants back."""
    if "inputResponses" in invocation.params:
        return text(invocation.params["requestState"])
    wanted = {"who": {"method": "elicitation/create", "params": QUESTION}}
    return {"resultType": "input_required", "inputRequests": wanted, "requestState": "own"}


async def asked(caller: StatelessClient) -> Json:
    """Return the params that answer what the tool asks."""
    asking = await caller.ask("tools/call", named("asks"))
    answers = {"who": {"action": "accept", "content": {}}}
    return {
        **named("asks"),
        "inputResponses": answers,
        "requestState": asking["requestState"],
    }


@pytest.mark.config_key("server.sealKeyEnv", "server.sealKeyFile")
@pytest.mark.parametrize("key", ["sealKeyEnv", "sealKeyFile", None])
async def test_a_gateway_knows_again_what_another_one_with_its_key_handed_out(
    key: str | None, tmp_path: Path
) -> None:
    (tmp_path / "seal").write_text(SEAL["SEAL"])
    origins = {"sealKeyEnv": "SEAL", "sealKeyFile": str(tmp_path / "seal")}
    fake, form = StatelessFake(asks=asks), {"elicitation": {"form": {}}}
    async with serving(fake):
        settings = config(fake, server={key: origins[key]} if key else {})
        async with (
            gateway_of(settings, environment=SEAL) as first,
            stateless(first.url, form) as caller,
        ):
            answered = await asked(caller)
        async with (
            gateway_of(settings, environment=SEAL) as second,
            stateless(second.url, form) as caller,
        ):
            if key:
                assert words(await caller.ask("tools/call", answered)) == "own"
            else:
                refused = await caller.refused("tools/call", answered)
                assert refused["data"]["reason"] == "RequestStateExpired"
