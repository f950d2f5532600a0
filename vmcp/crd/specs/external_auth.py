"""MCPExternalAuthConfig: how to authenticate to a server outside."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import ClassVar, Literal

from pydantic import Field

from vmcp.crd.specs.auth_server import EmbeddedAuthServer
from vmcp.crd.specs.aws import AwsSts
from vmcp.crd.specs.base import Rule, Spec, spec
from vmcp.crd.specs.conditions import ConfigStatus
from vmcp.crd.specs.exchange import (
    CrossAppAccess,
    HeaderInjection,
    OnBehalfOf,
    TokenExchange,
)
from vmcp.crd.specs.references import SecretKeyRef
from vmcp.crd.specs.values import FilledText

ExternalAuthType = Literal[
    "tokenExchange",
    "headerInjection",
    "bearerToken",
    "unauthenticated",
    "embeddedAuthServer",
    "awsSts",
    "upstreamInject",
    "obo",
    "xaa",
]

_SETTINGS = {
    "tokenExchange": "token_exchange",
    "headerInjection": "header_injection",
    "bearerToken": "bearer_token",
    "embeddedAuthServer": "embedded_auth_server",
    "awsSts": "aws_sts",
    "upstreamInject": "upstream_inject",
    "obo": "obo",
    "xaa": "xaa",
}


def _one_for_its_type() -> Iterator[Rule]:
    """Yield the rule of each type that its settings are there with this type, and with no other."""
    for key, name in _SETTINGS.items():
        yield Rule(
            f"(self.type == '{key}') == has(self.{key})",
            f"{key} must be there if type is {key!r}, and only then.",
            partial(_is_there_for, key, name),
            (key,),
        )


def _is_there_for(key: str, name: str, auth: MCPExternalAuthConfigSpec) -> bool:
    return (auth.type == key) == (getattr(auth, name) is not None)


@spec
class BearerToken(Spec):
    """A fixed token, sent as `Authorization: Bearer`."""

    token_secret_ref: SecretKeyRef = Field(description="The Secret that holds the token.")


@spec
class UpstreamInject(Spec):
    """The token that a user got from an identity provider when logging in."""

    provider_name: FilledText = Field(description="The name of the provider.")


@spec
class MCPExternalAuthConfigSpec(Spec):
    """The way to authenticate, and the settings of this way alone."""

    rules: ClassVar[tuple[Rule, ...]] = tuple(_one_for_its_type())

    type: ExternalAuthType = Field(description="The way to authenticate.")
    token_exchange: TokenExchange | None = Field(
        default=None, description="The settings of `tokenExchange`."
    )
    header_injection: HeaderInjection | None = Field(
        default=None, description="The settings of `headerInjection`."
    )
    bearer_token: BearerToken | None = Field(
        default=None, description="The settings of `bearerToken`."
    )
    embedded_auth_server: EmbeddedAuthServer | None = Field(
        default=None, description="The settings of `embeddedAuthServer`."
    )
    aws_sts: AwsSts | None = Field(default=None, description="The settings of `awsSts`.")
    upstream_inject: UpstreamInject | None = Field(
        default=None, description="The settings of `upstreamInject`."
    )
    obo: OnBehalfOf | None = Field(default=None, description="The settings of `obo`.")
    xaa: CrossAppAccess | None = Field(default=None, description="The settings of `xaa`.")


@spec
class MCPExternalAuthConfigStatus(ConfigStatus):
    """Whether the settings are valid, and who uses them."""
