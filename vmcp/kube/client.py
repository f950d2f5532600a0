"""Requests to the API server as raw JSON, under a login that is renewed as needed."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import AsyncExitStack, aclosing, asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any

from vmcp.clock import Clock
from vmcp.kube.access import Access, Answer, Login, Request, Session
from vmcp.kube.decoding import decoded
from vmcp.kube.errors import CannotLogIn, Refused, Unreachable
from vmcp.protocol.lines import Lines

log = logging.getLogger(__name__)

JSON = "application/json"
_ANSWER_SECONDS = 30.0
_LOGIN_SECONDS = 60.0
# After a login, or one that failed, the next one waits for so long.
_LOGIN_PAUSE_SECONDS = 5.0
# An object has at most 1.5 MiB in etcd, which may be more as JSON.
_MOST_LINE_BYTES = 16 * 2**20
_MOST_FAULT_BYTES = 2**16
_UNAUTHORIZED = 401


@dataclass(frozen=True, slots=True)
class _Entered:
    access: Access
    session: Session
    at: float
    until: float


class ApiServer:
    """One API server, asked under one login; writers have one of their own, so that watches hold up no write."""

    def __init__(self, login: Login, clock: Clock) -> None:
        self._login = login
        self._clock = clock
        self._entered: _Entered | None = None
        self._renewing = asyncio.Lock()
        # Why the login could not be renewed, empty where it could.
        self._fault = ""
        self.sent: Counter[str] = Counter()

    async def log_in(self) -> None:
        """Log in now, without a request; raise CannotLogIn."""
        await self._current()

    async def get(self, path: str, query: Mapping[str, str]) -> Any:
        """Return what is there as JSON; raise Refused, Unreachable or CannotLogIn."""
        return await self._whole(Request("GET", path, query, None, JSON))

    async def send(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any],
        *,
        query: Mapping[str, str],
        content_type: str,
    ) -> Any:
        """Write, and return the answer as JSON; raise Refused, Unreachable or CannotLogIn."""
        return await self._whole(Request(method, path, query, body, content_type))

    async def _whole(self, request: Request) -> Any:
        try:
            async with asyncio.timeout(_ANSWER_SECONDS), self._answered(request) as answer:
                return _decoded(await _body(answer))
        except TimeoutError:
            raise _silent(_ANSWER_SECONDS) from None

    @asynccontextmanager
    async def stream(
        self, path: str, query: Mapping[str, str], *, silent_seconds: float
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        """Give the lines of an answer without an end for the block; one that falls silent has ended."""
        async with AsyncExitStack() as stack:
            try:
                async with asyncio.timeout(_ANSWER_SECONDS):
                    request = Request("GET", path, query, None, JSON)
                    answer = await stack.enter_async_context(self._answered(request))
            except TimeoutError:
                raise _silent(_ANSWER_SECONDS) from None
            yield await stack.enter_async_context(aclosing(_lines(answer, silent_seconds)))

    @asynccontextmanager
    async def _answered(self, request: Request) -> AsyncIterator[Answer]:
        entered = await self._current()
        async with AsyncExitStack() as stack:
            answer = await self._asked(stack, entered, request)
            if answer.status == _UNAUTHORIZED and (other := await self._another(entered)):
                await stack.aclose()
                answer = await self._asked(stack, other, request)
            if not 200 <= answer.status <= 299:  # noqa: PLR2004
                raise await _refused(answer)
            yield answer

    async def _asked(self, stack: AsyncExitStack, entered: _Entered, request: Request) -> Answer:
        self.sent[_verb(request)] += 1
        sending = entered.session.request(request, entered.access.authorization)
        try:
            return await stack.enter_async_context(sending)
        except Unreachable as error:
            # The cluster may have exchanged its CA.
            if error.is_untrusted and self._is_due(entered):
                await self._renew(entered)
            raise

    async def _current(self) -> _Entered:
        entered = self._entered
        if entered is not None and self._clock.monotonic() < entered.until:
            return entered
        return await self._renew(entered)

    async def _another(self, entered: _Entered) -> _Entered | None:
        if self._entered is entered and not self._is_due(entered):
            return None
        renewed = await self._renew(entered)
        return renewed if renewed.access != entered.access else None

    def _is_due(self, entered: _Entered) -> bool:
        return self._clock.monotonic() >= entered.at + _LOGIN_PAUSE_SECONDS

    async def _renew(self, seen: _Entered | None) -> _Entered:
        async with self._renewing:
            if self._entered is not None and self._entered is not seen:
                return self._entered
            try:
                async with asyncio.timeout(_LOGIN_SECONDS):
                    access = await self._login.renew()
                session = self._session(access)
            except (CannotLogIn, TimeoutError) as error:
                return self._as_before(error)
            return await self._enter(access, session)

    def _as_before(self, error: Exception) -> _Entered:
        words = str(error) or f"The login took longer than {_LOGIN_SECONDS:.0f} s."
        if (before := self._entered) is None:
            raise CannotLogIn(words) from error
        if words != self._fault:
            self._fault = words
            log.warning("login at the API server could not be renewed", extra={"error": words})
        now = self._clock.monotonic()
        self._entered = _Entered(before.access, before.session, now, now + _LOGIN_PAUSE_SECONDS)
        return self._entered

    def _session(self, access: Access) -> Session:
        """Return the connections to use under a login: those that there are, or new ones; raise CannotLogIn."""
        before = self._entered
        if before is not None and before.access.fingerprint == access.fingerprint:
            return before.session
        return _opened(access)

    async def _enter(self, access: Access, session: Session) -> _Entered:
        before, now = self._entered, self._clock.monotonic()
        if self._fault:
            self._fault = ""
            log.info("login at the API server is renewed again")
        good = float("inf") if access.good_seconds is None else access.good_seconds
        until = now + max(good, _LOGIN_PAUSE_SECONDS)
        self._entered = entered = _Entered(access, session, now, until)
        if before is not None and before.access.fingerprint != access.fingerprint:
            await before.session.close()
        return entered

    async def close(self) -> None:
        """End all connections."""
        entered, self._entered = self._entered, None
        if entered is not None:
            await entered.session.close()


def _opened(access: Access) -> Session:
    try:
        return access.open()
    except (OSError, ValueError) as error:
        # A certificate without its key, or what is no certificate.
        fault = type(error).__name__
        raise CannotLogIn(f"The certificates of the login cannot be used: {fault}.") from error


def _verb(request: Request) -> str:
    return "WATCH" if "watch" in request.query else request.method


async def _body(answer: Answer) -> bytes:
    async with aclosing(answer.chunks()) as chunks:
        return b"".join([chunk async for chunk in chunks])


async def _lines(answer: Answer, silent_seconds: float) -> AsyncGenerator[bytes, None]:
    lines = Lines(_MOST_LINE_BYTES)
    async with aclosing(answer.chunks()) as chunks:
        while True:
            chunk: bytes | None = None
            # A connection may be dead without a word, and whoever listens asks anew.
            with suppress(TimeoutError):
                async with asyncio.timeout(silent_seconds):
                    chunk = await anext(chunks, None)
            if chunk is None:
                return
            for line in lines.feed(chunk):
                if not isinstance(line, bytes):
                    raise Unreachable("an object of it is too large", is_untrusted=False)
                if line:
                    yield line


def _silent(seconds: float) -> Unreachable:
    return Unreachable(f"it is silent for {seconds:g} s", is_untrusted=False)


def _decoded(body: bytes) -> Any:
    try:
        return decoded(body)
    except ValueError:
        raise Unreachable("what it says is no JSON", is_untrusted=False) from None


async def _refused(answer: Answer) -> Refused:
    try:
        told = decoded((await _body(answer))[:_MOST_FAULT_BYTES])
    except (ValueError, Unreachable):
        told = None
    return refusal(told, status=answer.status, retry_seconds=answer.retry_seconds)


def refusal(told: object, *, status: int, retry_seconds: float) -> Refused:
    """Return what a Status of the API server says; `status` holds where it has no code."""
    members = told if isinstance(told, dict) else {}
    code = members.get("code")
    return Refused(
        code if isinstance(code, int) and code else status,
        str(members.get("reason") or "without a reason"),
        str(members.get("message") or "no word of why."),
        retry_seconds=retry_seconds,
    )
