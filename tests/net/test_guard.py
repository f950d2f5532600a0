"""Addresses that may not be dialled, looked at on every connection."""

from __future__ import annotations

import socket
from collections.abc import Sequence

import pytest

from tests.net.raw import answer, serve, serving
from tests.support.proxy import proxying
from vmcp.model.guard import Guard
from vmcp.net.client import HttpClient
from vmcp.net.errors import AddressRefused
from vmcp.net.proxies import NO_PROXIES, Proxies, proxies
from vmcp.net.reach import Address, Resolver
from vmcp.net.tls import Trust
from vmcp.net.url import Url, parse

STRICT = Trust(guard=Guard(allow_private=False, allow_loopback=False))
AT_HOME = Trust(guard=Guard(allow_private=False, allow_loopback=True))


async def sent(
    url: Url, trust: Trust, resolver: Resolver | None = None, by: Proxies = NO_PROXIES
) -> int:
    client = HttpClient(None, by, resolver)
    try:
        response = await client.send("POST", url, {}, b"{}", trust)
        response.close()
        return response.status
    finally:
        await client.close()


def known(*addresses: str) -> Resolver:
    """Return a resolver to which every name has these addresses."""

    def lookup(_host: str, port: int) -> Sequence[Address]:
        return [Address(socket.AF_INET, (each, port)) for each in addresses]

    return Resolver(lookup)


async def test_a_loopback_address_is_not_dialled() -> None:
    async with serving(serve(answer(b"{}"))) as site:
        with pytest.raises(AddressRefused, match="a loopback address"):
            await sent(site.url, STRICT)


async def test_loopback_that_is_allowed_is_dialled() -> None:
    async with serving(serve(answer(b"{}"))) as site:
        assert await sent(site.url, AT_HOME) == 200


async def test_a_name_is_judged_by_the_address_that_it_resolves_to() -> None:
    with pytest.raises(AddressRefused, match="metadata"):
        await sent(parse("http://harmless.test/mcp"), AT_HOME, known("169.254.169.254"))


async def test_of_several_addresses_those_that_are_allowed_are_dialled() -> None:
    async with serving(serve(answer(b"{}"))) as site:
        url = site.at("mixed.test")

        assert await sent(url, AT_HOME, known("10.0.0.1", "127.0.0.1")) == 200


async def test_a_guarded_backend_never_shares_the_connection_of_one_that_is_not() -> None:
    async with serving(serve(answer(b"{}")), serve(answer(b"{}"))) as site:
        client = HttpClient()
        try:
            response = await client.send("POST", site.url, {}, b"{}", Trust())
            await response.read(2**10)
            response.close()

            with pytest.raises(AddressRefused):
                await client.send("POST", site.url, {}, b"{}", STRICT)
        finally:
            await client.close()


async def test_an_address_in_the_url_is_refused_where_a_proxy_would_dial_it() -> None:
    async with proxying() as proxy:
        by = proxies({"http_proxy": f"http://127.0.0.1:{proxy.port}"})

        with pytest.raises(AddressRefused):
            await sent(parse("http://169.254.169.254/latest"), AT_HOME, by=by)
