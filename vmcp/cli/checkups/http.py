"""A backend over HTTP, step by step: name, connection, TLS, an answer, the protocol, its lists."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from datetime import datetime

from cryptography import x509

from vmcp.cli.checkups.certificates import described, ends_soon
from vmcp.cli.checkups.speaking import speak
from vmcp.cli.checkups.steps import Course, Trouble
from vmcp.clock import Clock
from vmcp.model.backend import Backend, HttpEndpoint
from vmcp.model.inventory import Era
from vmcp.net import url as urls
from vmcp.net.budget import Budget
from vmcp.net.client import HttpClient
from vmcp.net.dial import Route, dial
from vmcp.net.errors import NetError
from vmcp.net.http1 import Connection, Response
from vmcp.net.proxies import Proxies, Proxy, Unusable
from vmcp.net.reach import Address, Resolver, connected, system_lookup
from vmcp.net.tls import Trust
from vmcp.net.url import Url
from vmcp.protocol.document import EMPTY
from vmcp.protocol.methods import STATELESS_VERSION
from vmcp.transport.outgoing import compose
from vmcp.transport.outgoing.errands import Errands
from vmcp.transport.outgoing.http import HttpConnector
from vmcp.transport.outgoing.identity import OUR_INFO
from vmcp.transport.outgoing.pipe import HttpPipe

# OpenSSL's X509_V_ERR_...: the certificate or one above it is too young, too old, or for somebody else.
_VERIFY_CAUSES: Mapping[int, str] = {
    9: "CertificateNotYetValid",
    10: "CertificateExpired",
    62: "CertificateOtherName",
    64: "CertificateOtherName",
}
_STATUS_CAUSES: Mapping[int, str] = {
    401: "Unauthorized",
    403: "Unauthorized",
    429: "Overloaded",
    503: "Overloaded",
    508: "SelfReference",
}
_SERVER_ERRORS = 500
_NO_RECORDS = ("WRONG_VERSION_NUMBER", "HTTP_REQUEST", "RECORD_LAYER_FAILURE")


async def examine(
    course: Course, backend: Backend, endpoint: HttpEndpoint, proxies: Proxies, clock: Clock
) -> None:
    """Take all steps; raise Ended after the first that fails."""
    url, resolver = urls.parse(endpoint.url), Resolver(system_lookup)
    route = Route(url, Trust(endpoint.ca_bundle, endpoint.client_cert), None)
    if (proxy := proxies.of(url)) is not None:
        route = Route(url, route.trust, await course.take("proxy", _usable(proxy)))
        course.ok(f"It is reached by the proxy that {proxy.variable} names.")
    await _reach(course, route, resolver)
    if url.scheme == "https":
        _judge(course, await course.take("tls", _certificate(route, resolver)), clock.now())
    async with AsyncExitStack() as stack:
        http = HttpClient(proxies=proxies, resolver=resolver)
        stack.push_async_callback(http.close)
        course.ok(await course.take("http", _answered(HttpPipe(backend, endpoint, http))))
        errands = Errands()
        await stack.enter_async_context(errands.running())
        await speak(course, backend, HttpConnector(backend, endpoint, http, errands).connect)


async def _usable(proxy: Proxy | Unusable) -> Proxy:
    if isinstance(proxy, Unusable):
        raise Trouble("ProxyUnusable", f"{proxy.variable} holds no http or https URL.")
    return proxy


async def _reach(course: Course, route: Route, resolver: Resolver) -> None:
    """Resolve and connect to the first host on the way."""
    first = route.url if route.proxy is None else route.proxy.url
    addresses = await course.take("dns", _addresses(first, resolver))
    course.ok(", ".join(str(each.place[0]) for each in addresses))
    course.ok(await course.take("tcp", _connected(first, addresses)))


async def _addresses(url: Url, resolver: Resolver) -> Sequence[Address]:
    try:
        return await resolver.addresses(url.host, url.port)
    except NetError as error:
        raise Trouble("HostUnknown", f"{url.host}: {error}.") from None


async def _connected(url: Url, addresses: Sequence[Address]) -> str:
    try:
        (await connected(addresses)).close()
    except NetError as error:
        raise Trouble("Unreachable", f"Port {url.port}: {error}.") from None
    return f"Port {url.port} takes connections."


class _Seen(Connection):
    """A connection that shows how its TLS went."""

    tls: ssl.SSLObject | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin."""
        super().connection_made(transport)
        self.tls = transport.get_extra_info("ssl_object")


async def _certificate(route: Route, resolver: Resolver) -> x509.Certificate:
    seen = _Seen(_nothing, _nothing, Budget(0))
    try:
        await dial(route, resolver, lambda: seen)
    except NetError as error:
        raise await _explained(error, route, resolver) from None
    try:
        return _read_certificate(seen.tls)
    finally:
        seen.abort()


def _nothing(_connection: Connection) -> None:
    """Do nothing."""


def _read_certificate(found: ssl.SSLObject | None) -> x509.Certificate:
    try:
        raw = None if found is None else found.getpeercert(binary_form=True)
        return x509.load_der_x509_certificate(raw or b"")
    except ValueError:
        raise Trouble("TlsFailed", "Its certificate cannot be read.") from None


async def _explained(error: NetError, route: Route, resolver: Resolver) -> Trouble:
    told, why = _sentence(str(error)), error.__context__
    if isinstance(why, ssl.SSLCertVerificationError):
        cause = _VERIFY_CAUSES.get(why.verify_code, "CertificateUntrusted")
        return Trouble(cause, f"{told} {await _about_untrusted(route, resolver)}".rstrip())
    # OpenSSL's own word for bytes that are no record of TLS.
    is_plain = isinstance(why, ssl.SSLError) and why.reason in _NO_RECORDS
    stages = {"tls": "NoTls" if is_plain else "TlsFailed", "proxy": "ProxyFailed"}
    return Trouble(stages.get(error.stage, "Unreachable"), told)


async def _about_untrusted(route: Route, resolver: Resolver) -> str:
    """Describe a certificate that is not trusted: nothing is sent over this connection."""
    if route.proxy is not None:
        return ""
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    loop, seen, url = asyncio.get_running_loop(), _Seen(_nothing, _nothing, Budget(0)), route.url
    try:
        made = await connected(await resolver.addresses(url.host, url.port))
        await loop.create_connection(lambda: seen, sock=made, ssl=context, server_hostname=url.host)
        return described(_read_certificate(seen.tls))
    except (OSError, NetError, Trouble):
        return ""
    finally:
        seen.abort()


def _judge(course: Course, certificate: x509.Certificate, now: datetime) -> None:
    if ends_soon(certificate, now):
        course.warn("CertificateEndsSoon", described(certificate))
    else:
        course.ok(described(certificate))


async def _answered(pipe: HttpPipe) -> str:
    """Send the first request of the stateless era, which servers of the other one refuse in some way."""
    body = compose.own_request("server/discover", b"1", EMPTY, Era.STATELESS, OUR_INFO)
    told = {"MCP-Protocol-Version": STATELESS_VERSION, "Mcp-Method": "server/discover"}
    response = await pipe.post(body, pipe.headers(told))
    try:
        return _read(response)
    finally:
        response.close()


def _read(response: Response) -> str:
    said = f"Status {response.status}, {response.content_type or 'no type'}."
    cause = _STATUS_CAUSES.get(response.status)
    if cause is None and response.status >= _SERVER_ERRORS:
        cause = "ServerFailed"
    if cause is not None:
        raise Trouble(cause, said)
    return said


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."
