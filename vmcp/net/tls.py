"""TLS contexts: the system's roots, and beside them the certificates of a bundle."""

from __future__ import annotations

import ssl
from functools import lru_cache

from vmcp.net.errors import NetError


@lru_cache(maxsize=256)
def context(ca_bundle: str | None) -> ssl.SSLContext:
    """Return the client context for a PEM bundle, one for all that use the same; None: the system's roots.

    Raise NetError where the bundle is none.
    """
    made = ssl.create_default_context()
    made.set_alpn_protocols(["http/1.1"])
    if ca_bundle is not None:
        try:
            made.load_verify_locations(cadata=ca_bundle)
        except (ssl.SSLError, ValueError):
            raise NetError("tls", "the CA bundle holds no certificate", sent=False) from None
        # Private CAs often lack what Python 3.13 demands of one (RFC 5280 details); clients of old accept them.
        made.verify_flags &= ~ssl.VERIFY_X509_STRICT
        # On every Python: what stands in the bundle is trusted, a root or not.
        made.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    return made
