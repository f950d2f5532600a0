"""MCPServerEntry: a server that runs elsewhere and is dialled as it is."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from vmcp.crd.specs.base import Spec, spec
from vmcp.crd.specs.conditions import Status
from vmcp.crd.specs.headers import HeaderForward
from vmcp.crd.specs.references import CABundleRef, FilledRef, NameRef
from vmcp.crd.specs.values import Flag, WebUrl

HttpTransport = Literal["sse", "streamable-http"]


@spec
class MCPServerEntrySpec(Spec):
    """Where the server is, and how to speak to it."""

    group_ref: FilledRef = Field(description="The MCPGroup that the server belongs to.")
    remote_url: WebUrl = Field(
        description="The URL of the server, without credentials and without a fragment."
    )
    transport: HttpTransport = Field(description="The transport that the server speaks.")
    external_auth_config_ref: NameRef | None = Field(
        default=None,
        description="The MCPExternalAuthConfig that tells how to authenticate to the server.",
    )
    ca_bundle_ref: CABundleRef | None = Field(
        default=None, description="The certificates that the server's own is checked against."
    )
    header_forward: HeaderForward | None = Field(
        default=None, description="Headers that the server is sent with every request."
    )
    allow_private_endpoint: Flag = Field(
        default=False,
        description=(
            "Whether the URL may lead to an address of a private range. Loopback, link-local and "
            "metadata addresses are never dialled."
        ),
    )


@spec
class MCPServerEntryStatus(Status):
    """Whether the entry can be used."""

    phase: Literal["Valid", "Pending", "Failed"] = Field(
        default="Pending", description="How the entry is as a whole."
    )
