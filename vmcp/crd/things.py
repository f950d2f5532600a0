"""From the mapping that an object is in YAML or in an API server's answer to a Thing of the World."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Mapping
from typing import Any

from vmcp.crd.asked import protections, unsupported
from vmcp.crd.kinds import API_VERSIONS
from vmcp.crd.reading import Malformed, read
from vmcp.crd.specs.entry import MCPServerEntrySpec
from vmcp.crd.specs.external_auth import MCPExternalAuthConfigSpec
from vmcp.crd.specs.group import MCPGroupSpec
from vmcp.crd.specs.remoteproxy import MCPRemoteProxyMember
from vmcp.crd.specs.server import MCPServerMember
from vmcp.crd.specs.toolconfig import MCPToolConfigSpec
from vmcp.crd.specs.virtual import VirtualMCPServerSpec
from vmcp.crd.world import (
    AUTH_CONFIG,
    CONFIG_MAP,
    ENTRY,
    GATEWAY,
    GROUP,
    PROXY,
    SECRET,
    SERVER,
    TOOL_CONFIG,
    AnySpec,
    ConfigMapObject,
    Resource,
    SecretObject,
    Seen,
    Thing,
)
from vmcp.model.keys import ObjectKey
from vmcp.model.secret import Secret

Manifest = Mapping[str, Any]

_SPECS: Mapping[str, Any] = {
    SERVER: MCPServerMember,
    PROXY: MCPRemoteProxyMember,
    ENTRY: MCPServerEntrySpec,
    GROUP: MCPGroupSpec,
    GATEWAY: VirtualMCPServerSpec,
    AUTH_CONFIG: MCPExternalAuthConfigSpec,
    TOOL_CONFIG: MCPToolConfigSpec,
}
# The kinds of our group that the World holds.
KINDS = frozenset(_SPECS)


def is_held(kind: str, api_version: str) -> bool:
    """Tell whether an object is one that the World holds: other products call kinds as we do."""
    if kind in (SECRET, CONFIG_MAP):
        return api_version == "v1"
    return kind in KINDS and api_version in API_VERSIONS


def thing(key: ObjectKey, version: str, manifest: Manifest) -> Thing:
    """Return what an object is; its kind is one that is held."""
    if key.kind == SECRET:
        return SecretObject(key, version, _secrets(manifest))
    if key.kind == CONFIG_MAP:
        return ConfigMapObject(key, version, _texts(manifest))
    spec, status = manifest.get("spec"), _mapping(manifest.get("status"))
    found: AnySpec | Malformed = read(_SPECS[key.kind], spec)
    return Resource(
        key=key,
        version=version,
        spec=found,
        seen=Seen(_text(status.get("url")), _text(status.get("phase"))),
        group=_text(_mapping(_mapping(spec).get("groupRef")).get("name")),
        protections=protections(key.kind, _mapping(spec)),
        unsupported=unsupported(key.kind, _mapping(spec)),
    )


def _secrets(manifest: Manifest) -> Mapping[str, Secret | None]:
    """Return the values of a Secret; those in `stringData` win, as at the API server."""
    found = {key: _decoded(value) for key, value in _mapping(manifest.get("data")).items()}
    found |= {key: _text(value) for key, value in _mapping(manifest.get("stringData")).items()}
    return {key: None if value is None else Secret(value) for key, value in found.items()}


def _texts(manifest: Manifest) -> Mapping[str, str | None]:
    found = {key: _decoded(value) for key, value in _mapping(manifest.get("binaryData")).items()}
    return found | {key: _text(value) for key, value in _mapping(manifest.get("data")).items()}


def _decoded(value: object) -> str | None:
    # Who watches Secrets hides what they hold at once.
    text = value.reveal() if isinstance(value, Secret) else value
    if not isinstance(text, str):
        return None
    try:
        # The API server takes line breaks within. What is no base64, or no UTF-8, is a ValueError.
        return b64decode("".join(text.split()), validate=True).decode()
    except ValueError:
        return None


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None
