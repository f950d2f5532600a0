"""The sections `incomingAuth` and `outgoingAuth` of a gateway's config."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import Field

from vmcp.crd.specs.base import Spec, spec
from vmcp.crd.specs.values import Flag, SecretText, Text, Texts, WebUrl, Whole


@spec
class RuntimeOidc(Spec):
    """How the tokens of callers are checked."""

    issuer: WebUrl = Field(description="The issuer of the tokens.")
    audience: Text = Field(description="The audience that tokens must be made for.")
    client_id: Text = Field(description="Our id as a client of the issuer.")
    client_secret_env: Text | None = Field(
        default=None, description="The environment variable with our secret as a client."
    )
    resource: Text | None = Field(
        default=None, description="The URL by which clients know the protected resource."
    )
    scopes: Texts | None = Field(
        default=None, description="The scopes that clients are told to ask for."
    )
    jwks_url: Text | None = Field(default=None, description="Where the issuer's keys are.")
    introspection_url: Text | None = Field(
        default=None, description="Where the issuer tells of opaque tokens."
    )
    ca_bundle_path: Text | None = Field(
        default=None, description="The file with the certificates that are trusted for the issuer."
    )
    insecure_allow_http: Flag | None = Field(
        default=None, description="Allow an issuer with http, for tests."
    )
    jwks_allow_private_ip: Flag | None = Field(
        default=None, description="Whether the keys may be at a private address."
    )
    protected_resource_allow_private_ip: Flag | None = Field(
        default=None, description="Whether the protected resource may have a private address."
    )


@spec
class RuntimeAuthz(Spec):
    """Who may do what."""

    type: Text = Field(description="The kind of policies.")
    policies: Texts | None = Field(default=None, description="The policies.")
    entities_json: Text | None = Field(
        default=None, description="The entities that the policies speak of, as JSON."
    )
    primary_upstream_provider: Text | None = Field(
        default=None, description="The provider whose claims count, where there are several."
    )
    group_claim_name: Text | None = Field(
        default=None, description="The claim that names the groups of a caller."
    )
    role_claim_name: Text | None = Field(
        default=None, description="The claim that names the roles of a caller."
    )
    group_entity_type: Text | None = Field(
        default=None, description="The type of entity that groups are in policies."
    )


@spec
class RuntimeIncomingAuth(Spec):
    """Who may come in."""

    type: Text = Field(description="How callers are known.")
    oidc: RuntimeOidc | None = Field(
        default=None, description="How the tokens of callers are checked."
    )
    authz: RuntimeAuthz | None = Field(default=None, description="Who may do what.")


@spec
class HeaderStrategy(Spec):
    """One header with a fixed value."""

    header_name: Text = Field(description="The name of the header.")
    header_value: SecretText | None = Field(default=None, description="Its value.")
    header_value_env: Text | None = Field(
        default=None, description="The environment variable with its value."
    )


@spec
class ExchangeStrategy(Spec):
    """The caller's token is exchanged for another."""

    token_url: Text = Field(description="The token endpoint.")
    audience: Text | None = Field(default=None, description="Whom the new token is for.")
    client_id: Text | None = Field(default=None, description="The id of the client that exchanges.")
    client_secret: SecretText | None = Field(default=None, description="The client's secret.")
    client_secret_env: Text | None = Field(
        default=None, description="The environment variable with the client's secret."
    )
    scopes: Texts | None = Field(default=None, description="The scopes to ask for.")
    subject_token_type: Text | None = Field(
        default=None, description="What kind of token the caller's is."
    )
    subject_provider_name: Text | None = Field(
        default=None, description="The provider whose token is exchanged, where there are several."
    )


@spec
class RoleMappingStrategy(Spec):
    """A role for callers of whom something holds."""

    role_arn: Text = Field(description="The role.")
    claim: Text | None = Field(default=None, description="The value that `roleClaim` must hold.")
    matcher: Text | None = Field(
        default=None, description="A CEL expression over the claims that must be true."
    )
    priority: Whole | None = Field(
        default=None, description="Which mapping wins if several match: the lowest number."
    )


