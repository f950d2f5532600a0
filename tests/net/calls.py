"""Calls that tests of the client make."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from tests.net.raw import Site
from vmcp.net.client import HttpClient
from vmcp.net.errors import NetError
from vmcp.net.tls import SYSTEM

LIMIT = 2**20


@dataclass(frozen=True, slots=True)
class Got:
    """An answer that was read whole."""

    status: int
    body: bytes


async def call(
    client: HttpClient, site: Site, body: bytes = b"{}", *, limit: int = LIMIT, method: str = "POST"
) -> Got:
    """Make a call and read its answer."""
    response = await client.send(method, site.url, {}, body, SYSTEM)
    try:
        return Got(response.status, await response.read(limit))
    finally:
        response.close()


async def streamed(client: HttpClient, site: Site) -> bytes:
    """Make a call and return the pieces of its answer, joined."""
    response = await client.send("POST", site.url, {}, b"{}", SYSTEM)
    try:
        return b"".join([piece async for piece in response.chunks()])
    finally:
        response.close()


async def failed(client: HttpClient, site: Site) -> NetError:
    """Make a call that fails, and return why."""
    try:
        got = await call(client, site)
    except NetError as error:
        return error
    raise AssertionError(f"it did not fail: {got}")


def start(tasks: asyncio.TaskGroup, client: HttpClient, site: Site) -> asyncio.Task[Got]:
    """Make a call beside others."""
    return tasks.create_task(call(client, site))
