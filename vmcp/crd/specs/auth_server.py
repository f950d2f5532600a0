"""An authorization server that runs within the gateway, and what it is made of."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field

from vmcp.crd.specs.auth_storage import AuthStorage
from vmcp.crd.specs.base import Rule, Spec, spec
from vmcp.crd.specs.references import SecretKeyRef
from vmcp.crd.specs.trusted_issuers import TrustedIssuer
from vmcp.crd.specs.upstreams import UpstreamProvider
from vmcp.crd.specs.values import DnsLabel, Duration, Flag, Positive, Text, keyed_by

_MAX_FEW = 10

_BaseUrl = Annotated[Text, Field(pattern=r"^https?://[^\s?#]*[^/\s?#]$")]
_RedirectUri = Annotated[Text, Field(pattern=r"^https://[^\s?#]+$")]
_Scope = Annotated[Text, Field(min_length=1, max_length=256)]
# Visible ASCII without quotes and backslash, as RFC 6749 writes a scope.
_ScopeToken = Annotated[Text, Field(min_length=1, pattern=r"^[\x21\x23-\x5B\x5D-\x7E]+$")]
_Audience = Annotated[Text, Field(min_length=1, max_length=2048)]


@spec
class ClientIdDocuments(Spec):
    """Clients whose id is the URL of a document about them."""

    enabled: Flag = Field(default=False, description="Take such clients.")
    cache_max_size: Positive | None = Field(
        default=None, description="How many documents are remembered."
    )
    cache_fallback_ttl: Duration | None = Field(
        default=None, description="How long, where their answer does not say."
    )


@spec
class DelegateClient(Spec):
    """A client that may exchange a user's token for another."""

    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "size(self.clientSecretRef.name) > 0 && size(self.clientSecretRef.key) > 0",
            "clientSecretRef must name a Secret and a key.",
            lambda client: bool(client.client_secret_ref.name and client.client_secret_ref.key),
            ("clientSecretRef",),
        ),
    )

    client_id: Annotated[Text, Field(min_length=1, max_length=256)] = Field(
        description="The id of the client."
    )
    client_secret_ref: SecretKeyRef = Field(description="The Secret that holds its secret.")
    audiences: Annotated[tuple[_Audience, ...], Field(min_length=1, max_length=_MAX_FEW)] = Field(
        description="Whom it may ask tokens for."
    )
    scopes: Annotated[tuple[_Scope, ...], Field(min_length=1, max_length=_MAX_FEW)] = Field(
        description="The scopes that it may ask for."
    )


@spec
class TokenLifespans(Spec):
    """How long what is given out is good for."""

    access_token_lifespan: Duration | None = Field(default=None, description="Of access tokens.")
    refresh_token_lifespan: Duration | None = Field(default=None, description="Of refresh tokens.")
    auth_code_lifespan: Duration | None = Field(default=None, description="Of authorization codes.")


@spec
class EmbeddedAuthServer(Spec):
    """An authorization server within the gateway, which has users log in elsewhere."""

    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "!(has(self.allowConfidentialClientRegistration) && self.allowConfidentialClientRegistration"
            " && has(self.insecureAllowHTTP) && self.insecureAllowHTTP)",
            "allowConfidentialClientRegistration cannot be combined with insecureAllowHTTP, which would "
            "send secrets of clients unencrypted.",
            lambda server: (
                not (server.allow_confidential_client_registration and server.insecure_allow_http)
            ),
            ("allowConfidentialClientRegistration",),
        ),
        Rule(
            "!has(self.delegateClients) || size(self.delegateClients) == 0"
            " || !self.issuer.startsWith('http://')",
            "delegateClients need an issuer with https, since their secrets are sent to it.",
            lambda server: not (server.delegate_clients and server.issuer.startswith("http://")),
            ("delegateClients",),
        ),
        Rule(
            "!has(self.forceConfidentialRedirectUris) || size(self.forceConfidentialRedirectUris) == 0"
            " || (has(self.allowConfidentialClientRegistration)"
            " && self.allowConfidentialClientRegistration)",
            "forceConfidentialRedirectUris needs allowConfidentialClientRegistration.",
            lambda server: (
                not server.force_confidential_redirect_uris
                or server.allow_confidential_client_registration
            ),
            ("forceConfidentialRedirectUris",),
        ),
    )

    issuer: _BaseUrl = Field(description="The URL by which clients know this server.")
    authorization_endpoint_base_url: _BaseUrl | None = Field(
        default=None, description="Where browsers are sent, if not to the issuer."
    )
    upstream_providers: Annotated[
        tuple[UpstreamProvider, ...], Field(min_length=1), keyed_by("name")
    ] = Field(description="Where users log in.")
    primary_upstream_provider: DnsLabel | None = Field(
        default=None, description="The provider that tells who a user is, where there are several."
    )
    signing_key_secret_refs: Annotated[tuple[SecretKeyRef, ...], Field(max_length=5)] | None = (
        Field(
            default=None,
            description="Keys to sign tokens with: the first signs, the others are still trusted.",
        )
    )
    hmac_secret_refs: tuple[SecretKeyRef, ...] | None = Field(
        default=None, description="Secrets that codes and refresh tokens are sealed with."
    )
    storage: AuthStorage | None = Field(default=None, description="Where sessions are kept.")
    token_lifespans: TokenLifespans | None = Field(
        default=None, description="How long what is given out is good for."
    )
    cimd: ClientIdDocuments | None = Field(
        default=None, description="Clients whose id is the URL of a document about them."
    )
    baseline_client_scopes: (
        Annotated[tuple[_ScopeToken, ...], Field(max_length=_MAX_FEW)] | None
    ) = Field(default=None, description="Scopes that every client may ask for.")
    allow_confidential_client_registration: Flag = Field(
        default=False, description="Let clients register that have a secret."
    )
    force_confidential_redirect_uris: (
        Annotated[tuple[_RedirectUri, ...], Field(max_length=_MAX_FEW)] | None
    ) = Field(default=None, description="Redirect URIs whose clients always get a secret.")
    delegate_clients: Annotated[tuple[DelegateClient, ...], Field(max_length=_MAX_FEW)] | None = (
        Field(default=None, description="Clients that may exchange a user's token for another.")
    )
    trusted_issuers: Annotated[tuple[TrustedIssuer, ...], Field(max_length=20)] | None = Field(
        default=None, description="Issuers whose tokens are taken in exchange."
    )
    disable_upstream_token_injection: Flag = Field(
        default=False, description="Do not send backends the token of the provider."
    )
    insecure_allow_http: Flag = Field(
        default=False,
        alias="insecureAllowHTTP",
        description="Allow an issuer with http, for tests.",
    )
    insecure_allow_confidential_over_loopback_http: Flag = Field(
        default=False,
        alias="insecureAllowConfidentialOverLoopbackHTTP",
        description="Give clients on loopback secrets even over http, for tests.",
    )
