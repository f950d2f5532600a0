"""HTTP to one backend: its headers, its redirects, its limits, and what its refusals mean."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing, asynccontextmanager
from typing import assert_never

from vmcp.model.auth import BearerToken, HeaderInjection, NoAuth
from vmcp.model.backend import Backend, HttpEndpoint
from vmcp.net import url as urls
from vmcp.net.budget import TooMuchAtOnce
from vmcp.net.client import HttpClient
from vmcp.net.errors import AddressRefused, BodyTooLarge, NetError
from vmcp.net.http1 import Response
from vmcp.net.tls import Trust
from vmcp.net.url import Url
from vmcp.protocol import jsonrpc
from vmcp.protocol.failures import BackendFailed, Failure
from vmcp.protocol.methods import TRACE_HEADERS
from vmcp.transport.outgoing import answers

JSON = "application/json"
EVENTS = "text/event-stream"
_MOST_REDIRECTS = 3
_REFUSAL_LIMIT = 64 * 2**10
_REASONS = {"connect": "Unreachable", "proxy": "Unreachable", "tls": "TlsFailed"}


class Rejected(BackendFailed):
    """An answer whose status alone says that the request is none for this server."""

    def __init__(self, backend: str, response: Response) -> None:
        super().__init__(backend, "Rejected", _told(response))
        self.told = response.status


class HttpPipe:
    """Send requests to the backend's URL with all that its configuration adds to them."""

    def __init__(self, backend: Backend, endpoint: HttpEndpoint, http: HttpClient) -> None:
        self.name = backend.name
        self._configured = self._url = urls.parse(endpoint.url)
        self._trust = Trust(
            endpoint.ca_bundle,
            endpoint.client_cert,
            is_bundle_only=endpoint.trusts_bundle_only,
            guard=endpoint.guard,
        )
        self._http = http
        self._said: set[str] = set()
        self._static = _static(backend)
        # A name of ours is written our way, so that the client's value takes the place of ours.
        ours = {name.lower(): name for name in self._static}
        self._passthrough = (
            ("via", "Via"),
            *((name, ours.get(name, name)) for name in (*TRACE_HEADERS, *backend.passthrough)),
        )

    def headers(self, extra: Mapping[str, str]) -> dict[str, str]:
        """Return the headers of this backend's requests with `extra` ones that stay the same for many."""
        return {**self._static, **extra}

    def travelling(self, headers: Mapping[str, str]) -> dict[str, str]:
        """Return those of a client's headers that go on to this backend."""
        return {sent: headers[name] for name, sent in self._passthrough if name in headers}

    async def post(self, body: bytes, headers: Mapping[str, str]) -> Response:
        """Send a message and return the head of the answer; raise BackendFailed."""
        return await self._send("POST", headers, body)

    async def post_to(self, url: Url, body: bytes, headers: Mapping[str, str]) -> Response:
        """Send a message to another URL of the same origin; a redirect is an answer like any other."""
        try:
            return await self._http.send("POST", url, headers, body, self._trust)
        except NetError as error:
            raise lost(self.name, error) from None

    def beside(self, reference: str) -> Url:
        """Return the URL that a reference names, seen from ours; raise BackendFailed for another origin."""
        try:
            found = self._url.join(reference)
        except ValueError:
            raise BackendFailed(self.name, "InvalidAnswer", "its endpoint is no URL.") from None
        if found.origin != self._url.origin:
            raise BackendFailed(
                self.name,
                "InvalidAnswer",
                "its endpoint is of another origin, which no credential leaves for.",
            )
        return found

    async def get(self, headers: Mapping[str, str]) -> Response:
        """Ask for the stream of a session; raise BackendFailed."""
        wanted = {name: value for name, value in headers.items() if name != "Content-Type"}
        return await self._send("GET", {**wanted, "Accept": EVENTS}, None)

    async def delete(self, headers: Mapping[str, str]) -> None:
        """End a session; raise BackendFailed."""
        wanted = {name: value for name, value in headers.items() if name != "Content-Type"}
        (await self._send("DELETE", wanted, None)).close()

    async def _send(self, method: str, headers: Mapping[str, str], body: bytes | None) -> Response:
        url = self._url
        for _ in range(_MOST_REDIRECTS + 1):
            try:
                response = await self._http.send(method, url, headers, body, self._trust)
            except NetError as error:
                raise lost(self.name, error) from None
            if not 300 <= response.status < 400:
                self._url = url
                return response
            response.close()
            url = self._redirected(url, response)
        raise BackendFailed(self.name, "Redirected", "it redirects in a circle.")

    def _redirected(self, url: Url, response: Response) -> Url:
        try:
            return target(url, response.status, response.header("Location"))
        except ValueError as error:
            raise BackendFailed(self.name, "Redirected", f"{error}.") from None

    def is_news(self, what: str) -> bool:
        """Tell whether this is the first time that something is said of this backend."""
        is_new = what not in self._said
        self._said.add(what)
        return is_new

    def begin_again(self) -> None:
        """Forget a redirect that was followed: where it led may be gone."""
        self._url = self._configured

    async def read(self, response: Response, limit: int = answers.BODY_LIMIT) -> bytes:
        """Return the body of an answer; raise BackendFailed."""
        try:
            return await response.read(limit)
        except NetError as error:
            raise lost(self.name, error) from None

    @asynccontextmanager
    async def messages(
        self, response: Response, progress: answers.Progress | None = None
    ) -> AsyncIterator[AsyncIterator[jsonrpc.Message]]:
        """Give the messages of an event stream; the stream is closed at the end of the block."""
        try:
            async with (
                aclosing(self.chunks(response)) as chunks,
                aclosing(answers.stream(chunks, self.name, progress)) as found,
            ):
                yield found
        finally:
            response.close()

    async def chunks(self, response: Response) -> AsyncGenerator[bytes, None]:
        """Yield the body of an answer as it comes; raise BackendFailed."""
        try:
            async for chunk in response.chunks():
                yield chunk
        except NetError as error:
            raise lost(self.name, error) from None

    async def answer(self, response: Response, identity: bytes) -> jsonrpc.Response:
        """Return the response to a request of our own, whichever way it comes; raise BackendFailed."""
        if response.content_type == EVENTS and response.status == 200:
            async with self.messages(response) as found:
                async for message in found:
                    if isinstance(message, jsonrpc.Response) and answers.is_for(message, identity):
                        return message
            raise BackendFailed(self.name, "InvalidAnswer", "its stream ended without an answer.")
        return await self.single(response, identity)

    async def single(self, response: Response, identity: bytes) -> jsonrpc.Response:
        """Return the response that is the whole body, an error with any HTTP status included."""
        try:
            if response.status == 200 and response.content_type == JSON:
                return answers.response(await self.read(response), identity, self.name)
            return await self._refused(response, identity)
        finally:
            response.close()

    async def _refused(self, response: Response, identity: bytes) -> jsonrpc.Response:
        """Return the JSON-RPC error that a refusal may carry; raise BackendFailed where it does not."""
        limit = answers.BODY_LIMIT if response.content_type == JSON else _REFUSAL_LIMIT
        try:
            found = jsonrpc.read_peer(await self.read(response, limit))
        except Failure:
            raise refusal(self.name, response) from None
        if (
            isinstance(found, jsonrpc.Response)
            and found.is_error
            and answers.is_for(found, identity)
        ):
            return found
        raise refusal(self.name, response)


