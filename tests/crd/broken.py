"""Specs with one thing wrong each: where it is, and what is said of it. Every rule is broken once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

Fields = dict[str, Any]


@dataclass(frozen=True)
class Broken:
    """A spec of a kind that nobody takes; `place` and `message` are those of the fault."""

    kind: str
    change: Fields
    place: str
    message: str

    @property
    def spec(self) -> Fields:
        """The smallest spec of the kind, with the change."""
        return merged(SMALLEST[self.kind], self.change)

    @property
    def name(self) -> str:
        """What a test is called after."""
        return f"{self.kind}-{self.place}-{self.message[:40]}"


def merged(base: Mapping[str, Any], change: Mapping[str, Any]) -> Fields:
    """Return a mapping with some members replaced, at any depth; None takes one away."""
    found = dict(base)
    for key, value in change.items():
        inner = found.get(key)
        both = isinstance(inner, dict) and isinstance(value, dict)
        found[key] = merged(inner, value) if both else value
    return {key: value for key, value in found.items() if value is not None}


_SECRET = {"name": "s", "key": "k"}
_OIDC = {"issuerUrl": "https://idp.example.com", "clientId": "c"}
_OAUTH2 = {
    "authorizationEndpoint": "https://a.example.com",
    "tokenEndpoint": "https://t.example.com",
}
_BUCKET = {"maxTokens": 1, "refillPeriod": "1m"}
_LOGIN = {
    "issuer": "https://mcp.example.com",
    "upstreamProviders": [{"name": "idp", "type": "oidc", "oidcConfig": _OIDC}],
}
_POLICIES = {"policies": ["permit(principal, action, resource);"]}
_REDIS = {"aclUserConfig": {"passwordSecretRef": _SECRET}}

SMALLEST: dict[str, Fields] = {
    "MCPGroup": {},
    "MCPServerEntry": {
        "groupRef": {"name": "g"},
        "remoteUrl": "https://a.example.com/mcp",
        "transport": "streamable-http",
    },
    "MCPServer": {"image": "i"},
    "MCPRemoteProxy": {"remoteUrl": "https://a.example.com/mcp"},
    "MCPToolConfig": {},
    "MCPExternalAuthConfig": {"type": "unauthenticated"},
    "MCPOIDCConfig": {"type": "inline", "inline": {"issuer": "https://idp.example.com"}},
    "MCPAuthzConfig": {"type": "cedarv1", "config": {}},
    "MCPTelemetryConfig": {},
    "VirtualMCPServer": {"groupRef": {"name": "g"}, "incomingAuth": {"type": "anonymous"}},
    "VirtualMCPCompositeToolDefinition": {"name": "t", "steps": []},
}

_REQUIRED, _CHOICE, _WRITTEN = (
    "Is required.",
    "Is none of the allowed values.",
    "Is not written as it must be.",
)
_RANGE, _SHORT, _LONG = "Is out of range.", "Has too few characters.", "Has too many characters."
_FEW, _MANY = "Has too few entries.", "Has too many entries."


def _entry(change: Fields, place: str, message: str) -> Broken:
    return Broken("MCPServerEntry", change, place, message)


def _values() -> Iterator[Broken]:
    """Yield one fault of a single value for each kind of check."""
    yield _entry({"groupRef": None}, "groupRef", _REQUIRED)
    yield _entry({"groupRef": {"name": ""}}, "groupRef.name", _SHORT)
    yield _entry({"groupRef": "g"}, "groupRef", "Must be a mapping.")
    yield _entry({"remoteUrl": None}, "remoteUrl", _REQUIRED)
    yield _entry({"remoteUrl": 8080}, "remoteUrl", "Must be text.")
    yield _entry({"remoteUrl": "ftp://a.example.com"}, "remoteUrl", _WRITTEN)
    yield _entry({"transport": "websocket"}, "transport", _CHOICE)
    yield _entry({"allowPrivateEndpoint": "yes"}, "allowPrivateEndpoint", "Must be true or false.")
    forward = "headerForward.addHeadersFromSecret"
    header = {"headerName": "X-A", "valueSecretRef": _SECRET}
    yield _entry({"headerForward": {"addHeadersFromSecret": header}}, forward, "Must be a list.")
    yield _entry(
        {"headerForward": {"addHeadersFromSecret": [header, header]}},
        forward,
        "Holds two entries with the same headerName.",
    )
    yield _entry(
        {"headerForward": {"addHeadersFromSecret": [{**header, "headerName": "x" * 256}]}},
        f"{forward}[0].headerName",
        _LONG,
    )
    yield _entry(
        {"headerForward": {"addHeadersFromSecret": [{"headerName": "X-A", "valueSecretRef": {}}]}},
        f"{forward}[0].valueSecretRef.name",
        _REQUIRED,
    )
    yield _entry(
        {"headerForward": {"addPlaintextHeaders": {"X-A": 1}}},
        "headerForward.addPlaintextHeaders.X-A",
        "Must be text.",
    )
    yield Broken("MCPServer", {"image": None}, "image", _REQUIRED)
    yield Broken("MCPServer", {"mcpPort": 65536}, "mcpPort", _RANGE)
    yield Broken("MCPServer", {"replicas": -1}, "replicas", _RANGE)
    yield Broken("MCPServer", {"replicas": "2"}, "replicas", "Must be a whole number.")
    yield Broken("MCPServer", {"podTemplateSpec": []}, "podTemplateSpec", "Must be a mapping.")
    yield Broken(
        "MCPToolConfig", {"toolsFilter": ["a", "b", "a"]}, "toolsFilter", "Holds an entry twice."
    )
    yield Broken(
        "MCPExternalAuthConfig",
        {"type": "awsSts", "awsSts": {"region": "eu-west-1", "sessionDuration": 899}},
        "awsSts.sessionDuration",
        _RANGE,
    )
    scopes = {"scopes": [f"s{number}" for number in range(21)]}
    yield Broken("MCPExternalAuthConfig", {"type": "obo", "obo": scopes}, "obo.scopes", _MANY)
    yield Broken(
        "MCPServer",
        {"authzConfig": {"type": "inline", "inline": {"policies": []}}},
        "authzConfig.inline.policies",
        _FEW,
    )
    optimizer = {"embeddingProvider": "openai"}
    headers = {f"X-{number}": "v" for number in range(33)}
    yield Broken(
        "VirtualMCPServer",
        {"config": {"optimizer": {**optimizer, "embeddingHeaders": headers}}},
        "config.optimizer.embeddingHeaders",
        _MANY,
    )
    yield Broken(
        "VirtualMCPServer",
        {"config": {"operational": {"timeouts": {"default": "30"}}}},
        "config.operational.timeouts.default",
        _WRITTEN,
    )


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
    token = {"bearerToken": {"tokenSecretRef": _SECRET}}
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
        "clientSecretRef": _SECRET,
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
            "oauth2Config": {**_OAUTH2, "clientSecretRef": _SECRET, "dcrConfig": registration},
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


def _workloads() -> Iterator[Broken]:
    """Yield rules of servers and their proxies."""
    ref = {"authzConfigRef": {"name": "a"}}
    both = {"authzConfig": {"type": "inline", "inline": _POLICIES}, **ref}
    message = "authzConfig and authzConfigRef cannot both be set."
    yield Broken("MCPServer", both, "authzConfigRef", message)
    yield Broken("MCPRemoteProxy", both, "authzConfigRef", message)
    yield Broken(
        "MCPServer",
        {"authzConfig": {}},
        "authzConfig.configMap",
        "configMap must be there if type is 'configMap', and only then.",
    )
    yield Broken(
        "MCPServer",
        {"authzConfig": {"configMap": {"name": "c"}, "inline": _POLICIES}},
        "authzConfig.inline",
        "inline must be there if type is 'inline', and only then.",
    )
    yield Broken(
        "MCPRemoteProxy",
        {"sessionStorage": {"provider": "redis"}},
        "sessionStorage.address",
        "address is required if provider is 'redis'.",
    )
    yield Broken(
        "MCPServer",
        {"rateLimiting": {"shared": _BUCKET}},
        "rateLimiting",
        "rateLimiting needs sessionStorage with provider 'redis'.",
    )
    redis = {"sessionStorage": {"provider": "redis", "address": "redis:6379"}}
    needs = "perUser in rateLimiting needs oidcConfigRef or externalAuthConfigRef."
    tools = [{"name": "t", "perUser": _BUCKET}]
    yield Broken(
        "MCPServer", {"rateLimiting": {"perUser": _BUCKET}, **redis}, "rateLimiting", needs
    )
    yield Broken("MCPServer", {"rateLimiting": {"tools": tools}, **redis}, "rateLimiting", needs)
    yield Broken(
        "MCPServer",
        {"rateLimiting": {}, **redis},
        "rateLimiting",
        "At least one of shared, perUser and tools must be set.",
    )
    yield Broken(
        "MCPServer",
        {"rateLimiting": {"tools": [{"name": "t"}]}, **redis},
        "rateLimiting.tools[0]",
        "At least one of shared and perUser must be set.",
    )


def _configs() -> Iterator[Broken]:
    """Yield rules of the configs that callers' tokens and telemetry follow."""
    yield Broken(
        "MCPOIDCConfig",
        {"kubernetesServiceAccount": {}},
        "kubernetesServiceAccount",
        "kubernetesServiceAccount must be there if type is 'kubernetesServiceAccount', and only then.",
    )
    yield Broken(
        "MCPOIDCConfig",
        {"inline": None},
        "inline",
        "inline must be there if type is 'inline', and only then.",
    )
    secret = [{"name": "X-A", "secretKeyRef": _SECRET}]
    yield Broken(
        "MCPTelemetryConfig",
        {"openTelemetry": {"headers": {"X-A": "v"}, "sensitiveHeaders": secret}},
        "openTelemetry.sensitiveHeaders",
        "A header cannot stand in headers and in sensitiveHeaders.",
    )


