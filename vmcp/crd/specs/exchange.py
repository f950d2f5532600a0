"""Ways to authenticate to a server with a header, or with a token that was exchanged for another."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from vmcp.crd.specs.base import Spec, spec
from vmcp.crd.specs.references import SecretKeyRef
from vmcp.crd.specs.values import DnsLabel, FilledText, Flag, HttpsUrl, Text, Texts

_TOKEN_TYPE = "urn:ietf:params:oauth:token-type:"  # noqa: S105 - the start of a name


@spec
class HeaderInjection(Spec):
    """One header with a secret value."""

    header_name: FilledText = Field(description="The name of the header.")
    value_secret_ref: SecretKeyRef = Field(description="The Secret that holds its value.")


@spec
class TokenExchange(Spec):
    """The caller's token is exchanged for one that the server takes (RFC 8693)."""

    token_url: Text = Field(description="The token endpoint.")
    audience: Text = Field(description="Whom the new token is for.")
    client_id: Text | None = Field(default=None, description="The id of the client that exchanges.")
    client_secret_ref: SecretKeyRef | None = Field(
        default=None, description="The Secret that holds the client's secret."
    )
    scopes: Texts | None = Field(default=None, description="The scopes to ask for.")
    subject_token_type: (
        Annotated[
            Text,
            Field(
                pattern=rf"^((access_token|id_token|jwt)|{_TOKEN_TYPE}(access_token|id_token|jwt))?$"
            ),
        ]
        | None
    ) = Field(default=None, description="What kind of token the caller's is.")
    subject_provider_name: Text | None = Field(
        default=None, description="The provider whose token is exchanged, where there are several."
    )
    external_token_header_name: Text | None = Field(
        default=None, description="The header for the new token; `Authorization` if absent."
    )


@spec
class OnBehalfOf(Spec):
    """The caller's token is exchanged for one of Microsoft Entra in the caller's name."""

    tenant_id: (
        Annotated[Text, Field(max_length=253, pattern=r"^[A-Za-z0-9][A-Za-z0-9.-]*$")] | None
    ) = Field(default=None, description="The tenant: its id or its domain.")
    client_id: Text | None = Field(default=None, description="The id of the client that exchanges.")
    client_secret_ref: SecretKeyRef | None = Field(
        default=None, description="The Secret that holds the client's secret."
    )
    audience: Text | None = Field(default=None, description="Whom the new token is for.")
    scopes: (
        Annotated[
            tuple[Annotated[Text, Field(min_length=1, max_length=256)], ...], Field(max_length=20)
        ]
        | None
    ) = Field(default=None, description="The scopes to ask for.")
    authority: HttpsUrl | None = Field(
        default=None, description="The login server, where it is not the public one."
    )
    subject_token_provider_name: DnsLabel | None = Field(
        default=None, description="The provider whose token is exchanged, where there are several."
    )
    cache_skew: Text | None = Field(
        default=None, description="How long before its end a token is no longer used, a duration."
    )


@spec
class CrossAppAccess(Spec):
    """An identity token becomes an assertion for the server's own login server, which gives a token."""

    idp_token_url: HttpsUrl = Field(description="The token endpoint of the identity provider.")
    idp_client_id: Text | None = Field(
        default=None, description="The id of the client at the identity provider."
    )
    idp_client_secret_ref: SecretKeyRef | None = Field(
        default=None, description="The Secret that holds this client's secret."
    )
    subject_provider_name: Text | None = Field(
        default=None, description="The provider whose token is exchanged, where there are several."
    )
    subject_token_type: Literal["urn:ietf:params:oauth:token-type:id_token"] | None = Field(
        default=None, description="What kind of token the caller's is."
    )
    target_token_url: Text = Field(description="The token endpoint of the server's login server.")
    target_audience: Text = Field(description="The issuer that the assertion is for.")
    target_resource: Text | None = Field(
        default=None, description="The resource that the token is for."
    )
    target_client_id: Text | None = Field(
        default=None, description="The id of the client at the server's login server."
    )
    target_client_secret_ref: SecretKeyRef | None = Field(
        default=None, description="The Secret that holds this client's secret."
    )
    scopes: Texts | None = Field(default=None, description="The scopes to ask for.")
    insecure_target_token_url: Flag | None = Field(
        default=None, description="Allow http for `targetTokenUrl`, for tests."
    )
