"""Which gateway or group of a World is served."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from vmcp.crd.reading import Malformed
from vmcp.crd.scope import Scope
from vmcp.crd.specs.virtual import VirtualMCPServerSpec
from vmcp.crd.world import GATEWAY, GROUP, MEMBERS, Resource, World
from vmcp.model.keys import ObjectKey
from vmcp.model.problem import Problem


@dataclass(frozen=True, slots=True)
class TheGateway:
    """A VirtualMCPServer with a spec that can be read."""

    resource: Resource
    spec: VirtualMCPServerSpec


@dataclass(frozen=True, slots=True)
class TheGroup:
    """All members of a group, on no gateway's terms."""

    name: str


@dataclass(frozen=True, slots=True)
class Nothing:
    """Nothing is served; `closed` is why nobody may be, and not even what other sources have."""

    problems: tuple[Problem, ...] = ()
    closed: Problem | None = None


def chosen(world: World, scope: Scope) -> TheGateway | TheGroup | Nothing:
    """Return what is to be served: what the scope names, else the only one that there is."""
    if scope.gateway is not None:
        return _named(world, scope.gateway)
    if scope.group is not None:
        return TheGroup(scope.group)
    gateways = [*world.of_kind(GATEWAY)]
    if len(gateways) > 1:
        return _several(gateways, "GatewayNotChosen", "Choose one with --name.")
    if gateways:
        return _with_spec(gateways[0])
    groups = [*world.of_kind(GROUP)]
    if len(groups) > 1:
        return _several(groups, "GroupNotChosen", "Choose one with --group.")
    return TheGroup(groups[0].key.name) if groups else Nothing()


def _named(world: World, name: str) -> TheGateway | Nothing:
    found = world.resource(GATEWAY, name)
    if found is not None:
        return _with_spec(found)
    message = f"There is no {GATEWAY} '{name}' in namespace '{world.namespace}'. Create it, or correct the name."
    return Nothing((Problem(world.key(GATEWAY, name), "GatewayNotFound", message),))


def _with_spec(resource: Resource) -> TheGateway | Nothing:
    spec = resource.spec
    if isinstance(spec, VirtualMCPServerSpec):
        return TheGateway(resource, spec)
    # It may ask for protections that cannot be read.
    message = "Its spec is not valid, so nobody is served. Its other problem tells what to correct."
    closed = Problem(resource.key, "GatewayInvalid", message)
    return Nothing((closed,), closed)


def _several(found: Sequence[Resource], reason: str, fix: str) -> Nothing:
    names = ", ".join(f"'{one.key.name}'" for one in found)
    message = f"There is more than one: {names}. Nothing of them is served. {fix}"
    return Nothing(tuple(Problem(one.key, reason, message) for one in found))


def malformed(world: World, group: str | None = None) -> list[Problem]:
    """Return the problems of all objects whose specs cannot be read, but for members of other groups."""
    return [
        Problem(thing.key, "SpecInvalid", f"Its spec is not valid. {thing.spec}")
        for thing in world.things.values()
        if isinstance(thing, Resource)
        and isinstance(thing.spec, Malformed)
        and not (group and _is_of_another(thing, group))
    ]


def _is_of_another(resource: Resource, group: str) -> bool:
    return resource.key.kind in MEMBERS and resource.group not in (None, "", group)


def owner(world: World, found: TheGateway | TheGroup) -> ObjectKey:
    """Return the object that says what is served."""
    if isinstance(found, TheGateway):
        return found.resource.key
    return world.key(GROUP, found.name)
