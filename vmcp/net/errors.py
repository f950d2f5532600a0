"""Why a request got no answer."""

from __future__ import annotations

import os
import socket
import ssl


class NetError(Exception):
    """A request got no answer; `stage` says how far it came: connect, tls, send or read.

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


def not_connected(error: OSError) -> NetError:
    """Return why no connection came about, without addresses: never a URL."""
    if isinstance(error, ssl.SSLCertVerificationError):
        message = f"the certificate is not trusted: {error.verify_message}"
        return NetError("tls", message, sent=False)
    if isinstance(error, ssl.SSLError):
        return NetError("tls", _reason(error), sent=False)
    if isinstance(error, socket.gaierror):
        return NetError("connect", "the host name does not resolve", sent=False)
    if error.errno:
        # asyncio writes the address into strerror, so the number is looked up anew.
        return NetError("connect", os.strerror(error.errno), sent=False)
    if isinstance(error, ConnectionError):
        return NetError("tls", "the connection was closed in the handshake", sent=False)
    return NetError("connect", "none of its addresses takes a connection", sent=False)


def broken_off(error: Exception | None) -> str:
    """Return how a connection ended."""
    if error is None:
        return "the connection was closed"
    if isinstance(error, ssl.SSLError):
        return f"the connection broke: {_reason(error)}"
    if isinstance(error, OSError) and error.errno:
        return f"the connection broke: {os.strerror(error.errno)}"
    return f"the connection broke: {type(error).__name__}"


def _reason(error: ssl.SSLError) -> str:
    # The number of such an error is none of the operating system's.
    return (error.reason or type(error).__name__).lower().replace("_", " ")
