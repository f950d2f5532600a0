"""Rules of outgoing auth that are broken, those of the embedded authorization server included."""

from __future__ import annotations

from collections.abc import Iterator

from tests.crd.broken_spec import SECRET, Broken, Fields, merged

_OIDC = {"issuerUrl": "https://idp.example.com", "clientId": "c"}
_OAUTH2 = {
    "authorizationEndpoint": "https://a.example.com",
    "tokenEndpoint": "https://t.example.com",
}
_LOGIN = {
    "issuer": "https://mcp.example.com",
    "upstreamProviders": [{"name": "idp", "type": "oidc", "oidcConfig": _OIDC}],
}
_REDIS = {"aclUserConfig": {"passwordSecretRef": SECRET}}


def _auth(change: Fields, place: str, message: str) -> Broken:
    return Broken("MCPExternalAuthConfig", change, place, message)


def _login(change: Fields, place: str, message: str) -> Broken:
    settings = merged(_LOGIN, change)
    where = "embeddedAuthServer" + (f".{place}" if place else "")
    return _auth({"type": "embeddedAuthServer", "embeddedAuthServer": settings}, where, message)


def _types() -> Iterator[Broken]:
    """Yield each type of outgoing auth without its settings, or with those of another."""
    for kind in ("tokenExchange", "headerInjection", "embeddedAuthServer", "awsSts", "obo", "xaa"):
        message = f"{kind} must be there if type is '{kind}', and only then."
        yield _auth({"type": kind}, kind, message)
    token = {"bearerToken": {"tokenSecretRef": SECRET}}
    yield _auth(
        {"type": "unauthenticated", **token},
        "bearerToken",
        "bearerToken must be there if type is 'bearerToken', and only then.",
    )
    inject = {"upstreamInject": {"providerName": "p"}}
    yield _auth(
        {"type": "bearerToken", **token, **inject},
        "upstreamInject",
        "upstreamInject must be there if type is 'upstreamInject', and only then.",
    )


def _server() -> Iterator[Broken]:
    """Yield rules of the embedded authorization server."""
    confidential = "allowConfidentialClientRegistration"
    yield _login(
        {confidential: True, "insecureAllowHTTP": True},
        confidential,
        f"{confidential} cannot be combined with insecureAllowHTTP, which would send secrets of clients "
        "unencrypted.",
    )
    client = {
        "clientId": "c",
        "clientSecretRef": SECRET,
        "audiences": ["https://api.example.com"],
        "scopes": ["s"],
    }
    yield _login(
        {"issuer": "http://mcp.example.com", "delegateClients": [client]},
        "delegateClients",
        "delegateClients need an issuer with https, since their secrets are sent to it.",
    )
    yield _login(
        {"delegateClients": [{**client, "clientSecretRef": {"name": "", "key": "k"}}]},
        "delegateClients[0].clientSecretRef",
        "clientSecretRef must name a Secret and a key.",
    )
    yield _login(
        {"forceConfidentialRedirectUris": ["https://app.example.com/cb"]},
        "forceConfidentialRedirectUris",
        "forceConfidentialRedirectUris needs allowConfidentialClientRegistration.",
    )
    yield _login(
        {"storage": {"type": "redis", "redis": _REDIS}},
        "storage.redis",
        "Exactly one of addr and sentinelConfig must be set.",
    )
    sentinels = {"sentinelConfig": {"masterName": "m"}, "clusterMode": True}
    yield _login(
        {"storage": {"type": "redis", "redis": {**_REDIS, **sentinels}}},
        "storage.redis.clusterMode",
        "clusterMode needs addr.",
    )


def _provider(provider: Fields, place: str, message: str) -> Broken:
    providers = [{"name": "idp", **provider}]
    where = "upstreamProviders[0]" + (f".{place}" if place else "")
    return _login({"upstreamProviders": providers}, where, message)


def _providers() -> Iterator[Broken]:
    """Yield rules of identity providers."""
    yield _provider(
        {"type": "oidc"},
        "oidcConfig",
        "oidcConfig must be there if type is 'oidc', and only then.",
    )
    yield _provider(
        {"type": "oidc", "oidcConfig": _OIDC, "oauth2Config": {**_OAUTH2, "clientId": "c"}},
        "oauth2Config",
        "oauth2Config must be there if type is 'oauth2', and only then.",
    )
    yield _provider(
        {"type": "oauth2", "oauth2Config": _OAUTH2},
        "oauth2Config",
        "Exactly one of clientId and dcrConfig must be set.",
    )
    registration = {"registrationEndpoint": "https://r.example.com/register"}
    yield _provider(
        {
            "type": "oauth2",
            "oauth2Config": {**_OAUTH2, "clientSecretRef": SECRET, "dcrConfig": registration},
        },
        "oauth2Config.clientSecretRef",
        "clientSecretRef cannot be combined with dcrConfig, which brings a secret of its own.",
    )
    yield _provider(
        {"type": "oauth2", "oauth2Config": {**_OAUTH2, "dcrConfig": {}}},
        "oauth2Config.dcrConfig",
        "Exactly one of discoveryUrl and registrationEndpoint must be set.",
    )


def _issuer(change: Fields, place: str, message: str) -> Broken:
    issuer = {
        "issuerUrl": "https://i.example.com",
        "expectedAudience": "https://mcp.example.com",
        "allowedDelegateClients": ["c"],
    }
    return _login(
        {"trustedIssuers": [merged(issuer, change)]}, f"trustedIssuers[0].{place}", message
    )


def _issuers() -> Iterator[Broken]:
    """Yield rules of trusted issuers."""
    yield _issuer(
        {"allowedDelegateClients": ["*", "c"]},
        "allowedDelegateClients",
        "allowedDelegateClients must hold either '*' or ids of clients.",
    )
    yield _issuer(
        {"allowedDelegateClients": ["*"], "allowMayAct": True},
        "allowMayAct",
        "allowMayAct cannot be combined with allowedDelegateClients of '*'.",
    )
    yield _issuer(
        {"actorClaim": "sub"},
        "actorClaim",
        "actorClaim must not be a claim that has a meaning of its own.",
    )
    yield _issuer({"allowPrivateIPs": True}, "allowPrivateIPs", "allowPrivateIPs needs jwksUrl.")
    yield _issuer(
        {"expectedAudience": None},
        "expectedAudience",
        "expectedAudience is required, unless jwtBearerGrant is set and nothing about actors is.",
    )
    yield _issuer(
        {"allowedDelegateClients": None},
        "allowedDelegateClients",
        "allowedDelegateClients is required with expectedAudience, actorClaim, actorMatcher and "
        "allowMayAct.",
    )
    binding = {"subject": "a", "allowedResources": ["https://mcp.example.com/mcp"]}
    yield _issuer(
        {"jwtBearerGrant": {"maxAssertionAge": "0s", "subjectBindings": [binding]}},
        "jwtBearerGrant.maxAssertionAge",
        "maxAssertionAge must be a duration above zero.",
    )
    yield _issuer(
        {"jwtBearerGrant": {"maxAssertionAge": "5m", "subjectBindings": [binding, binding]}},
        "jwtBearerGrant.subjectBindings",
        "subjectBindings must not hold a subject twice.",
    )


def auth_rules() -> Iterator[Broken]:
    """Yield them all."""
    yield from _types()
    yield from _server()
    yield from _providers()
    yield from _issuers()
