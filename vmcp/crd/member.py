"""One member of a group as a backend, or why it is none."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypeVar

from vmcp.crd import toolrules
from vmcp.crd.auth import Effective, credential
from vmcp.crd.headers import Header, bundle, forwarded
from vmcp.crd.scope import Scope
from vmcp.crd.specs.entry import MCPServerEntrySpec
from vmcp.crd.specs.remoteproxy import MCPRemoteProxyMember
from vmcp.crd.specs.server import MCPServerMember
from vmcp.crd.target import is_remote, target
from vmcp.crd.unfit import Unfit
from vmcp.crd.world import MemberSpec, Resource, World
from vmcp.model.auth import NO_AUTH, AuthSpec, BearerToken, HeaderInjection
from vmcp.model.backend import Backend, HttpEndpoint
from vmcp.model.rules import ToolRules

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Terms:
    """What the gateway says of one member; `tools` is why its rules for the member's tools cannot be told."""

    auth: Effective
    timeout_seconds: float
    passthrough: tuple[str, ...]
    tools: Unfit | None


@dataclass(frozen=True, slots=True)
class Member:
    """What became of a member: a backend with the rules for its own tools, or what is wrong with it."""

    backend: Backend | None
    tools: ToolRules | None = None
    unfit: tuple[Unfit, ...] = field(default=())


def member(
    world: World, resource: Resource, spec: MemberSpec, terms: Terms, scope: Scope
) -> Member:
    """Return what becomes of a member; whatever it refers to must be there."""
    wrong: list[Unfit] = [*_wrong(resource, spec, terms, scope)]
    where = _kept(target(resource, spec, scope), wrong)
    auth = credential(world, terms.auth.choice)
    if isinstance(auth, Unfit):
        wrong.append(auth)
    entry = spec if isinstance(spec, MCPServerEntrySpec) else None
    trusted = _kept(bundle(world, None if entry is None else entry.ca_bundle_ref), wrong)
    sent = NO_AUTH if isinstance(auth, Unfit) else auth
    headers = tuple(_headers(world, spec, sent, scope, wrong))
    tools = _kept(_own_tools(world, spec, scope), wrong)
    if wrong or where is None or isinstance(auth, Unfit):
        return Member(None, unfit=tuple(wrong))
    endpoint = HttpEndpoint(
        url=where.url,
        ca_bundle=trusted,
        transport=where.transport,
        trusts_bundle_only=_is_exclusive(entry),
        guard=where.guard,
    )
    backend = Backend(
        key=resource.key,
        name=resource.key.name,
        endpoint=endpoint,
        timeout_seconds=terms.timeout_seconds,
        auth=auth,
        headers=headers,
        passthrough=_passed(terms.passthrough, auth, headers),
    )
    return Member(backend, tools)


def _kept(found: T | Unfit, wrong: list[Unfit]) -> T | None:
    """Return what was found, None with a note where it cannot be used."""
    if isinstance(found, Unfit):
        wrong.append(found)
        return None
    return found


def _wrong(resource: Resource, spec: MemberSpec, terms: Terms, scope: Scope) -> Iterator[Unfit]:
    if terms.tools is not None:
        yield terms.tools
    if resource.protections and is_remote(spec, scope):
        names = ", ".join(f"spec.{name}" for name in resource.protections)
        yield Unfit(
            "IncomingAuthNotSupported",
            f"{names} asks for a protection that its proxy would provide, and no proxy runs here. "
            "Remove it, or use an MCPServerEntry.",
        )


def _headers(
    world: World, spec: MemberSpec, auth: AuthSpec, scope: Scope, wrong: list[Unfit]
) -> Iterator[Header]:
    """Yield the headers that are sent to a server itself; what runs in front of one adds them there."""
    if isinstance(spec, MCPServerMember) or not is_remote(spec, scope):
        return
    for header in forwarded(world, spec.header_forward, auth):
        if isinstance(header, Unfit):
            wrong.append(header)
        else:
            yield header


def _own_tools(world: World, spec: MemberSpec, scope: Scope) -> ToolRules | Unfit | None:
    """Return the rules that no proxy applies."""
    if not isinstance(spec, MCPRemoteProxyMember) or not is_remote(spec, scope):
        return None
    if spec.tool_config_ref is None:
        return None
    return toolrules.of_config(world, spec.tool_config_ref.name, "spec.toolConfigRef")


def _is_exclusive(entry: MCPServerEntrySpec | None) -> bool:
    ref = None if entry is None else entry.ca_bundle_ref
    return ref is not None and ref.exclusive is True


def _passed(names: tuple[str, ...], auth: AuthSpec, headers: tuple[Header, ...]) -> tuple[str, ...]:
    """Return the names to pass on, without those that are set for this backend."""
    taken = {name.lower() for name, _ in headers}
    if isinstance(auth, HeaderInjection):
        taken.add(auth.header.lower())
    if isinstance(auth, BearerToken):
        taken.add("authorization")
    return tuple(sorted({name.lower() for name in names} - taken))
