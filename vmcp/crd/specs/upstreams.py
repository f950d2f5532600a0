"""Identity providers at which users of the embedded authorization server log in."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from vmcp.crd.specs.base import Rule, Spec, spec
from vmcp.crd.specs.references import SecretKeyRef
from vmcp.crd.specs.values import (
    DnsLabel,
    FilledText,
    Flag,
    HttpsUrl,
    Text,
    TextMap,
    Texts,
    WebUrl,
)

_Path = Annotated[Text, Field(min_length=1, max_length=256)]
_LongUrl = Annotated[Text, Field(max_length=2048, pattern=r"^https://[^\s?#]*[^/\s?#]$")]
_Parameters = Annotated[TextMap, Field(max_length=16)]


@spec
class UserInfoFields(Spec):
    """Which fields of an answer tell who the user is; the first that is there counts."""

    subject_fields: Texts | None = Field(default=None, description="Fields with the user's id.")
    name_fields: Texts | None = Field(default=None, description="Fields with the user's name.")
    email_fields: Texts | None = Field(default=None, description="Fields with the mail address.")


@spec
class UserInfo(Spec):
    """Where the provider tells who a user is."""

    endpoint_url: WebUrl = Field(description="The URL that is asked.")
    http_method: Literal["GET", "POST"] | None = Field(
        default=None, description="The method to ask with."
    )
    additional_headers: TextMap | None = Field(
        default=None, description="Headers to ask with, beside the token."
    )
    field_mapping: UserInfoFields | None = Field(
        default=None, description="Which fields of the answer tell who the user is."
    )


@spec
class TokenIdentity(Spec):
    """Where the answer of the token endpoint tells who the user is."""

    subject_path: _Path = Field(description="The path to the user's id.")
    name_path: _Path | None = Field(default=None, description="The path to the user's name.")
    email_path: _Path | None = Field(default=None, description="The path to the mail address.")


@spec
class TokenResponse(Spec):
    """Where a token endpoint that follows no standard puts what it answers."""

    access_token_path: FilledText = Field(description="The path to the access token.")
    refresh_token_path: Text | None = Field(
        default=None, description="The path to the refresh token."
    )
    expires_in_path: Text | None = Field(default=None, description="The path to the lifetime.")
    scope_path: Text | None = Field(default=None, description="The path to the scopes.")


@spec
class ClientRegistration(Spec):
    """How to register as a client of the provider at run time."""

    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "has(self.discoveryUrl) != has(self.registrationEndpoint)",
            "Exactly one of discoveryUrl and registrationEndpoint must be set.",
            lambda dcr: (dcr.discovery_url is None) != (dcr.registration_endpoint is None),
        ),
    )

    discovery_url: _LongUrl | None = Field(
        default=None, description="The metadata that names the endpoint."
    )
    registration_endpoint: _LongUrl | None = Field(default=None, description="The endpoint itself.")
    initial_access_token_ref: SecretKeyRef | None = Field(
        default=None, description="The Secret with a token that registering needs."
    )
    software_id: Annotated[Text, Field(max_length=255)] | None = Field(
        default=None, description="The id of the software that registers."
    )
    software_statement: Annotated[Text, Field(max_length=16384)] | None = Field(
        default=None, description="A signed statement about it."
    )


@spec
class OAuth2Upstream(Spec):
    """A provider that speaks OAuth 2 without OpenID Connect."""

    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "(has(self.clientId) && size(self.clientId) > 0) != has(self.dcrConfig)",
            "Exactly one of clientId and dcrConfig must be set.",
            lambda upstream: bool(upstream.client_id) != (upstream.dcr_config is not None),
        ),
        Rule(
            "!(has(self.dcrConfig) && has(self.clientSecretRef))",
            "clientSecretRef cannot be combined with dcrConfig, which brings a secret of its own.",
            lambda upstream: upstream.dcr_config is None or upstream.client_secret_ref is None,
            ("clientSecretRef",),
        ),
    )

    authorization_endpoint: WebUrl = Field(description="Where browsers are sent.")
    token_endpoint: WebUrl = Field(description="Where codes become tokens.")
    client_id: Text | None = Field(default=None, description="Our id as a client.")
    client_secret_ref: SecretKeyRef | None = Field(
        default=None, description="The Secret that holds our secret as a client."
    )
    dcr_config: ClientRegistration | None = Field(
        default=None, description="How to register as a client, instead of `clientId`."
    )
    redirect_uri: Text | None = Field(
        default=None, description="Where the provider sends browsers back to."
    )
    scopes: Texts | None = Field(default=None, description="The scopes to ask for.")
    additional_authorization_params: _Parameters | None = Field(
        default=None, description="Parameters to add when browsers are sent there."
    )
    user_info: UserInfo | None = Field(
        default=None, description="Where the provider tells who a user is."
    )
    identity_from_token: TokenIdentity | None = Field(
        default=None, description="Where the token endpoint's answer tells who a user is."
    )
    token_response_mapping: TokenResponse | None = Field(
        default=None, description="Where a token endpoint that follows no standard puts its answer."
    )
    insecure_allow_http: Flag | None = Field(
        default=None, alias="insecureAllowHTTP", description="Allow endpoints with http, for tests."
    )
    allow_private_ips: Flag | None = Field(
        default=None,
        alias="allowPrivateIPs",
        description="Whether endpoints may have private addresses.",
    )


@spec
class OidcUpstream(Spec):
    """A provider that speaks OpenID Connect."""

    issuer_url: HttpsUrl = Field(description="The issuer; its metadata names the endpoints.")
    client_id: Text = Field(description="Our id as a client.")
    client_secret_ref: SecretKeyRef | None = Field(
        default=None, description="The Secret that holds our secret as a client."
    )
    redirect_uri: Text | None = Field(
        default=None, description="Where the provider sends browsers back to."
    )
    scopes: Texts | None = Field(default=None, description="The scopes to ask for.")
    subject_claim: (
        Annotated[Text, Field(max_length=128, pattern=r"^([A-Za-z_][A-Za-z0-9_]*)?$")] | None
    ) = Field(default=None, description="The claim that identifies the user; `sub` if absent.")
    additional_authorization_params: _Parameters | None = Field(
        default=None, description="Parameters to add when browsers are sent there."
    )
    user_info_override: UserInfo | None = Field(
        default=None, description="Where to ask who a user is, instead of where the metadata says."
    )


@spec
class UpstreamProvider(Spec):
    """An identity provider at which users log in."""

    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "(self.type == 'oidc') == has(self.oidcConfig)",
            "oidcConfig must be there if type is 'oidc', and only then.",
            lambda provider: (provider.type == "oidc") == (provider.oidc_config is not None),
            ("oidcConfig",),
        ),
        Rule(
            "(self.type == 'oauth2') == has(self.oauth2Config)",
            "oauth2Config must be there if type is 'oauth2', and only then.",
            lambda provider: (provider.type == "oauth2") == (provider.oauth2_config is not None),
            ("oauth2Config",),
        ),
    )

    name: DnsLabel = Field(description="The name by which other settings refer to it.")
    type: Literal["oidc", "oauth2"] = Field(description="What the provider speaks.")
    oidc_config: OidcUpstream | None = Field(default=None, description="The settings of `oidc`.")
    oauth2_config: OAuth2Upstream | None = Field(
        default=None, description="The settings of `oauth2`."
    )
