"""A backend: one MCP server that the gateway may call, and how."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from vmcp.model.auth import NO_AUTH, AuthSpec
from vmcp.model.guard import Guard
from vmcp.model.keys import ObjectKey
from vmcp.model.secret import Secret

SessionScope = Literal["call", "shared"]
HttpTransport = Literal["streamable-http", "sse"]


@dataclass(frozen=True, slots=True)
class ClientCert:
    """The certificate that a server may ask of us, with what its issuers signed (PEM), and its key (PEM)."""

    chain: str
    key: Secret


@dataclass(frozen=True, slots=True)
class HttpEndpoint:
    """A server that is reached over HTTP; `ca_bundle` is PEM text that is trusted beside the system's roots.

    `transport` is how it is spoken to first; `sse`, the older transport, rules out the other one.
    `trusts_bundle_only` leaves the system's roots out. `guard` says which addresses may be dialled; None: all.
    """

    # Some services have a key in their URLs.
    url: str = field(repr=False)
    ca_bundle: str | None = None
    client_cert: ClientCert | None = None
    transport: HttpTransport = "streamable-http"
    trusts_bundle_only: bool = False
    guard: Guard | None = None


@dataclass(frozen=True, slots=True)
class StdioEndpoint:
    """A command that speaks MCP on its standard input and output.

    `env` is what the child gets beside PATH, HOME, LANG and TMPDIR; None as `cwd` means our own.
    """

    command: str
    args: tuple[str, ...] = field(default=(), repr=False)
    env: tuple[tuple[str, Secret], ...] = ()
    cwd: str | None = None


Endpoint = HttpEndpoint | StdioEndpoint


@dataclass(frozen=True, slots=True)
class Backend:
    """One member of the snapshot; equal values mean that nothing about it changed.

    `name` is the public name, unique in a snapshot. `headers` are sent with each request, in order,
    secret or not; `passthrough` names incoming headers (lower case) that are copied. `session_scope`
    says whether calls of clients that have no session may share one session of the backend.
    `metadata` is shown in /status and means nothing to us.
    """

    key: ObjectKey
    name: str
    endpoint: Endpoint
    timeout_seconds: float
    auth: AuthSpec = NO_AUTH
    headers: tuple[tuple[str, Secret], ...] = ()
    passthrough: tuple[str, ...] = ()
    session_scope: SessionScope = "call"
    metadata: tuple[tuple[str, str], ...] = ()

    @property
    def transport(self) -> str:
        """How it is reached, by the names of the config."""
        return "stdio" if isinstance(self.endpoint, StdioEndpoint) else self.endpoint.transport
