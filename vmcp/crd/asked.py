"""What an object asks for that is not implemented: protections, without which nobody is served, and the rest."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

Spec = Mapping[str, Any]
Asks = Callable[[Any], bool]

_CONFIG = "config."
# The sections of `spec.config` that are read, or that `spec` itself or the operator settles.
_READ = frozenset(
    (
        *("aggregation", "groupRef", "metadata", "name", "operational", "outgoingAuth"),
        *("audit", "incomingAuth", "passthroughHeaders", "rateLimiting", "sessionStorage"),
    )
)
# Keys that would have a resource read the variables or the files of our process.
_OUTSIDE = ("Env", "File")
# The language of policies, and the one in it that lets everybody do everything.
_CEDAR = ("cedar", "cedarv1")
_PERMIT_ALL = re.compile(r"\s*permit\s*\(\s*principal\s*,\s*action\s*,\s*resource\s*\)\s*;\s*")

# What stands where only protections stand; anything else there is one of a later version.
_KNOWN: Mapping[str, Mapping[str, frozenset[str]]] = {
    "VirtualMCPServer": {
        "incomingAuth": frozenset(("type", "oidcConfigRef", "authzConfig", "authzConfigRef")),
        "config.incomingAuth": frozenset(("type", "oidc", "authz")),
    },
}

# What changes nothing about it.
_HARMLESS = frozenset(
    (
        *("type", "policies", "entitiesJson", "primaryUpstreamProvider"),
        *("groupClaimName", "roleClaimName", "groupEntityType"),
    )
)


def _is_filled(value: object) -> bool:
    return value not in (None, False, "", {}, [])


def _is_enabled(value: object) -> bool:
    return isinstance(value, Mapping) and value.get("enabled") is True


def _is_redis(value: object) -> bool:
    return isinstance(value, Mapping) and value.get("provider") == "redis"


def _is_not_anonymous(value: object) -> bool:
    return value not in (None, "anonymous")


def _restricts(value: object) -> bool:
    """Tell whether an authorization keeps anybody from anything; what is not understood does."""
    if not isinstance(value, Mapping) or value.get("type") not in ("inline", *_CEDAR):
        return _is_filled(value)
    if value["type"] != "inline":
        return not _permits_all(value)
    return not value.keys() <= {*_HARMLESS, "inline", "configMap"} or not _permits_all(
        value.get("inline")
    )


def _permits_all(value: object) -> bool:
    # Without any policy all is forbidden. Fields of later versions may forbid.
    if not isinstance(value, Mapping) or not value.keys() <= _HARMLESS:
        return False
    policies = value.get("policies")
    if not isinstance(policies, list) or not policies:
        return False
    return all(isinstance(one, str) and _PERMIT_ALL.fullmatch(one) for one in policies)


_PROTECTIONS: Mapping[str, Mapping[str, Asks]] = {
    "VirtualMCPServer": {
        "incomingAuth.type": _is_not_anonymous,
        "incomingAuth.oidcConfigRef": _is_filled,
        "incomingAuth.authzConfig": _restricts,
        "incomingAuth.authzConfigRef": _is_filled,
        "authServerConfig": _is_filled,
        "config.incomingAuth.type": _is_not_anonymous,
        "config.incomingAuth.oidc": _is_filled,
        "config.incomingAuth.authz": _restricts,
        "config.rateLimiting": _is_filled,
        "config.audit": _is_enabled,
    },
    "MCPRemoteProxy": {
        # How it was said before there were references.
        "oidcConfig": _is_filled,
        "oidcConfigRef": _is_filled,
        "authzConfig": _restricts,
        "authzConfigRef": _is_filled,
        "authServerRef": _is_filled,
        "audit": _is_enabled,
    },
}
_UNSUPPORTED: Mapping[str, Mapping[str, Asks]] = {
    "VirtualMCPServer": {
        "embeddingServerRef": _is_filled,
        "sessionStorage": _is_redis,
        "config.sessionStorage": _is_redis,
        "telemetryConfigRef": _is_filled,
        "config.operational.logLevel": _is_filled,
    }
}


def protections(kind: str, spec: Spec) -> tuple[str, ...]:
    """Return the fields of a spec by which it asks for protections that nobody provides here."""
    later = _later(spec, _KNOWN.get(kind, {}))
    return (*_asked(spec, _PROTECTIONS.get(kind, {})), *later)


def _later(spec: Spec, known: Mapping[str, frozenset[str]]) -> Iterator[str]:
    for path, names in known.items():
        found = _at(spec, path)
        if isinstance(found, Mapping):
            others = {key: value for key, value in found.items() if key not in names}
            yield from (
                f"{path}.{key}" for key in sorted(others, key=str) if _is_filled(others[key])
            )


def unsupported(kind: str, spec: Spec) -> tuple[str, ...]:
    """Return the other fields of a spec that are not implemented."""
    found = {*_asked(spec, _UNSUPPORTED.get(kind, {}))}
    config = spec.get("config")
    if kind == "VirtualMCPServer" and isinstance(config, Mapping):
        found |= {_CONFIG + key for key, value in config.items() if _is_odd(key, value)}
        found |= {*_outside(config.get("outgoingAuth"), f"{_CONFIG}outgoingAuth")}
    return tuple(sorted(found))


def _is_odd(key: str, value: object) -> bool:
    return key not in _READ and _is_filled(value)


def _outside(value: object, place: str) -> Iterator[str]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            if str(key).endswith(_OUTSIDE):
                yield f"{place}.{key}"
            yield from _outside(inner, f"{place}.{key}")


def _asked(spec: Spec, fields: Mapping[str, Asks]) -> Iterator[str]:
    for path, asks in fields.items():
        if asks(_at(spec, path)):
            yield path


def _at(spec: Spec, path: str) -> object:
    value: object = spec
    for key in path.split("."):
        value = value.get(key) if isinstance(value, Mapping) else None
    return value
