"""From a World to what a source contributes: which members of which group, on whose terms."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from vmcp.crd import plan as plans
from vmcp.crd.auth import Named, effective
from vmcp.crd.chosen import Nothing, TheGateway, TheGroup, chosen, malformed, owner
from vmcp.crd.member import Member, Terms, member
from vmcp.crd.plan import Plan
from vmcp.crd.references import reached, references
from vmcp.crd.scope import Scope
from vmcp.crd.specs.entry import MCPServerEntrySpec
from vmcp.crd.specs.remoteproxy import MCPRemoteProxyMember
from vmcp.crd.specs.server import MCPServerMember
from vmcp.crd.target import is_remote
from vmcp.crd.unfit import Unfit
from vmcp.crd.world import (
    AUTH_CONFIG,
    CONFIG_MAP,
    GROUP,
    MEMBERS,
    SECRET,
    TOOL_CONFIG,
    MemberSpec,
    Resource,
    World,
)
from vmcp.model.keys import ObjectKey
from vmcp.model.problem import Problem
from vmcp.model.snapshot import Contribution

# Objects with their versions, None of one that does not exist.
_Versions = tuple[tuple[ObjectKey, str | None], ...]


def convert(world: World, scope: Scope) -> Contribution:
    """Return what a World contributes; who converts again and again keeps a Converter."""
    return Converter(scope).convert(world)


@dataclass(frozen=True, slots=True)
class _Case:
    """A member with all that decides what becomes of it."""

    resource: Resource
    spec: MemberSpec
    versions: _Versions
    terms: Terms


class Converter:
    """Converts one World after the other, and of each only what is new since the one before.

    Equal Worlds give equal contributions, whatever came before. After a conversion `converted` holds the members
    that were looked at anew, `watched` the Secrets and ConfigMaps that members refer to, there or not.
    """

    def __init__(self, scope: Scope) -> None:
        self._scope = scope
        self._members: dict[ObjectKey, tuple[_Case, Member]] = {}
        self._plan: tuple[_Versions, Plan] | None = None
        self.converted: frozenset[ObjectKey] = frozenset()
        self.watched: frozenset[ObjectKey] = frozenset()

    def convert(self, world: World) -> Contribution:
        """Return what a World contributes."""
        found = chosen(world, self._scope)
        if isinstance(found, Nothing):
            return self._nothing(world, found)
        plan, by = self._planned(world, found), owner(world, found)
        wrong = [*plan.wrong, *_without_group(world, plan)]
        problems = [_problem(by, one) for one in wrong]
        if plan.closed is not None:
            closed = _problem(by, plan.closed)
            return self._nothing(world, Nothing((*problems, closed), closed))
        return self._served(world, plan, problems)

    def _nothing(self, world: World, found: Nothing) -> Contribution:
        self._members, self.converted, self.watched = {}, frozenset(), frozenset()
        problems = sorted({*malformed(world), *found.problems})
        return Contribution(self._scope.source, problems=tuple(problems), closed=found.closed)

    def _planned(self, world: World, found: TheGateway | TheGroup) -> Plan:
        if isinstance(found, TheGroup):
            return plans.of_group(found.name, self._scope)
        key = found.resource.key
        tools = (each for each in reached(world, (key,)) if each.kind == TOOL_CONFIG)
        versions = _versions(world, (key, *tools))
        if self._plan is None or self._plan[0] != versions:
            self._plan = versions, plans.of_gateway(world, found.resource, found.spec)
        return self._plan[1]

    def _served(self, world: World, plan: Plan, problems: list[Problem]) -> Contribution:
        cases = [*_cases(world, plan, self._scope)]
        named, taken = _named(cases)
        members = self._looked_at(world, named)
        found = [
            *malformed(world),
            *problems,
            *taken,
            *(_problem(key, one) for key, each in members.items() for one in each.unfit),
        ]
        backends = [each.backend for each in members.values() if each.backend is not None]
        return Contribution(
            self._scope.source,
            backends=tuple(sorted(backends, key=lambda backend: backend.name)),
            problems=tuple(sorted({*found})),
            rules=plan.rules,
            health=plan.health,
            own_tools={
                key.name: each.tools for key, each in members.items() if each.tools is not None
            },
            decisions={
                case.resource.key: case.terms.auth.decision
                for case in named
                if members[case.resource.key].backend is not None
            },
        )

    def _looked_at(self, world: World, cases: Iterable[_Case]) -> Mapping[ObjectKey, Member]:
        """Return what becomes of members, anew of those alone of which something has changed."""
        kept: dict[ObjectKey, tuple[_Case, Member]] = {}
        new: set[ObjectKey] = set()
        for case in cases:
            key = case.resource.key
            before = self._members.get(key)
            if before is not None and _is_same(before[0], case):
                kept[key] = before
                continue
            new.add(key)
            kept[key] = case, member(world, case.resource, case.spec, case.terms, self._scope)
        self._members, self.converted = kept, frozenset(new)
        self.watched = frozenset(
            key
            for case, _ in kept.values()
            for key, _ in case.versions
            if key.kind in (SECRET, CONFIG_MAP)
        )
        return {key: made for key, (_, made) in kept.items()}


def _is_same(before: _Case, now: _Case) -> bool:
    return before.versions == now.versions and before.terms == now.terms


def _cases(world: World, plan: Plan, scope: Scope) -> Iterator[_Case]:
    """Yield the members of the group, those first whose kind has the first claim to a name."""
    if world.resource(GROUP, plan.group) is None:
        return
    for kind in MEMBERS:
        for resource in world.of_kind(kind):
            spec = resource.spec
            if not isinstance(spec, MCPServerMember | MCPRemoteProxyMember | MCPServerEntrySpec):
                continue
            if spec.group_ref is not None and spec.group_ref.name == plan.group:
                terms = _terms(resource.key.name, spec, plan)
                versions = _versions(world, _looked_up(world, resource, spec, terms, scope))
                yield _Case(resource, spec, versions, terms)


def _terms(name: str, spec: MemberSpec, plan: Plan) -> Terms:
    ref = spec.external_auth_config_ref
    return Terms(
        auth=effective(name, None if ref is None else ref.name, plan.outgoing),
        timeout_seconds=plan.timeouts.get(name, plan.timeout_seconds),
        passthrough=plan.passthrough,
        tools=plan.tools.get(name),
    )


def _looked_up(
    world: World, resource: Resource, spec: MemberSpec, terms: Terms, scope: Scope
) -> Iterator[ObjectKey]:
    """Yield a member and all that is looked up for it; an own reference may be one that the gateway ignores."""
    yield resource.key
    if is_remote(spec, scope):
        yield from (key for key in references(resource) if key.kind not in (GROUP, AUTH_CONFIG))
    if isinstance(terms.auth.choice, Named):
        key = world.key(AUTH_CONFIG, terms.auth.choice.config)
        yield key
        config = world.things.get(key)
        yield from () if config is None else references(config)


def _versions(world: World, keys: Iterable[ObjectKey]) -> _Versions:
    return tuple((key, world.version(key)) for key in sorted({*keys}))


def _named(cases: Iterable[_Case]) -> tuple[list[_Case], list[Problem]]:
    """Return the members that have their names, and the problems of those that come too late."""
    holders: dict[str, ObjectKey] = {}
    named: list[_Case] = []
    taken: list[Problem] = []
    for case in cases:
        key = case.resource.key
        holder = holders.setdefault(key.name, key)
        if holder == key:
            named.append(case)
        else:
            message = f"The name '{key.name}' is taken by {holder}. Rename one of them."
            taken.append(Problem(key, "NameTaken", message))
    return named, taken


def _without_group(world: World, plan: Plan) -> Iterator[Unfit]:
    if world.resource(GROUP, plan.group) is None:
        yield Unfit(
            "GroupNotFound",
            f"{GROUP} '{plan.group}' does not exist in namespace '{world.namespace}', so nothing of it is "
            "served. Create it, or correct the name.",
        )


def _problem(key: ObjectKey, unfit: Unfit) -> Problem:
    return Problem(key, unfit.reason, unfit.message)
