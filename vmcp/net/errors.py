"""Why a request got no answer."""

from __future__ import annotations

import os
import socket
import ssl
from collections.abc import Sequence

_NOT_TRUSTED = {
    9: "it is not valid yet",
    10: "it has expired",
    18: "it is self-signed and stands in no CA bundle",
    19: "its root stands in no CA bundle",
    20: "its issuer is unknown: give the CA as caBundlePath",
    21: "its issuer is unknown: the server sends no chain to a CA that is trusted",
    23: "it was revoked",
    62: "it is for another host name",
    64: "it is for another IP address",
}
# What a server says when it ends TLS (RFC 8446, 6.2), in the words of the one who is to mend it.
_ALERTS = {
    "CERTIFICATE_REQUIRED": "the server wants a client certificate: see clientCert",
    "BAD_CERTIFICATE": "the server refuses our client certificate",
    "UNSUPPORTED_CERTIFICATE": "the server refuses our client certificate",
    "CERTIFICATE_REVOKED": "the server refuses our client certificate: it was revoked",
    "CERTIFICATE_EXPIRED": "the server refuses our client certificate: it has expired",
    "CERTIFICATE_UNKNOWN": "the server refuses our client certificate",
    "UNKNOWN_CA": "the server does not know the issuer of our client certificate",
    "ACCESS_DENIED": "the server refuses our client certificate",
    "HANDSHAKE_FAILURE": (
        "the server refuses the handshake: no cipher in common, or it wants a client certificate"
    ),
    "PROTOCOL_VERSION": "the server speaks no version of TLS that we do",
    "UNRECOGNIZED_NAME": "the server has no certificate for this host name",
}
_RESOLVER = {
    socket.EAI_AGAIN: "the host name does not resolve: no name server answers",
    socket.EAI_NONAME: "the host name does not resolve: no such name",
}


class NetError(Exception):
    """A request got no answer; `stage` says how far it came: connect, proxy, tls, send or read.

    `sent` is False only where the other side certainly saw nothing of the request.
    """

    def __init__(self, stage: str, message: str, *, sent: bool) -> None:
        super().__init__(message)
        self.stage = stage
        self.sent = sent


class BodyTooLarge(NetError):
    """The answer has more bytes than it may."""

    def __init__(self, limit: int) -> None:
        super().__init__("read", f"the answer is larger than {limit} bytes", sent=True)


class AddressRefused(NetError):
    """The host is at an address that may not be dialled for this backend."""

    def __init__(self, kind: str) -> None:
        super().__init__("connect", f"its host is at {kind}, which is refused", sent=False)


class ProxyFailed(NetError):
    """A proxy, named by the variable that names it, did not bring us to the server."""

    def __init__(self, variable: str, message: str) -> None:
        super().__init__("proxy", f"the proxy of {variable}: {message}", sent=False)


def not_resolved(error: OSError) -> NetError:
    """Return why a name has no address."""
    message = _RESOLVER.get(error.errno or 0, "the host name does not resolve")
    return NetError("connect", message, sent=False)


def unreached(errors: Sequence[OSError]) -> NetError:
    """Return why no address takes a connection, without the addresses."""
    # asyncio writes the address into strerror, so the number is looked up anew.
    words = {os.strerror(error.errno) for error in errors if error.errno}
    if len(words) == 1:
        return NetError("connect", words.pop(), sent=False)
    return NetError("connect", "none of its addresses takes a connection", sent=False)


def no_tls(error: OSError) -> NetError:
    """Return why the handshake of TLS failed."""
    if isinstance(error, ssl.SSLCertVerificationError):
        why = _NOT_TRUSTED.get(error.verify_code, error.verify_message)
        return NetError("tls", f"the certificate is not trusted: {why}", sent=False)
    if isinstance(error, ssl.SSLError):
        return NetError("tls", _reason(error), sent=False)
    return NetError("tls", "the connection was closed in the handshake", sent=False)


def broken_off(error: Exception | None) -> str:
    """Return how a connection ended."""
    if error is None:
        return "the connection was closed"
    if isinstance(error, ssl.SSLError):
        return f"the connection broke: {_reason(error)}"
    if isinstance(error, OSError) and error.errno:
        return f"the connection broke: {os.strerror(error.errno)}"
    return f"the connection broke: {type(error).__name__}"


def alert(error: Exception | None) -> str | None:
    """Return what a server said that ended TLS after its handshake, None where it said nothing."""
    # In TLS 1.3 a client is done before the server has looked at its certificate.
    return _alert(error.reason or "") if isinstance(error, ssl.SSLError) else None


def _alert(reason: str) -> str | None:
    _, _, name = reason.partition("_ALERT_")
    return _ALERTS.get(name)


def _reason(error: ssl.SSLError) -> str:
    # The number of such an error is none of the operating system's.
    reason = error.reason or type(error).__name__
    if reason in ("WRONG_VERSION_NUMBER", "HTTP_REQUEST", "RECORD_LAYER_FAILURE"):
        return "what answers speaks no TLS"
    return _alert(reason) or reason.lower().replace("_", " ")
