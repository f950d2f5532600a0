"""Connect to a backend over stdio: start its process, tell its era, remember it, correct it when contradicted."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from enum import Enum
from typing import assert_never

from vmcp.model.backend import Backend, StdioEndpoint
from vmcp.model.health import Stage
from vmcp.model.inventory import Era
from vmcp.protocol import jsonrpc
from vmcp.protocol.failures import BackendFailed
from vmcp.transport.outgoing import process, stdio_sessioned, stdio_stateless
from vmcp.transport.outgoing.channel import Channel, Exchange
from vmcp.transport.outgoing.discovery import peer_of
from vmcp.transport.outgoing.identity import Ids
from vmcp.transport.outgoing.levels import Levels
from vmcp.transport.outgoing.speech import EraContradicted, Speech, during

_PROBE_SECONDS = 2.0
# How long the answer to a probe may come after the refusal of what was tried next.
_LATE_SECONDS = 2.0
# A command may fetch what it runs before it runs it.
_OPEN_SECONDS = 10.0


class _Way(Enum):
    """How a new process is opened: many a server fixes its era by the first request."""

    PROBE = "probe"
    PROBE_AGAIN = "probe again"
    SESSIONED = "sessioned"
    STATELESS = "stateless"


# The second and the third are tried, each in a process of its own, where the one before was refused.
_UNKNOWN = (_Way.PROBE, _Way.SESSIONED, _Way.STATELESS)
# After a process that ended at the probe: it may die of it, or it was away for a while and speaks both eras.
_AFTER_LOSS = (_Way.PROBE_AGAIN, _Way.SESSIONED, _Way.STATELESS)
_SESSIONED = (_Way.SESSIONED, _Way.STATELESS)
_STATELESS = (_Way.STATELESS, _Way.SESSIONED)


class StdioConnector:
    """Open the way to one backend: one process for all clients, in one era for all its life."""

    def __init__(
        self, backend: Backend, endpoint: StdioEndpoint, environment: Mapping[str, str]
    ) -> None:
        self._backend = backend
        self._endpoint = endpoint
        self._environment = environment
        self._ids = Ids()
        self._levels = Levels()
        self._ways: tuple[_Way, ...] = _UNKNOWN

    @asynccontextmanager
    async def connect(self) -> AsyncIterator[Speech]:
        """Run the process for the block; raise BackendFailed, or EraContradicted if it speaks neither era."""
        refused: EraContradicted | None = None
        for way in self._ways:
            channel = Channel(self._backend.name, self._ids)
            async with process.running(
                self._backend.name, self._endpoint, self._environment, channel
            ) as channel.pipe:
                try:
                    speech = await self._opened(way, channel)
                except EraContradicted as error:
                    refused = error
                    continue
                except BackendFailed as failed:
                    if way is _Way.PROBE_AGAIN and _is_lost(failed):
                        continue
                    raise
                yield speech
                return
        self._ways = _UNKNOWN
        raise refused or EraContradicted("it speaks neither era")

    async def _opened(self, way: _Way, channel: Channel) -> Speech:
        stage = Stage.DISCOVER if way is _Way.STATELESS else Stage.INITIALIZE
        try:
            with during(stage):
                speech = await self._open(way, channel)
        except BackendFailed as failed:
            # Silence or a loss may be its way to refuse what came first: the next attempt asks otherwise.
            unanswered = _AFTER_LOSS if _is_lost(failed) else _SESSIONED
            self._ways = unanswered if way in (_Way.PROBE, _Way.PROBE_AGAIN) else _UNKNOWN
            raise
        self._ways = _STATELESS if speech.peer.era is Era.STATELESS else _SESSIONED
        return speech

    async def _open(self, way: _Way, channel: Channel) -> Speech:
        match way:
            case _Way.PROBE | _Way.PROBE_AGAIN:
                return await self._probed(channel)
            case _Way.SESSIONED:
                return await self._initialized(channel)
            case _Way.STATELESS:
                return await self._discovered(channel)
            case _:
                assert_never(way)

    async def _probed(self, channel: Channel) -> Speech:
        async with channel.exchange(stdio_stateless.discover) as probe:
            early = await _answer(probe, _PROBE_SECONDS)
            if early is not None:
                try:
                    return self._stateless(channel, early)
                except EraContradicted:
                    return await self._initialized(channel)
            try:
                return await self._initialized(channel)
            except (EraContradicted, BackendFailed):
                # A server that starts slowly has read the probe first and keeps to that era.
                late = await _answer(probe, _LATE_SECONDS)
                if late is None:
                    raise
            return self._stateless(channel, late)

    async def _initialized(self, channel: Channel) -> Speech:
        return await stdio_sessioned.initialize(
            self._backend, channel, self._levels, self._patience()
        )

    async def _discovered(self, channel: Channel) -> Speech:
        async with channel.exchange(stdio_stateless.discover) as exchange:
            found = await _answer(exchange, self._patience())
        if found is None:
            raise BackendFailed(
                self._backend.name, "TimedOut", "no answer to server/discover in time."
            )
        return self._stateless(channel, found)

    def _stateless(self, channel: Channel, found: jsonrpc.Response) -> Speech:
        peer = peer_of(found, self._backend.name)
        channel.answers_requests = False
        return stdio_stateless.StatelessStdio(self._backend, channel, peer)

    def _patience(self) -> float:
        return max(_OPEN_SECONDS, self._backend.timeout_seconds)


def _is_lost(failed: BackendFailed) -> bool:
    return failed.reason == "ConnectionLost"


async def _answer(exchange: Exchange, seconds: float) -> jsonrpc.Response | None:
    """Return the response that comes in time, or None."""
    try:
        async with asyncio.timeout(seconds):
            return await exchange.response()
    except TimeoutError:
        return None