def _static(backend: Backend) -> dict[str, str]:
    told = {name: value.reveal() for name, value in backend.headers} | _credential(backend)
    configured = {name: _wire(value) for name, value in told.items()}
    taken = {name.lower() for name in configured}
    ours = {
        "Content-Type": JSON,
        "Accept": f"{JSON}, {EVENTS}",
        "Accept-Encoding": "identity",
        "User-Agent": "vmcp",
    }
    return {name: value for name, value in ours.items() if name.lower() not in taken} | configured


def _wire(text: str) -> str:
    """Return a configured text as headers are handed on: a character for each of its bytes."""
    return text.encode().decode("latin-1")


def _credential(backend: Backend) -> dict[str, str]:
    auth = backend.auth
    match auth:
        case NoAuth():
            return {}
        case HeaderInjection():
            return {auth.header: auth.value.reveal()}
        case BearerToken():
            return {"Authorization": f"Bearer {auth.token.reveal()}"}
        case _:
            assert_never(auth)


def target(url: Url, status: int, location: str | None) -> Url:
    """Return where a redirect leads; raise ValueError with what is wrong with it."""
    if status not in (307, 308):
        raise ValueError(f"it answered with status {status}, which changes the request")
    if location is None:
        raise ValueError("it redirects without saying where")
    try:
        found = url.join(location)
    except ValueError:
        raise ValueError("it redirects to what is no URL") from None
    if found.origin == url.origin:
        # User and password in a URL are no part of it: they would become a credential in the place of ours.
        return found
    where = "from https to http" if url.scheme == "https" == f"{found.scheme}s" else "elsewhere"
    raise ValueError(f"it redirects {where}, to another origin, which no credential leaves for")


def lost(name: str, error: NetError) -> BackendFailed:
    """Translate what happened on the network."""
    if isinstance(error, BodyTooLarge):
        return BackendFailed(name, "TooLarge", f"{error}.")
    if isinstance(error, AddressRefused):
        return BackendFailed(name, "AddressRefused", f"{error}.")
    if isinstance(error, TooMuchAtOnce):
        return BackendFailed(name, "Overloaded", f"{error}.", retryAfterSeconds=1)
    return BackendFailed(name, _REASONS.get(error.stage, "ConnectionLost"), f"{error}.")


def refusal(name: str, response: Response) -> BackendFailed:
    """Translate an answer that carries no JSON-RPC message."""
    status = response.status
    if status in (401, 403):
        return BackendFailed(
            name, "Unauthorized", f"it refused our credentials with status {status}."
        )
    if status in (429, 503):
        wait = response.header("Retry-After") or ""
        seconds = {"retryAfterSeconds": int(wait)} if wait.isdecimal() and len(wait) < 8 else {}
        return BackendFailed(name, "Overloaded", _told(response), **seconds)
    if status == 508:
        return BackendFailed(name, "SelfReference", "its url leads back to this gateway.")
    if status == 200:
        return BackendFailed(name, "InvalidAnswer", "the answer is no JSON-RPC message.")
    return Rejected(name, response)


def _told(response: Response) -> str:
    """Say who answered how: a proxy that reads requests may speak in the place of the server."""
    who = "it" if response.proxy is None else f"it, or the proxy of {response.proxy} before it,"
    return f"{who} answered with status {response.status}."
