"""A host name that does not resolve, and does so later."""

from __future__ import annotations

import socket
from collections.abc import Sequence

import pytest

from tests.support.clients import sessioned
from tests.support.gateways import gateway_of
from tests.support.scripted import Scripted, http, scripted
from vmcp.net.client import HttpClient
from vmcp.net.errors import NetError
from vmcp.net.reach import Address, Resolver, system_lookup
from vmcp.net.tls import SYSTEM
from vmcp.net.url import parse

NAME = "backend.invalid"


class Directory:
    """Knows one name, from some time on."""

    def __init__(self) -> None:
        self.knows = False

    def lookup(self, host: str, port: int) -> Sequence[Address]:
        if not self.knows:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        assert host == NAME
        return system_lookup("127.0.0.1", port)


async def test_a_name_that_does_not_resolve_is_told_and_others_are_served() -> None:
    good = Scripted()
    async with scripted(good):
        bad = {"name": "a", "url": f"http://{NAME}/mcp"}
        settings = {"backends": [bad, {"name": "b", "url": good.url}]}
        async with gateway_of(settings) as served, sessioned(served.url) as caller:
            shown = served.status()["backends"][0]

            assert await caller.tools() == ["b_echo"]
            last = shown["lastFailure"]
            assert (last["stage"], last["reason"]) == ("connect", "Unreachable")
            assert NAME not in last["message"]


async def test_a_name_that_resolves_again_is_reached_at_the_next_attempt() -> None:
    directory, backend = Directory(), Scripted(script={"else": lambda _: http(200, b"here")})
    client = HttpClient(resolver=Resolver(directory.lookup))
    async with scripted(backend):
        url = parse(backend.url.replace("127.0.0.1", NAME))
        with pytest.raises(NetError) as caught:
            await client.send("GET", url, {}, None, SYSTEM)

        directory.knows = True

        assert caught.value.stage == "connect"
        response = await client.send("GET", url, {}, None, SYSTEM)
        assert await response.read(100) == b"here"
        await client.close()