def _gateway(change: Fields, place: str, message: str) -> Broken:
    return Broken("VirtualMCPServer", change, place, message)


def _gateways() -> Iterator[Broken]:
    """Yield rules of gateways."""
    yield _gateway(
        {"incomingAuth": {"type": "oidc"}},
        "incomingAuth.oidcConfigRef",
        "oidcConfigRef is required if type is 'oidc'.",
    )
    limited = {"config": {"rateLimiting": {"shared": _BUCKET}}}
    yield _gateway(
        limited,
        "config.rateLimiting",
        "config.rateLimiting needs sessionStorage with provider 'redis'.",
    )
    redis = {"sessionStorage": {"provider": "redis", "address": "redis:6379"}}
    needs = "perUser in config.rateLimiting needs incomingAuth of type 'oidc'."
    each = {"config": {"rateLimiting": {"perUser": _BUCKET}}}
    tool = {"config": {"rateLimiting": {"tools": [{"name": "t", "perUser": _BUCKET}]}}}
    yield _gateway({**each, **redis}, "config.rateLimiting", needs)
    yield _gateway({**tool, **redis}, "config.rateLimiting", needs)
    openai = {"embeddingProvider": "openai"}
    yield _gateway(
        {"embeddingServerRef": {"name": "e"}, "config": {"optimizer": openai}},
        "embeddingServerRef",
        "embeddingServerRef cannot be combined with config.optimizer.embeddingProvider 'openai'.",
    )
    place = "config.optimizer.embeddingHeaders"
    yield _gateway(
        {"config": {"optimizer": {"embeddingHeaders": {"X-A": "v"}}}},
        place,
        "embeddingHeaders needs embeddingProvider 'openai'.",
    )
    for header in ("Content-Type", "X A"):
        yield _gateway(
            {"config": {"optimizer": {**openai, "embeddingHeaders": {header: "v"}}}},
            place,
            "embeddingHeaders must hold names of headers, and neither Authorization nor Content-Type.",
        )
    breaker = {"circuitBreaker": {"timeout": "999ms"}}
    yield _gateway(
        {"config": {"operational": {"failureHandling": breaker}}},
        "config.operational.failureHandling.circuitBreaker.timeout",
        "timeout must be 1s or more.",
    )


BROKEN = (
    *_values(),
    *_types(),
    *_server(),
    *_providers(),
    *_issuers(),
    *_workloads(),
    *_configs(),
    *_gateways(),
)
