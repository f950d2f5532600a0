"""What is said of a failure: how far it came and why, never where it led."""

from __future__ import annotations

import errno
import os
import socket
import ssl

import pytest

from vmcp.net.errors import (
    BodyTooLarge,
    NetError,
    alert,
    broken_off,
    no_tls,
    not_resolved,
    unreached,
)

PLACE = "('192.0.2.1', 8443)"


def verification(code: int, message: str) -> ssl.SSLCertVerificationError:
    error = ssl.SSLCertVerificationError(1, "[SSL: CERTIFICATE_VERIFY_FAILED]")
    error.verify_code, error.verify_message = code, message
    return error


def tls(reason: str | None) -> ssl.SSLError:
    error = ssl.SSLError(1, f"[SSL: {reason}] (_ssl.c:1006)")
    error.reason = reason  # type: ignore[assignment]
    return error


def refused(number: int) -> OSError:
    return OSError(number, f"Connect call failed {PLACE}")


@pytest.mark.parametrize(
    ("errors", "words"),
    [
        pytest.param([refused(errno.ECONNREFUSED)], "Connection refused", id="refused"),
        pytest.param([refused(errno.EHOSTUNREACH)], os.strerror(errno.EHOSTUNREACH), id="no route"),
        pytest.param([refused(errno.ECONNREFUSED)] * 2, "Connection refused", id="all refused"),
        pytest.param(
            [refused(errno.ECONNREFUSED), refused(errno.EADDRNOTAVAIL)],
            "none of its addresses takes a connection",
            id="for several reasons",
        ),
    ],
)
def test_why_no_address_takes_a_connection(errors: list[OSError], words: str) -> None:
    found = unreached(errors)

    assert (found.stage, found.sent, str(found)) == ("connect", False, words)
    assert "192.0.2.1" not in str(found)


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (socket.EAI_NONAME, "the host name does not resolve: no such name"),
        (socket.EAI_AGAIN, "the host name does not resolve: no name server answers"),
        (socket.EAI_FAIL, "the host name does not resolve"),
    ],
)
def test_why_a_name_has_no_address(code: int, words: str) -> None:
    found = not_resolved(socket.gaierror(code, "Name or service not known"))

    assert (found.stage, found.sent, str(found)) == ("connect", False, words)


@pytest.mark.parametrize(
    ("error", "words"),
    [
        pytest.param(
            verification(10, "certificate has expired"),
            "the certificate is not trusted: it has expired",
            id="expired",
        ),
        pytest.param(
            verification(62, "Hostname mismatch, certificate is not valid for 'b.test'."),
            "the certificate is not trusted: it is for another host name",
            id="another name",
        ),
        pytest.param(
            verification(99, "something else"),
            "the certificate is not trusted: something else",
            id="not trusted",
        ),
        pytest.param(tls("WRONG_VERSION_NUMBER"), "what answers speaks no TLS", id="no TLS"),
        pytest.param(
            tls("SSLV3_ALERT_HANDSHAKE_FAILURE"),
            "the server refuses the handshake: no cipher in common, or it wants a client certificate",
            id="refused",
        ),
        pytest.param(tls("NO_CIPHERS_AVAILABLE"), "no ciphers available", id="other"),
        pytest.param(tls(None), "sslerror", id="TLS without a reason"),
        pytest.param(
            ConnectionResetError(), "the connection was closed in the handshake", id="closed"
        ),
    ],
)
def test_why_the_handshake_failed(error: OSError, words: str) -> None:
    found = no_tls(error)

    assert (found.stage, found.sent, str(found)) == ("tls", False, words)
    assert "b.test" not in str(found)


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (None, "the connection was closed"),
        (ConnectionResetError(errno.ECONNRESET, PLACE), "Connection reset by peer"),
        (tls("TLSV13_ALERT_CERTIFICATE_REQUIRED"), "wants a client certificate: see clientCert"),
        (tls("DECRYPTION_FAILED"), "decryption failed"),
        (ConnectionAbortedError(PLACE), "ConnectionAbortedError"),
        (RuntimeError(PLACE), "RuntimeError"),
    ],
)
def test_how_a_connection_ended(error: Exception | None, words: str) -> None:
    assert broken_off(error).endswith(words)
    assert "192.0.2.1" not in broken_off(error)


def test_only_what_a_server_says_of_tls_is_an_alert() -> None:
    assert alert(tls("TLSV1_ALERT_UNKNOWN_CA")) == (
        "the server does not know the issuer of our client certificate"
    )
    assert alert(tls("DECRYPTION_FAILED")) is None
    assert alert(ConnectionResetError()) is None
    assert alert(None) is None


def test_a_body_that_is_too_large_is_a_failure_to_read() -> None:
    error = BodyTooLarge(16)

    assert isinstance(error, NetError)
    assert (error.stage, error.sent) == ("read", True)
    assert str(error) == "the answer is larger than 16 bytes"
