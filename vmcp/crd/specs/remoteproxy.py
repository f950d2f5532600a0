"""MCPRemoteProxy: a proxy in the cluster in front of a server that runs elsewhere."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from vmcp.crd.specs.base import spec
from vmcp.crd.specs.entry import HttpTransport
from vmcp.crd.specs.headers import HeaderForward
from vmcp.crd.specs.values import Flag, Text, WebUrl
from vmcp.crd.specs.workload import MemberSpec, WorkloadSpec, WorkloadStatus

_RemoteUrl = Annotated[
    WebUrl,
    Field(description="The URL of the server, without credentials and without a fragment."),
]
_Transport = Annotated[HttpTransport, Field(description="The transport that the server speaks.")]
_HeaderForward = Annotated[
    HeaderForward | None, Field(description="Headers that the server is sent with every request.")
]
_AllowPrivateEndpoint = Annotated[
    Flag,
    Field(
        description=(
            "Whether the URL may lead to an address of a private range. Loopback, link-local and "
            "metadata addresses are never dialled."
        )
    ),
]


@spec
class MCPRemoteProxyMember(MemberSpec):
    """What a gateway reads of an MCPRemoteProxy of its group."""

    remote_url: _RemoteUrl
    transport: _Transport = "streamable-http"
    header_forward: _HeaderForward = None
    allow_private_endpoint: _AllowPrivateEndpoint = False


@spec
class MCPRemoteProxySpec(WorkloadSpec):
    """Where the server is, and how the proxy runs."""

    remote_url: _RemoteUrl
    transport: _Transport = "streamable-http"
    header_forward: _HeaderForward = None
    allow_private_endpoint: _AllowPrivateEndpoint = False


@spec
class MCPRemoteProxyStatus(WorkloadStatus):
    """How the proxy is."""

    phase: Literal["Pending", "Ready", "Failed", "Terminating"] | None = Field(
        default=None, description="How it is as a whole."
    )
    external_url: Text | None = Field(
        default=None, description="The URL by which it is reached from outside the cluster."
    )
