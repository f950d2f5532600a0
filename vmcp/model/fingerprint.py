"""What tells whether two backends are the same as far as it may be told: nothing of a secret goes in."""

from __future__ import annotations

from hashlib import sha256
from typing import assert_never

from vmcp.model.auth import AuthSpec, BearerToken, HeaderInjection, NoAuth
from vmcp.model.backend import Backend, Endpoint, HttpEndpoint, StdioEndpoint


def fingerprint(backend: Backend) -> str:
    """Return a text that differs where backends do, values of credentials and headers aside."""
    parts = (
        str(backend.key),
        _endpoint(backend.endpoint),
        _auth(backend.auth),
        repr(backend.timeout_seconds),
        repr(tuple(name for name, _ in backend.headers)),
        repr((backend.passthrough, backend.session_scope, backend.metadata)),
    )
    return sha256("\0".join(parts).encode()).hexdigest()[:16]


def _endpoint(endpoint: Endpoint) -> str:
    match endpoint:
        case HttpEndpoint():
            chain = None if endpoint.client_cert is None else endpoint.client_cert.chain
            reached = (endpoint.url, endpoint.transport, endpoint.ca_bundle, chain)
            # The guard is the process's as much as the object's: who compares may run under another one.
            return repr((*reached, endpoint.trusts_bundle_only))
        case StdioEndpoint():
            names = tuple(name for name, _ in endpoint.env)
            return repr((endpoint.command, endpoint.args, names, endpoint.cwd))
        case _:
            assert_never(endpoint)


def _auth(auth: AuthSpec) -> str:
    match auth:
        case NoAuth():
            return "none"
        case HeaderInjection():
            return f"header {auth.header.lower()}"
        case BearerToken():
            return "bearer token"
        case _:
            assert_never(auth)
