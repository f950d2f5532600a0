"""Connect to a backend over streamable HTTP: tell its era once, remember it, correct it when contradicted."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from vmcp.model.backend import Backend, HttpEndpoint
from vmcp.net.client import HttpClient
from vmcp.protocol.failures import BackendFailed
from vmcp.transport.outgoing.errands import Errands
from vmcp.transport.outgoing.identity import Ids
from vmcp.transport.outgoing.pipe import HttpPipe
from vmcp.transport.outgoing.sessioned import SessionedHttp
from vmcp.transport.outgoing.speech import EraContradicted, Speech
from vmcp.transport.outgoing.stateless import StatelessHttp

_FAREWELL_SECONDS = 2.0


class HttpConnector:
    """Open the way to one backend; the sessions of clients outlive a loss of our own connection."""

    def __init__(
        self, backend: Backend, endpoint: HttpEndpoint, http: HttpClient, errands: Errands
    ) -> None:
        self._pipe = pipe = HttpPipe(backend, endpoint, http)
        ids = Ids()
        self._stateless = StatelessHttp(backend, pipe, ids)
        self._sessioned = SessionedHttp(backend, pipe, ids, errands)
        # The stateless era is asked for first; after that the one that was found.
        self._order: tuple[StatelessHttp | SessionedHttp, StatelessHttp | SessionedHttp] = (
            self._stateless,
            self._sessioned,
        )

    @asynccontextmanager
    async def connect(self) -> AsyncIterator[Speech]:
        """Open the connection for the block; raise BackendFailed or EraContradicted."""
        self._pipe.begin_again()
        speech = await self._open()
        try:
            yield speech
        finally:
            with suppress(BackendFailed, TimeoutError):
                async with asyncio.timeout(_FAREWELL_SECONDS):
                    await speech.close()

    async def _open(self) -> StatelessHttp | SessionedHttp:
        likely, other = self._order
        try:
            await likely.open()
        except EraContradicted:
            await other.open()
            self._order = (other, likely)
        return self._order[0]
