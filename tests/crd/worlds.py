"""Objects and Worlds for tests, written as in YAML."""

from __future__ import annotations

import hashlib
import json
from base64 import b64encode
from collections.abc import Mapping
from typing import Any

from vmcp.crd.scope import Scope
from vmcp.crd.things import thing
from vmcp.crd.world import Thing, World
from vmcp.model.keys import ObjectKey

NAMESPACE = "apps"
CLUSTER = Scope(
    "kubernetes", "gw", None, has_operator=True, allows_loopback=False, timeout_seconds=30.0
)
FOLDER = Scope(
    "manifests", None, None, has_operator=False, allows_loopback=False, timeout_seconds=30.0
)

Spec = Mapping[str, Any]


def made(kind: str, name: str, **manifest: Any) -> Thing:
    """Return an object; its version is a digest of what it holds."""
    version = hashlib.sha256(json.dumps(manifest, sort_keys=True).encode()).hexdigest()[:12]
    return thing(ObjectKey(kind, name, NAMESPACE), version, manifest)


def world(*things: Thing) -> World:
    """Return a World of these objects."""
    return World(NAMESPACE, {each.key: each for each in things})


def group(name: str = "g") -> Thing:
    """Return an MCPGroup."""
    return made("MCPGroup", name, spec={})


def gateway(name: str = "gw", of: str = "g", **spec: Any) -> Thing:
    """Return a VirtualMCPServer that lets everybody in."""
    whole = {"groupRef": {"name": of}, "incomingAuth": {"type": "anonymous"}, **spec}
    return made("VirtualMCPServer", name, spec=whole)


def entry(name: str = "e", of: str = "g", **spec: Any) -> Thing:
    """Return an MCPServerEntry."""
    usual = {"remoteUrl": f"https://{name}.example/mcp", "transport": "streamable-http"}
    return made("MCPServerEntry", name, spec={"groupRef": {"name": of}, **usual, **spec})


def proxy(name: str = "p", of: str = "g", status: Spec | None = None, **spec: Any) -> Thing:
    """Return an MCPRemoteProxy."""
    whole = {"groupRef": {"name": of}, "remoteUrl": f"https://{name}.example/mcp", **spec}
    return made("MCPRemoteProxy", name, spec=whole, status=status or {})


def server(name: str = "s", of: str = "g", status: Spec | None = None, **spec: Any) -> Thing:
    """Return an MCPServer."""
    whole = {"groupRef": {"name": of}, "image": "img", **spec}
    return made("MCPServer", name, spec=whole, status=status or {})


def secret(name: str, **values: str) -> Thing:
    """Return a Secret as the API server has it."""
    data = {key: b64encode(value.encode()).decode() for key, value in values.items()}
    return made("Secret", name, data=data)


def config_map(name: str, data: Spec) -> Thing:
    """Return a ConfigMap."""
    return made("ConfigMap", name, data=data)


def bearer(name: str, of: str, key: str = "token") -> Thing:
    """Return an MCPExternalAuthConfig with a token in a Secret."""
    ref = {"name": of, "key": key}
    return made(
        "MCPExternalAuthConfig",
        name,
        spec={"type": "bearerToken", "bearerToken": {"tokenSecretRef": ref}},
    )


def injection(name: str, of: str, header: str = "X-Api-Key", key: str = "key") -> Thing:
    """Return an MCPExternalAuthConfig with the value of a header in a Secret."""
    settings = {"headerName": header, "valueSecretRef": {"name": of, "key": key}}
    return made(
        "MCPExternalAuthConfig", name, spec={"type": "headerInjection", "headerInjection": settings}
    )
