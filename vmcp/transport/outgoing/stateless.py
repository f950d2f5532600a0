"""Streamable HTTP to a backend of the stateless era (2026-07-28)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache

from vmcp.gateway.capabilities import takes_subscriptions
from vmcp.gateway.ports import Reply
from vmcp.latest import Latest
from vmcp.model.backend import Backend
from vmcp.model.document import Document
from vmcp.model.inventory import Era, Peer
from vmcp.net.http1 import Response
from vmcp.protocol import headers as header_values
from vmcp.protocol import jsonrpc
from vmcp.protocol.call import Ask, Call, Client, Done
from vmcp.protocol.document import EMPTY, MalformedJson, unquote
from vmcp.protocol.failures import (
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    UNSUPPORTED_VERSION,
    BackendFailed,
)
from vmcp.protocol.methods import NAMED, STATELESS_VERSION
from vmcp.transport.outgoing import answers, compose
from vmcp.transport.outgoing.discovery import honoured, is_welcome, peer_of
from vmcp.transport.outgoing.identity import OUR_INFO, Ids
from vmcp.transport.outgoing.pipe import EVENTS, HttpPipe
from vmcp.transport.outgoing.speech import EraContradicted, Hear, NoStream, Refused

_DISCOVER_SECONDS = 5.0
_STREAM_SECONDS = 10.0
_LONGEST_KNOWN = 256
_ACKNOWLEDGED = "notifications/subscriptions/acknowledged"
# Codes with which a server of the other era, or of another revision, refuses what it does not know.
_CONTRADICTIONS = (UNSUPPORTED_VERSION, INVALID_REQUEST, -32000, -32001)


@dataclass(frozen=True, slots=True, eq=False)
class _Opened:
    """A subscription whose stream is open, and the resources that it asks for."""

    response: Response
    uris: frozenset[str]


@dataclass(frozen=True, slots=True)
class _Agreed:
    """For which resources the open subscription asks, and which of them the backend honours."""

    asked: frozenset[str]
    honoured: frozenset[str]


_NOTHING_ASKED = _Agreed(frozenset(), frozenset())


class StatelessHttp:
    """Speak to a stateless backend: every request says all, nothing is kept but what we listen to."""

    def __init__(self, backend: Backend, pipe: HttpPipe, ids: Ids) -> None:
        self._backend = backend
        self._pipe = pipe
        self._ids = ids
        self._peer: Peer | None = None
        self._base = pipe.headers({"MCP-Protocol-Version": STATELESS_VERSION})
        self._uris: set[str] = set()
        self._changed = asyncio.Event()
        self._agreed: Latest[_Agreed | None] = Latest(None)

    async def open(self) -> Peer:
        """Ask who is there; raise EraContradicted where no stateless server answers, and BackendFailed."""
        try:
            async with asyncio.timeout(_DISCOVER_SECONDS):
                found = await self._exchange("server/discover", EMPTY)
                if is_welcome(found):
                    found = await self._exchange("server/discover", EMPTY)
            self._peer = peer_of(found, self._pipe.name)
        except TimeoutError:
            raise EraContradicted("server/discover was not answered") from None
        except BackendFailed as failure:
            if failure.reason in ("Rejected", "InvalidAnswer"):
                raise EraContradicted("server/discover was not understood") from None
            raise
        return self._peer

    async def close(self) -> None:
        """Do nothing: nothing was opened."""

    @property
    def peer(self) -> Peer:
        """What the backend said when it was asked last."""
        if self._peer is None:
            raise BackendFailed(self._pipe.name, "Unreachable", "it is not connected.")
        return self._peer

    def _headers(self, method: str, params: Document) -> dict[str, str]:
        headers = {**self._base, "Mcp-Method": _method_header(method)}
        if (member := NAMED.get(method)) is not None and (raw := params.get(member)) is not None:
            headers["Mcp-Name"] = _name_header(raw)
        return headers

    async def _exchange(self, method: str, params: Document) -> jsonrpc.Response:
        identity = self._ids.next()
        body = compose.own_request(method, identity, params, Era.STATELESS, OUR_INFO)
        response = await self._pipe.post(body, self._headers(method, params))
        return await self._pipe.answer(response, identity)

    async def ask(self, method: str, params: Document) -> Document:
        """Put a request of our own."""
        try:
            async with asyncio.timeout(self._backend.timeout_seconds):
                found = await self._exchange(method, params)
        except TimeoutError:
            raise BackendFailed(
                self._pipe.name, "TimedOut", f"no answer to {method} in time."
            ) from None
        return answers.result(found, self._pipe.name)

    async def probe(self) -> None:
        """Ask again who is there."""
        found = await self._exchange("server/discover", EMPTY)
        self._peer = peer_of(found, self._pipe.name)

    async def call(self, call: Call, reply: Reply) -> Done | Ask:
        """Carry a call; leaving before its end closes the stream, which cancels it at the backend."""
        identity = self._ids.next()
        body = compose.stateless(call, identity)
        headers = self._headers(call.method, call.params)
        headers.update(self._travelling(call.headers))
        response = await self._pipe.post(body, headers)
        try:
            found = await self._outcome(response, identity, call, reply)
        finally:
            response.close()
        if response.status == 400 and answers.code(found) in _CONTRADICTIONS:
            raise EraContradicted(
                f"a call was refused with code {answers.code(found)}", answers.end(found)
            )
        try:
            return answers.input_required(found) or answers.end(found)
        except MalformedJson:
            raise BackendFailed(
                self._pipe.name, "InvalidAnswer", "its input_required is malformed."
            ) from None

    def _travelling(self, headers: Mapping[str, str]) -> dict[str, str]:
        found = self._pipe.travelling(headers)
        found.update(
            (name, value) for name, value in headers.items() if name.startswith("mcp-param-")
        )
        return found

    async def _outcome(
        self, response: Response, identity: bytes, call: Call, reply: Reply
    ) -> jsonrpc.Response:
        if response.content_type != EVENTS or response.status != 200:
            return await self._pipe.single(response, identity)
        async with self._pipe.messages(response) as messages:
            async for message in messages:
                if isinstance(message, jsonrpc.Response) and answers.is_for(message, identity):
                    return message
                if isinstance(message, jsonrpc.Notification):
                    note = answers.note(call, message)
                    if note is not None:
                        await reply.note(note)
        raise BackendFailed(
            self._pipe.name, "ConnectionLost", "its stream ended without an answer."
        )

    async def listen(self, hear: Hear, ready: Callable[[], None]) -> None:
        """Hold a subscription open, and the next one whenever the resources that it asks for change."""
        self._changed.clear()
        self._agreed.set(_NOTHING_ASKED)
        try:
            opened = await self._subscribed()
            while True:
                found = await self._heard(opened, hear, ready)
                if not isinstance(found, _Opened):
                    break
                opened, ready = found, _open_already
        finally:
            self._agreed.set(None)
        if found is not None:
            raise found

    async def _heard(
        self, opened: _Opened, hear: Hear, ready: Callable[[], None]
    ) -> _Opened | BackendFailed | None:
        """Follow a subscription to its end, or until the next one is open, so that nothing is missed."""
        async with asyncio.TaskGroup() as tasks:
            hearing = tasks.create_task(self._hear(opened, hear, ready))
            renewing = tasks.create_task(self._renewed())
            await asyncio.wait((hearing, renewing), return_when=asyncio.FIRST_COMPLETED)
            hearing.cancel()
            renewing.cancel()
        return hearing.result() if renewing.cancelled() else renewing.result()

    async def _renewed(self) -> _Opened | BackendFailed:
        await self._changed.wait()
        self._changed.clear()
        try:
            return await self._subscribed()
        except NoStream:
            return BackendFailed(self._pipe.name, "ConnectionLost", "it takes no subscription now.")
        except BackendFailed as failure:
            return failure

    async def _subscribed(self) -> _Opened:
        identity, uris = self._ids.next(), frozenset(self._uris)
        params = compose.subscription(uris)
        body = compose.own_request(
            "subscriptions/listen", identity, params, Era.STATELESS, OUR_INFO
        )
        try:
            async with asyncio.timeout(_STREAM_SECONDS):
                response = await self._pipe.post(
                    body, self._headers("subscriptions/listen", params)
                )
        except TimeoutError:
            raise NoStream from None
        if response.status != 200 or response.content_type != EVENTS:
            response.close()
            raise NoStream
        return _Opened(response, uris)

    async def _hear(
        self, opened: _Opened, hear: Hear, ready: Callable[[], None]
    ) -> BackendFailed | None:
        try:
            async with self._pipe.messages(opened.response) as messages:
                async for message in messages:
                    if isinstance(message, jsonrpc.Response):
                        return None
                    if not isinstance(message, jsonrpc.Notification):
                        continue
                    if message.method == _ACKNOWLEDGED:
                        self._agreed.set(_Agreed(opened.uris, honoured(message, opened.uris)))
                        ready()
                    else:
                        hear(message)
        except BackendFailed as failure:
            return failure
        return None

    async def subscribe(self, uri: str) -> None:
        """Add a resource to what the subscription asks for, and wait until the backend has taken it.

        While no subscription is open there is nothing to wait for: the next one asks for it.
        """
        if not takes_subscriptions(self.peer):
            raise Refused(METHOD_NOT_FOUND, "The backend offers no resource subscriptions.")
        self._uris.add(uri)
        self._changed.set()
        async for agreed in self._agreed.changes():
            if agreed is None or uri in agreed.honoured:
                return
            if uri in agreed.asked:
                break
        await self.unsubscribe(uri)
        raise Refused(INVALID_PARAMS, "The backend takes no subscription to this resource.")

    async def unsubscribe(self, uri: str) -> None:
        """Take a resource out of what the subscription asks for."""
        self._uris.discard(uri)
        self._changed.set()

    async def notify(self, client: Client, method: str, params: bytes | None) -> None:
        """Do nothing: this era has no notifications from clients."""

    async def set_level(self, client: Client) -> None:
        """Do nothing: each request carries its own log level."""

    def retune(self, backend: Backend) -> None:
        """Go on with other settings of the backend."""
        self._backend = backend

    def forget_clients(self) -> None:
        """Do nothing: nothing is kept for a client."""

    async def release(self, client: Client) -> None:
        """Do nothing: nothing is kept for a client."""


def _name_header(raw: bytes) -> str:
    # What clients invent must not fill the memory.
    return _known_name_header(raw) if len(raw) <= _LONGEST_KNOWN else _written(raw)


@lru_cache(maxsize=256)
def _method_header(method: str) -> str:
    return header_values.encode(method)


@lru_cache(maxsize=4096)
def _known_name_header(raw: bytes) -> str:
    return _written(raw)


def _written(raw: bytes) -> str:
    return header_values.encode(unquote(raw))


def _open_already() -> None:
    """Say nothing: another subscription was open all the time."""
