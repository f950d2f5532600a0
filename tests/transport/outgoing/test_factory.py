from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from tests.support.stdio_servers.harness import (
    BASE,
    SECONDS,
    SERVER,
    KeptFindings,
    KeptReply,
    backend,
    endpoint,
    sessioned_client,
    stateless_client,
    value,
)
from vmcp.gateway.ports import BackendClient
from vmcp.model.backend import HttpEndpoint, StdioEndpoint
from vmcp.model.document import Document
from vmcp.model.inventory import Era
from vmcp.net.client import HttpClient
from vmcp.protocol.call import Call
from vmcp.protocol.document import split
from vmcp.protocol.failures import BackendFailed
from vmcp.transport.outgoing import compose
from vmcp.transport.outgoing.factory import make

pytestmark = pytest.mark.usefixtures("nothing_left")


@asynccontextmanager
async def kept(at: StdioEndpoint, findings: KeptFindings) -> AsyncIterator[BackendClient]:
    """Have a backend supervised for the block."""
    client = make(backend(at), HttpClient(), findings, BASE)
    async with asyncio.timeout(SECONDS * 2), asyncio.TaskGroup() as tasks:
        run = tasks.create_task(client.run())
        yield client
        run.cancel()


async def called(client: BackendClient, era: Era, raw: bytes) -> object:
    params = split(raw)
    if era is Era.SESSIONED:
        made = Call(sessioned_client(), "tools/call", params)
    else:
        meta = Document(compose.stateless_meta(b"{}", None))
        params = params.with_member(b'"_meta"', meta.join())
        made = Call(stateless_client(), "tools/call", params, meta)
    reply = KeptReply()
    async with reply.deadline.start(SECONDS):
        return await client.call(made, reply)


@pytest.mark.parametrize("era", ["sessioned", "stateless"])
async def test_a_backend_over_stdio_is_opened_listed_and_called(era: str) -> None:
    findings = KeptFindings()
    async with kept(endpoint("--era", era), findings) as client:
        inventory = await findings.inventories.get()
        assert inventory.peer.era.value == era
        assert "echo" in [tool.name for tool in inventory.tools]

        done = await called(client, inventory.peer.era, b'{"name":"echo","arguments":{"a":1}}')
        assert value(done) == {"a": 1}


async def test_a_process_that_is_lost_is_started_again_and_its_subscriptions_with_it() -> None:
    findings = KeptFindings()
    async with kept(endpoint("--era", "sessioned"), findings) as client:
        await findings.inventories.get()
        await client.subscribe("file:///a")

        with pytest.raises(BackendFailed) as failed:
            await called(client, Era.SESSIONED, b'{"name":"leave","arguments":{"status":4}}')
        reason, message = await findings.failures.get()
        await findings.inventories.get()
        seen = value(await called(client, Era.SESSIONED, b'{"name":"seen"}'))

    assert failed.value.reason == "ConnectionLost"
    assert reason == "ConnectionLost"
    assert "exited with status 4" in message
    assert "resources/subscribe" in [one.get("method") for one in seen]


async def test_a_command_that_exits_at_once_is_tried_at_a_calm_pace() -> None:
    findings = KeptFindings()
    loop = asyncio.get_running_loop()
    crashing = StdioEndpoint(sys.executable, ("-S", "-c", "import sys; sys.exit(9)"))
    began = loop.time()
    async with kept(crashing, findings):
        failures = [await findings.failures.get() for _ in range(3)]
        took = loop.time() - began

    assert all(reason == "ConnectionLost" for reason, _ in failures)
    assert all("status 9" in message for _, message in failures)
    # One second before the second attempt and two before the third, each give or take a tenth.
    assert took > 2.6
    assert findings.inventories.empty()


async def test_a_command_that_does_not_exist_is_named() -> None:
    findings = KeptFindings()
    async with kept(StdioEndpoint("no-such-command", ("s3cret",)), findings):
        reason, message = await findings.failures.get()

    assert reason == "Unreachable"
    assert message == "Backend 'fake': the command 'no-such-command' was not found in PATH."


async def test_a_changed_list_is_asked_for_again() -> None:
    findings = KeptFindings()
    async with kept(endpoint("--era", "stateless"), findings) as client:
        await findings.inventories.get()
        await called(client, Era.STATELESS, b'{"name":"change","arguments":{"what":"tools"}}')

        await findings.inventories.get()


@pytest.mark.parametrize("era", ["sessioned", "stateless"])
async def test_the_update_of_a_resource_is_reported(era: str) -> None:
    findings = KeptFindings()
    async with kept(endpoint("--era", era), findings) as client:
        await findings.inventories.get()
        await client.subscribe("file:///a")
        raw = b'{"name":"change","arguments":{"what":"resource","uri":"file:///a"}}'
        await called(client, Era(era), raw)

        assert await findings.updates.get() == "file:///a"


async def test_a_server_that_listens_to_nothing_is_replaced_at_once_when_it_is_lost() -> None:
    findings = KeptFindings()
    async with kept(endpoint("--era", "stateless", "--no-listen"), findings) as client:
        await findings.inventories.get()
        with pytest.raises(BackendFailed):
            await called(client, Era.STATELESS, b'{"name":"leave"}')

        assert (await findings.failures.get())[0] == "ConnectionLost"


async def test_a_backend_over_http_gets_the_client_for_that() -> None:
    findings = KeptFindings()
    http = HttpClient()
    at = HttpEndpoint("http://127.0.0.1:9/mcp")
    client = make(backend(at), http, findings, BASE)
    async with asyncio.timeout(SECONDS), asyncio.TaskGroup() as tasks:
        run = tasks.create_task(client.run())
        reason, _ = await findings.failures.get()
        run.cancel()
    await http.close()

    assert reason == "Unreachable"
    assert SERVER not in str(client.backend)
