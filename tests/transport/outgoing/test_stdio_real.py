from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from tests.support.stdio_servers.harness import (
    BASE,
    SECONDS,
    KeptReply,
    backend,
    call,
    carry,
    sessioned_client,
    stateless_client,
)
from vmcp.model.backend import StdioEndpoint
from vmcp.model.document import Document
from vmcp.model.inventory import Era
from vmcp.protocol.call import Done
from vmcp.transport.outgoing import process, stdio_sessioned
from vmcp.transport.outgoing.channel import Channel
from vmcp.transport.outgoing.identity import Ids
from vmcp.transport.outgoing.levels import Levels
from vmcp.transport.outgoing.speech import Speech
from vmcp.transport.outgoing.stdio import StdioConnector

pytestmark = pytest.mark.usefixtures("nothing_left")

TIME = StdioEndpoint(sys.executable, ("-m", "mcp_server_time", "--local-timezone", "UTC"))


@asynccontextmanager
async def stateless() -> AsyncIterator[Speech]:
    async with StdioConnector(backend(TIME), TIME, BASE).connect() as speech:
        yield speech


@asynccontextmanager
async def sessioned() -> AsyncIterator[Speech]:
    """Open the session as for a server whose era is known."""
    channel, known = Channel("time", Ids()), backend(TIME)
    async with process.running("time", TIME, BASE, channel) as channel.pipe:
        yield await stdio_sessioned.initialize(known, channel, Levels(), SECONDS)


@pytest.mark.parametrize("opened", [stateless, sessioned])
async def test_the_time_server_is_listed_and_called_in_both_eras(opened) -> None:
    async with opened() as speech:
        listed = json.loads((await speech.ask("tools/list", Document(()))).join())
        done = await call(speech, "get_current_time", timezone="Asia/Tokyo")

    assert [tool["name"] for tool in listed["tools"]] == ["get_current_time", "convert_time"]
    assert isinstance(done, Done)
    assert json.loads(done.payload)["structuredContent"]["timezone"] == "Asia/Tokyo"


@pytest.mark.parametrize("opened", [stateless, sessioned])
@pytest.mark.parametrize("client", [sessioned_client, stateless_client])
async def test_clients_of_either_era_get_the_refusals_of_the_time_server(opened, client) -> None:
    params = Document(((b'"name"', b'"no_such_tool"'), (b'"arguments"', b"{}")))
    async with opened() as speech:
        done = await carry(speech, params, client(), KeptReply())

    assert isinstance(done, Done)
    assert done.is_error
    assert json.loads(done.payload)["code"] == -32602


async def test_the_time_server_is_recognised_as_stateless_and_heard_without_subscriptions() -> None:
    ready = asyncio.Event()
    async with stateless() as speech, asyncio.timeout(SECONDS), asyncio.TaskGroup() as tasks:
        listening = tasks.create_task(speech.listen(lambda _: None, ready.set))
        await ready.wait()
        listening.cancel()

        assert speech.peer.era is Era.STATELESS
