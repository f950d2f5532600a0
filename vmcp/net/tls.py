"""TLS contexts: the system's roots, beside or instead of them a bundle's certificates, and who we say we are."""

from __future__ import annotations

import os
import ssl
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import NamedTuple

from vmcp.model.backend import ClientCert
from vmcp.model.guard import Guard
from vmcp.net.errors import NetError


class Trust(NamedTuple):
    """Whom we trust beside the system's roots (PEM), and the certificate that we show to who asks for one.

    `is_bundle_only` trusts the bundle instead of those roots. `guard` judges each address that is dialled.
    """

    ca_bundle: str | None = None
    client_cert: ClientCert | None = None
    is_bundle_only: bool = False
    guard: Guard | None = None


SYSTEM = Trust()


@lru_cache(maxsize=256)
def context(trust: Trust) -> ssl.SSLContext:
    """Return the client context for a trust, one for all that share it.

    Raise NetError where the bundle is none, or the certificate and its key do not fit.
    """
    made = _bare(trust)
    made.set_alpn_protocols(["http/1.1"])
    if trust.ca_bundle is not None:
        try:
            made.load_verify_locations(cadata=trust.ca_bundle)
        except (ssl.SSLError, ValueError):
            raise NetError("tls", "the CA bundle holds no certificate", sent=False) from None
        # Private CAs often lack what Python 3.13 demands of one (RFC 5280 details); clients of old accept them.
        made.verify_flags &= ~ssl.VERIFY_X509_STRICT
        # On every Python: what stands in the bundle is trusted, a root or not.
        made.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    if trust.client_cert is not None:
        _show(made, trust.client_cert)
    return made


def _bare(trust: Trust) -> ssl.SSLContext:
    """Return a context with the system's roots, or with none."""
    if not trust.is_bundle_only:
        return ssl.create_default_context()
    # It checks certificates and host names from the start, and knows no root.
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


def _show(made: ssl.SSLContext, shown: ClientCert) -> None:
    with _file(f"{shown.key.reveal()}\n{shown.chain}".encode()) as path:
        try:
            # A password that is none keeps OpenSSL from asking for one on the terminal.
            made.load_cert_chain(path, password="")
        except OSError as error:
            # OpenSSL has rules of its own, such as how long a key must be.
            reason = (getattr(error, "reason", None) or "unknown reason").lower().replace("_", " ")
            message = f"the client certificate and its key cannot be used: {reason}"
            raise NetError("tls", message, sent=False) from None


@contextmanager
def _file(content: bytes) -> Iterator[str]:
    """Give the path of a file that nobody else can read and that is gone after the block."""
    if sys.platform == "linux":
        # It lies in memory and in no folder.
        with os.fdopen(os.memfd_create("vmcp"), "wb", buffering=0) as file:
            file.write(content)
            yield f"/proc/self/fd/{file.fileno()}"
    else:
        with tempfile.NamedTemporaryFile(buffering=0) as file:
            file.write(content)
            yield file.name