@spec
class AwsStrategy(Spec):
    """Requests are signed with credentials of a role that the caller's token opens."""

    region: Text = Field(description="The AWS region.")
    service: Text | None = Field(
        default=None, description="The service that requests are signed for."
    )
    role_mappings: tuple[RoleMappingStrategy, ...] | None = Field(
        default=None, description="Which role a caller gets."
    )
    fallback_role_arn: Text | None = Field(
        default=None, description="The role of callers that no mapping matches."
    )
    role_claim: Text | None = Field(default=None, description="The claim that mappings look at.")
    session_name_claim: Text | None = Field(
        default=None, description="The claim that names the session in AWS's logs."
    )
    session_duration: Whole | None = Field(
        default=None, description="How many seconds the credentials are good for."
    )
    subject_provider_name: Text | None = Field(
        default=None, description="The provider whose token is used, where there are several."
    )


@spec
class OnBehalfOfStrategy(Spec):
    """The caller's token is exchanged for one of Microsoft Entra in the caller's name."""

    token_url: Text = Field(description="The token endpoint.")
    client_id: Text | None = Field(default=None, description="The id of the client that exchanges.")
    client_secret: SecretText | None = Field(default=None, description="The client's secret.")
    client_secret_env: Text | None = Field(
        default=None, description="The environment variable with the client's secret."
    )
    audience: Text | None = Field(default=None, description="Whom the new token is for.")
    scopes: Texts | None = Field(default=None, description="The scopes to ask for.")
    cache_skew_seconds: Whole | None = Field(
        default=None, description="How long before its end a token is no longer used."
    )
    subject_token_provider_name: Text | None = Field(
        default=None, description="The provider whose token is exchanged, where there are several."
    )


@spec
class CrossAppStrategy(Spec):
    """An identity token becomes an assertion for the server's own login server, which gives a token."""

    idp_token_url: Text = Field(description="The token endpoint of the identity provider.")
    idp_client_id: Text | None = Field(
        default=None, description="The id of the client at the identity provider."
    )
    idp_client_secret: SecretText | None = Field(default=None, description="This client's secret.")
    idp_client_secret_env: Text | None = Field(
        default=None, description="The environment variable with this client's secret."
    )
    target_token_url: Text = Field(description="The token endpoint of the server's login server.")
    target_audience: Text = Field(description="The issuer that the assertion is for.")
    target_resource: Text | None = Field(
        default=None, description="The resource that the token is for."
    )
    target_client_id: Text | None = Field(
        default=None, description="The id of the client at the server's login server."
    )
    target_client_secret: SecretText | None = Field(
        default=None, description="This client's secret."
    )
    target_client_secret_env: Text | None = Field(
        default=None, description="The environment variable with this client's secret."
    )
    scopes: Texts | None = Field(default=None, description="The scopes to ask for.")
    subject_provider_name: Text | None = Field(
        default=None, description="The provider whose token is exchanged, where there are several."
    )
    subject_token_type: Text | None = Field(
        default=None, description="What kind of token the caller's is."
    )
    insecure_target_token_url: Flag | None = Field(
        default=None, description="Allow http for `targetTokenUrl`, for tests."
    )


@spec
class UpstreamStrategy(Spec):
    """The token that a user got from an identity provider when logging in."""

    provider_name: Text = Field(description="The name of the provider.")


@spec
class Strategy(Spec):
    """The way to authenticate to a backend, and the settings of this way."""

    type: Text = Field(description="The way to authenticate, in snake_case.")
    header_injection: HeaderStrategy | None = Field(
        default=None, description="The settings of `header_injection`."
    )
    token_exchange: ExchangeStrategy | None = Field(
        default=None, description="The settings of `token_exchange`."
    )
    upstream_inject: UpstreamStrategy | None = Field(
        default=None, description="The settings of `upstream_inject`."
    )
    aws_sts: AwsStrategy | None = Field(default=None, description="The settings of `aws_sts`.")
    obo: OnBehalfOfStrategy | None = Field(default=None, description="The settings of `obo`.")
    xaa: CrossAppStrategy | None = Field(default=None, description="The settings of `xaa`.")


@spec
class RuntimeOutgoingAuth(Spec):
    """How the gateway authenticates to backends."""

    source: Text = Field(description="Whether the backends' own settings count.")
    default: Strategy | None = Field(
        default=None, description="The way for backends without one of their own."
    )
    backends: Mapping[Text, Strategy] | None = Field(
        default=None, description="The ways for single backends, by their names."
    )
