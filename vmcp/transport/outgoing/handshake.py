"""Open and end sessions of a backend of the sessioned era."""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from dataclasses import dataclass

from vmcp.model.document import Document
from vmcp.model.inventory import Era, Peer
from vmcp.protocol import jsonrpc
from vmcp.protocol.document import MalformedJson, quote, split, unquote
from vmcp.protocol.failures import BackendFailed
from vmcp.protocol.methods import SESSIONED_VERSIONS
from vmcp.protocol.tasks import without_tasks
from vmcp.transport.outgoing import answers
from vmcp.transport.outgoing.identity import Ids
from vmcp.transport.outgoing.pipe import HttpPipe
from vmcp.transport.outgoing.speech import EraContradicted, Refused

log = logging.getLogger(__name__)

_SECONDS = 10.0
# How long the end of a session waits for its calls: a backend should hear of their cancellation first.
_QUIET_SECONDS = 1.0


@dataclass(slots=True, eq=False)
class BackendSession:
    """One session of a backend; `id` is None where it hands out none, `headers` are those of each request.

    A call counts from `begin` to `finish`, its cancellation included.
    """

    id: str | None
    peer: Peer
    headers: dict[str, str]
    log_level: str | None = None
    _calls: int = 0
    _quiet: asyncio.Event | None = None

    def begin(self) -> None:
        """Take note of a call."""
        self._calls += 1

    def finish(self) -> None:
        """Take note that a call is over for both sides."""
        self._calls -= 1
        if self._quiet is not None and not self._calls:
            self._quiet.set()

    async def quiet(self) -> None:
        """Wait until no call is under way."""
        self._quiet = asyncio.Event()
        if self._calls:
            await self._quiet.wait()


async def initialize(
    pipe: HttpPipe, ids: Ids, capabilities: bytes, info: bytes, version: str
) -> BackendSession:
    """Open a session, which awaits `initialized`; raise BackendFailed, or EraContradicted if it is refused."""
    identity = ids.next()
    body = jsonrpc.request(identity, b'"initialize"', params(capabilities, info, version))
    try:
        async with asyncio.timeout(_SECONDS):
            response = await pipe.post(body, pipe.headers({}))
            found = await pipe.answer(response, identity)
    except TimeoutError:
        raise BackendFailed(pipe.name, "TimedOut", "no answer to initialize in time.") from None
    peer = welcome(found, pipe.name)
    extra = {"MCP-Protocol-Version": peer.version}
    if (session_id := response.header("Mcp-Session-Id") or None) is not None:
        extra["Mcp-Session-Id"] = session_id
    return BackendSession(session_id, peer, pipe.headers(extra))


def params(capabilities: bytes, info: bytes, version: str) -> bytes:
    """Write the params of `initialize`."""
    return b'{"protocolVersion":%b,"capabilities":%b,"clientInfo":%b}' % (
        quote(version),
        # Tasks of a client are made by a backend, and followed by it in ways that are not carried.
        without_tasks(capabilities),
        info,
    )


def welcome(found: jsonrpc.Response, backend: str) -> Peer:
    """Read the answer to `initialize`; raise BackendFailed or EraContradicted."""
    try:
        result = answers.result(found, backend)
    except Refused as refused:
        raise EraContradicted(f"initialize was refused with code {refused.code}") from None
    try:
        return _peer(result, backend)
    except MalformedJson:
        raise BackendFailed(
            backend, "InvalidAnswer", "its answer to initialize is malformed."
        ) from None


def _peer(result: Document, backend: str) -> Peer:
    version = unquote(result.get(b'"protocolVersion"') or b'""')
    if version not in SESSIONED_VERSIONS:
        raise BackendFailed(
            backend, "VersionUnsupported", "it wants a protocol version that is not served."
        )
    instructions = result.get(b'"instructions"')
    return Peer(
        Era.SESSIONED,
        version,
        split(result.get(b'"capabilities"') or b"{}"),
        result.get(b'"serverInfo"') or b"{}",
        unquote(instructions) if instructions is not None and instructions[:1] == b'"' else None,
    )


async def initialized(pipe: HttpPipe, session: BackendSession) -> None:
    """Say that we are ready; whatever a server answers to that, the session goes on."""
    body = jsonrpc.notification(b'"notifications/initialized"', None)
    try:
        async with asyncio.timeout(_SECONDS):
            response = await pipe.post(body, session.headers)
            response.close()
    except (BackendFailed, TimeoutError) as error:
        found: str | int = type(error).__name__
    else:
        found = response.status
    if found not in range(400) and pipe.is_news("initialized was not taken"):
        log.warning("initialized was not taken", extra={"backend": pipe.name, "answer": found})


async def end(pipe: HttpPipe, session: BackendSession) -> None:
    """End a session at the backend; nothing is sent where there is no id; raise BackendFailed."""
    with suppress(TimeoutError):
        async with asyncio.timeout(_QUIET_SECONDS):
            await session.quiet()
    if session.id is not None:
        await pipe.delete(session.headers)
