"""The connection of the commands that speak to a running server: the official SDK's client.

Each way in which it can fail ends as a Stop; `vmcp.cli.diagnose` finds the words for most.
"""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from pathlib import Path
from typing import Protocol, TypeVar
from urllib.parse import urlsplit

import anyio
import httpx2
from mcp import Client, Implementation, MCPError
from mcp.client.streamable_http import streamable_http_client
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

import vmcp
from vmcp.cli import diagnose
from vmcp.cli.stop import ExitCode, Stop
from vmcp.cli.target import EraChoice, Target
from vmcp.model.address import is_loopback

CONNECT_SECONDS = 10.0
# The largest event that a server of ours sends; the SDK's own limit is 1 MiB.
EVENT_BYTES = 16 << 20
MAX_PAGES = 1000

T = TypeVar("T")


class Page(Protocol):
    """One page of any list."""

    @property
    def next_cursor(self) -> str | None:
        """Where the next page begins."""
        ...


P = TypeVar("P", bound=Page)


def ask(target: Target, work: Callable[[Client], Awaitable[T]]) -> T:
    """Connect, do `work`, and return what it gives; raise Stop with a message when that fails."""
    # The SDK logs what we explain ourselves, with tracebacks: what nobody takes goes nowhere.
    logging.lastResort = logging.NullHandler()
    return asyncio.run(_ask(target, work))


async def follow(fetch: Callable[[str | None], Awaitable[P]]) -> AsyncIterator[P]:
    """Yield the pages of a list to its end; raise Stop when it has none."""
    cursor: str | None = None
    seen: set[str] = set()
    for _ in range(MAX_PAGES):
        page = await fetch(cursor)
        yield page
        cursor = page.next_cursor
        if cursor is None:
            return
        if cursor in seen:
            break
        seen.add(cursor)
    raise Stop("The server's list has no end: its pages repeat or are too many.", ExitCode.TROUBLE)


def about(client: Client) -> str:
    """Return who answers, and the revision of MCP that is spoken."""
    server = client.server_info
    name = f"{server.name} {server.version}".strip() if server else "unnamed server"
    return f"{name}, MCP {client.protocol_version}"


async def _ask(target: Target, work: Callable[[Client], Awaitable[T]]) -> T:
    async with _http(target) as http:
        try:
            # anyio's scope also cuts short what the SDK awaits while it closes; asyncio's does not.
            with anyio.fail_after(target.timeout_seconds):
                async with _client(target, http) as client:
                    _check_era(client, target)
                    return await work(client)
        except TimeoutError:
            raise await _late(target, http) from None
        except Exception as error:  # noqa: BLE001 - the SDK's task groups wrap whatever it was
            raise await _translated(_cause(error), target, http) from None


def _http(target: Target) -> httpx2.AsyncClient:
    return httpx2.AsyncClient(
        verify=True if target.ca_file is None else _trusting(target.ca_file),
        headers=dict(target.headers),
        timeout=httpx2.Timeout(CONNECT_SECONDS, read=target.timeout_seconds),
        mounts=_direct(target.url),
    )


def _trusting(file: Path) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=str(file))
    except OSError as error:
        reason = "It holds no certificate" if isinstance(error, ssl.SSLError) else error.strerror
        raise Stop(f"--ca-file {file}: {reason}.", ExitCode.USAGE) from None


def _client(target: Target, http: httpx2.AsyncClient) -> Client:
    transport = streamable_http_client(target.url, http_client=http, max_sse_event_size=EVENT_BYTES)
    return Client(
        transport,
        mode="legacy" if target.era is EraChoice.SESSIONED else "auto",
        client_info=Implementation(name="vmcp", version=vmcp.__version__),
    )


def _check_era(client: Client, target: Target) -> None:
    version = client.protocol_version
    if target.era is EraChoice.STATELESS and version not in MODERN_PROTOCOL_VERSIONS:
        raise Stop(
            f"The server speaks only the sessioned era (MCP {version}): leave out --era.",
            ExitCode.TROUBLE,
        )


def _direct(url: str) -> Mapping[str, None]:
    """Return what httpx2 is to reach directly: a proxy cannot reach this machine's loopback."""
    host = urlsplit(url).hostname or ""
    return {f"all://{f'[{host}]' if ':' in host else host}": None} if is_loopback(host) else {}


def _cause(error: BaseException) -> BaseException:
    """Return the exception within groups: what we raised ourselves, else the first one."""
    if not isinstance(error, BaseExceptionGroup):
        return error
    causes = [_cause(inner) for inner in error.exceptions]
    return next((cause for cause in causes if isinstance(cause, Stop)), causes[0])


async def _late(target: Target, http: httpx2.AsyncClient) -> Stop:
    trouble = await diagnose.explain(http, target.url)
    reason = trouble or "The server itself answers: give the call more time with --timeout."
    late = f"Not done within {target.timeout_seconds:g} s."
    return Stop(f"{late} {reason}", ExitCode.TROUBLE)


async def _translated(
    error: BaseException, target: Target, http: httpx2.AsyncClient
) -> BaseException:
    """Return the Stop that tells a person what the error means, or the error if it is a bug."""
    match error:
        case Stop():
            return error
        case ValidationError():
            return Stop(_invalid(error), ExitCode.TROUBLE)
        case MCPError():
            trouble = await diagnose.explain(http, target.url)
            said = f"The server answered with an error: {error.message} ({error.code})"
            return Stop(trouble or said, ExitCode.TROUBLE)
        case httpx2.HTTPError():
            trouble = await diagnose.explain(http, target.url)
            return Stop(
                trouble or diagnose.failure(error, diagnose.without_keys(target.url)),
                ExitCode.TROUBLE,
            )
        case RuntimeError():
            # What the SDK says of results that do not keep what the tool's schema promises.
            return Stop(f"The server broke the protocol: {error}", ExitCode.TROUBLE)
    return error


def _invalid(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_input=False)[0]
    where = ".".join(str(part) for part in first["loc"])
    return f"The server's answer is not valid MCP: {where}: {first['msg']}"
