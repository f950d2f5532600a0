"""Connect to a backend over HTTP: tell its era and transport once, remember it, correct it when contradicted."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from vmcp.model.backend import Backend, HttpEndpoint
from vmcp.model.health import Stage
from vmcp.net.client import HttpClient
from vmcp.protocol.failures import BackendFailed
from vmcp.transport.outgoing.errands import Errands
from vmcp.transport.outgoing.httpsse import SessionedSse
from vmcp.transport.outgoing.identity import Ids
from vmcp.transport.outgoing.pipe import HttpPipe, Rejected
from vmcp.transport.outgoing.sessioned import SessionedHttp
from vmcp.transport.outgoing.speech import EraContradicted, Speech, during
from vmcp.transport.outgoing.stateless import StatelessHttp

_FAREWELL_SECONDS = 2.0
# How a server of the older transport refuses to be sent a message at the URL of its stream.
_OTHER_TRANSPORT = (400, 404, 405)

HttpSpeech = StatelessHttp | SessionedHttp | SessionedSse


class HttpConnector:
    """Open the way to one backend; the sessions of clients outlive a loss of our own connection."""

    def __init__(
        self, backend: Backend, endpoint: HttpEndpoint, http: HttpClient, errands: Errands
    ) -> None:
        self._pipe = pipe = HttpPipe(backend, endpoint, http)
        ids = Ids()
        self._stateless = StatelessHttp(backend, pipe, ids)
        self._sessioned = SessionedHttp(backend, pipe, ids, errands)
        self._older = SessionedSse(backend, pipe, ids, errands)
        # The stateless era is asked for first; after that what was found.
        self._order: tuple[HttpSpeech, ...] = (
            (self._older,)
            if endpoint.transport == "sse"
            else (self._stateless, self._sessioned, self._older)
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

    async def _open(self) -> HttpSpeech:
        refused: EraContradicted | Rejected | None = None
        for speech in self._order:
            is_stateless = speech is self._stateless
            try:
                with during(Stage.DISCOVER if is_stateless else Stage.INITIALIZE):
                    await speech.open()
            except EraContradicted as error:
                # Of the newer transport is told what is wrong with it, where the older one is no way either.
                refused = refused if refused and speech is self._older else error
            except Rejected as error:
                if error.told not in _OTHER_TRANSPORT or speech is not self._sessioned:
                    raise
                refused = error
            except BackendFailed:
                # What does not answer as the older transport may be a stream that never says anything.
                if refused is not None and speech is self._older:
                    break
                raise
            else:
                self._order = (speech, *(each for each in self._order if each is not speech))
                return speech
        raise refused or EraContradicted("it speaks neither era")
