"""The objects of a cluster or a folder as people write them."""

from __future__ import annotations

from typing import Any

from tests.net.certificates import authority
from tests.support.backends import Fake

API = "toolhive.stacklok.dev/v1beta1"
Json = dict[str, Any]

# What an entry says that trusts a bundle, sends a credential, and a value of a Secret beside it.
CA: Json = {"caBundleRef": {"configMapRef": {"name": "weather-ca"}}}
AUTH: Json = {"externalAuthConfigRef": {"name": "weather-auth"}}
_TEAM = {"headerName": "X-Team", "valueSecretRef": {"name": "weather-key", "key": "value"}}
TEAM: Json = {"headerForward": {"addHeadersFromSecret": [_TEAM]}}


def obj(kind: str, name: str, spec: Json | None = None, **more: Any) -> Json:
    """Return an object; a Secret or a ConfigMap has no spec."""
    api = "v1" if kind in ("Secret", "ConfigMap") else API
    body = {} if spec is None else {"spec": spec}
    return {"apiVersion": api, "kind": kind, "metadata": {"name": name}, **body, **more}


def group(name: str = "tools") -> Json:
    """Return an MCPGroup."""
    return obj("MCPGroup", name, {})


def entry(fake: Fake, name: str = "weather", group: str = "tools", **spec: Any) -> Json:
    """Return an MCPServerEntry that leads to a fake."""
    return entry_at(fake.url, name, group, **spec)


def entry_at(url: str, name: str = "weather", group: str = "tools", **spec: Any) -> Json:
    """Return an MCPServerEntry."""
    usual = {"groupRef": {"name": group}, "remoteUrl": url, "transport": "streamable-http"}
    return obj("MCPServerEntry", name, {**usual, **spec})


def virtual(name: str = "gw", **spec: Any) -> Json:
    """Return a VirtualMCPServer of the group `tools` that lets everybody in."""
    usual = {"groupRef": {"name": "tools"}, "incomingAuth": {"type": "anonymous"}}
    return obj("VirtualMCPServer", name, {**usual, **spec})


def auth(
    name: str = "weather-auth", secret: str = "weather-key", header: str = "X-Api-Key"
) -> Json:
    """Return an MCPExternalAuthConfig that sends a value of a Secret in a header."""
    ref = {"name": secret, "key": "value"}
    settings = {"headerName": header, "valueSecretRef": ref}
    return obj(
        "MCPExternalAuthConfig", name, {"type": "headerInjection", "headerInjection": settings}
    )


def key(value: str, name: str = "weather-key") -> Json:
    """Return a Secret with a value."""
    return obj("Secret", name, stringData={"value": value})


def ca(name: str) -> Json:
    """Return the ConfigMap with the certificate of a test's authority."""
    return obj("ConfigMap", "weather-ca", data={"ca.crt": authority(name).pem})
