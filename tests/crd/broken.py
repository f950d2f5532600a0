"""Specs with one thing wrong each: where it is, and what is said of it. Every rule is broken once."""

from __future__ import annotations

from collections.abc import Iterator

from tests.crd.broken_auth import auth_rules
from tests.crd.broken_spec import SECRET, Broken, Fields
from tests.crd.broken_values import values

_BUCKET = {"maxTokens": 1, "refillPeriod": "1m"}
_POLICIES = {"policies": ["permit(principal, action, resource);"]}


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
    secret = [{"name": "X-A", "secretKeyRef": SECRET}]
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


BROKEN = (*values(), *auth_rules(), *_workloads(), *_configs(), *_gateways())
