"""Which object refers to which: what must be watched, and what one is made of."""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_never

from vmcp.crd.reading import Malformed
from vmcp.crd.specs.entry import MCPServerEntrySpec
from vmcp.crd.specs.external_auth import MCPExternalAuthConfigSpec
from vmcp.crd.specs.group import MCPGroupSpec
from vmcp.crd.specs.headers import HeaderForward
from vmcp.crd.specs.remoteproxy import MCPRemoteProxyMember
from vmcp.crd.specs.server import MCPServerMember
from vmcp.crd.specs.toolconfig import MCPToolConfigSpec
from vmcp.crd.specs.virtual import VirtualMCPServerSpec
from vmcp.crd.world import (
    AUTH_CONFIG,
    CONFIG_MAP,
    GROUP,
    SECRET,
    TOOL_CONFIG,
    MemberSpec,
    Resource,
    Thing,
)
from vmcp.model.keys import ObjectKey

Named = tuple[str, str]


def references(thing: Thing) -> frozenset[ObjectKey]:
    """Return the objects that one refers to itself, whether they exist or not."""
    if not isinstance(thing, Resource):
        return frozenset()
    namespace = thing.key.namespace
    return frozenset(ObjectKey(kind, name, namespace) for kind, name in _named(thing) if name)


def _named(resource: Resource) -> Iterator[Named]:
    spec = resource.spec
    match spec:
        case Malformed() | MCPGroupSpec() | MCPToolConfigSpec():
            return
        case MCPServerMember() | MCPRemoteProxyMember() | MCPServerEntrySpec():
            yield from _of_member(spec)
        case MCPExternalAuthConfigSpec():
            yield from _of_auth(spec)
        case VirtualMCPServerSpec():
            yield from _of_gateway(spec)
        case _:
            assert_never(spec)


def _of_member(spec: MemberSpec) -> Iterator[Named]:
    if spec.group_ref is not None:
        yield GROUP, spec.group_ref.name
    if spec.external_auth_config_ref is not None:
        yield AUTH_CONFIG, spec.external_auth_config_ref.name
    if not isinstance(spec, MCPServerMember) and spec.header_forward is not None:
        yield from _of_headers(spec.header_forward)
    if isinstance(spec, MCPServerEntrySpec):
        bundle = spec.ca_bundle_ref
        if bundle is not None and bundle.config_map_ref is not None:
            yield CONFIG_MAP, bundle.config_map_ref.name
    elif spec.tool_config_ref is not None:
        yield TOOL_CONFIG, spec.tool_config_ref.name


def _of_headers(forward: HeaderForward) -> Iterator[Named]:
    for header in forward.add_headers_from_secret or ():
        yield SECRET, header.value_secret_ref.name


def _of_auth(spec: MCPExternalAuthConfigSpec) -> Iterator[Named]:
    """Yield the Secrets of the types that are implemented; those of the others are not read."""
    if spec.header_injection is not None:
        yield SECRET, spec.header_injection.value_secret_ref.name
    if spec.bearer_token is not None:
        yield SECRET, spec.bearer_token.token_secret_ref.name


def _of_gateway(spec: VirtualMCPServerSpec) -> Iterator[Named]:
    yield GROUP, spec.group_ref.name
    if (outgoing := spec.outgoing_auth) is not None:
        choices = [outgoing.default, *(outgoing.backends or {}).values()]
        for choice in choices:
            if choice is not None and choice.external_auth_config_ref is not None:
                yield AUTH_CONFIG, choice.external_auth_config_ref.name
    aggregation = None if spec.config is None else spec.config.aggregation
    for tools in () if aggregation is None else aggregation.tools or ():
        if tools.tool_config_ref is not None:
            yield TOOL_CONFIG, tools.tool_config_ref.name
