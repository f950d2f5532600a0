"""What is said of a failure: how far it came and why, never where it led."""

from __future__ import annotations

import errno
import os
import socket
import ssl

import pytest

from vmcp.net.errors import BodyTooLarge, NetError, broken_off, not_connected

PLACE = "('192.0.2.1', 8443)"


def verification(message: str) -> ssl.SSLCertVerificationError:
    error = ssl.SSLCertVerificationError(1, "[SSL: CERTIFICATE_VERIFY_FAILED]")
    error.verify_message = message
    return error


def tls(reason: str | None) -> ssl.SSLError:
    error = ssl.SSLError(1, f"[SSL: {reason}] (_ssl.c:1006)")
    error.reason = reason  # type: ignore[assignment]
    return error


@pytest.mark.parametrize(
    ("error", "stage", "words"),
    [
        pytest.param(
            OSError(errno.ECONNREFUSED, f"Connect call failed {PLACE}"),
            "connect",
            "Connection refused",
            id="refused",
        ),
        pytest.param(
            OSError(errno.EHOSTUNREACH, f"Connect call failed {PLACE}"),
            "connect",
            os.strerror(errno.EHOSTUNREACH),
            id="no route",
        ),
        pytest.param(
            OSError(f"Multiple exceptions: [Errno 111] {PLACE}, [Errno 99] {PLACE}"),
            "connect",
            "none of its addresses takes a connection",
            id="several addresses",
        ),
        pytest.param(
            socket.gaierror(socket.EAI_NONAME, "Name or service not known"),
            "connect",
            "the host name does not resolve",
            id="no such name",
        ),
        pytest.param(
            verification("self-signed certificate"),
            "tls",
            "the certificate is not trusted: self-signed certificate",
            id="not trusted",
        ),
        pytest.param(tls("WRONG_VERSION_NUMBER"), "tls", "wrong version number", id="no TLS"),
        pytest.param(tls(None), "tls", "sslerror", id="TLS without a reason"),
        pytest.param(
            ConnectionResetError(), "tls", "the connection was closed in the handshake", id="closed"
        ),
    ],
)
def test_why_no_connection_came_about(error: OSError, stage: str, words: str) -> None:
    found = not_connected(error)

    assert (found.stage, found.sent, str(found)) == (stage, False, words)
    assert "192.0.2.1" not in str(found)


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (None, "the connection was closed"),
        (ConnectionResetError(errno.ECONNRESET, PLACE), "Connection reset by peer"),
        (tls("TLSV13_ALERT_CERTIFICATE_REQUIRED"), "tlsv13 alert certificate required"),
        (ConnectionAbortedError(PLACE), "ConnectionAbortedError"),
        (RuntimeError(PLACE), "RuntimeError"),
    ],
)
def test_how_a_connection_ended(error: Exception | None, words: str) -> None:
    assert broken_off(error).endswith(words)
    assert "192.0.2.1" not in broken_off(error)


def test_a_body_that_is_too_large_is_a_failure_to_read() -> None:
    error = BodyTooLarge(16)

    assert isinstance(error, NetError)
    assert (error.stage, error.sent) == ("read", True)
    assert str(error) == "the answer is larger than 16 bytes"
