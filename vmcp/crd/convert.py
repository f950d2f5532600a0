"""From a World to what a source contributes: which members of which group, on whose terms."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from operator import attrgetter

from vmcp.crd import plan as plans
from vmcp.crd.auth import Named, effective
from vmcp.crd.chosen import Nothing, TheGateway, TheGroup, chosen, malformed, owner
from vmcp.crd.member import Member, Terms, member
from vmcp.crd.plan import Plan
from vmcp.crd.references import references
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

Keys = AbstractSet[ObjectKey]
# Who wants a public name: a member of the group, with its spec.
_Claim = tuple[Resource, MemberSpec]

# As Problems compare themselves, but made once for each and not for each pair.
_order = attrgetter("key.kind", "key.name", "key.namespace", "reason", "message")


def convert(world: World, scope: Scope) -> Contribution:
    """Return what a World contributes; who converts again and again keeps a Converter."""
    return Converter(scope).convert(world)


@dataclass(frozen=True, slots=True)
class _Planned:
    """The plan of a gateway, and all objects that it was made of."""

    plan: Plan
    needs: Keys


@dataclass(frozen=True, slots=True)
class _Known:
    """Who has a public name, and what became of it; `late` tells those that want the name too."""

    key: ObjectKey
    terms: Terms
    needs: Keys
    watched: Keys
    made: Member
    late: tuple[Problem, ...] = ()

    def is_as_before(self, key: ObjectKey, terms: Terms, changed: Keys) -> bool:
        """Tell whether nothing of what decided on it is new."""
        return self.key == key and self.needs.isdisjoint(changed) and self.terms == terms


class Converter:
    """Converts one World after the other, and of each only what is new since the one before.

    Equal Worlds give equal contributions, whatever came before. After a conversion `converted` holds the members
    that were looked at anew, `watched` the Secrets and ConfigMaps that members refer to, there or not.
    """

    def __init__(self, scope: Scope) -> None:
        self._scope = scope
        # All of these are of the last conversion; members go by their public names.
        self._world = World("")
        self._plan: _Planned | None = None
        self._stated: tuple[object, ...] = ()
        self._members: Mapping[str, _Known] = {}
        self.converted: frozenset[ObjectKey] = frozenset()
        self.watched: frozenset[ObjectKey] = frozenset()

    def convert(self, world: World) -> Contribution:
        """Return what a World contributes."""
        made = self._made(world, world.differing(self._world))
        # Not before: whoever could not be converted is to be looked at once more.
        self._world = world
        return made

    def _made(self, world: World, changed: Keys) -> Contribution:
        found = chosen(world, self._scope)
        if isinstance(found, Nothing):
            return self._nothing(world, found)
        plan, by = self._planned(world, found, changed), owner(world, found)
        wrong = [*plan.wrong, *_without_group(world, plan)]
        problems = [_problem(by, one) for one in wrong]
        if plan.closed is not None:
            closed = _problem(by, plan.closed)
            return self._nothing(world, Nothing((*problems, closed), closed))
        self._look(world, plan, changed)
        return self._served(world, plan, problems)

    def _nothing(self, world: World, found: Nothing) -> Contribution:
        self._plan, self._stated, self._members = None, (), {}
        self.converted = self.watched = frozenset()
        problems = _sorted((*malformed(world), *found.problems))
        return Contribution(self._scope.source, problems=problems, closed=found.closed)

    def _planned(self, world: World, found: TheGateway | TheGroup, changed: Keys) -> Plan:
        if isinstance(found, TheGroup):
            self._plan = None
            return plans.of_group(found.name, self._scope)
        key, planned = found.resource.key, self._plan
        if planned is None or key not in planned.needs or planned.needs & changed:
            tools = (each for each in references(found.resource) if each.kind == TOOL_CONFIG)
            plan = plans.of_gateway(world, found.resource, found.spec)
            planned = self._plan = _Planned(plan, frozenset((key, *tools)))
        return planned.plan

    def _look(self, world: World, plan: Plan, changed: Keys) -> None:
        """Find out what becomes of members, anew of those alone of which something has changed."""
        stated = _stated(world, plan)
        names = self._touched(changed)
        if stated != self._stated:
            names |= {name for kind in MEMBERS for name in world.named(kind)}
        members = {name: one for name, one in self._members.items() if name not in names}
        new: set[ObjectKey] = set()
        for name in names:
            claims = [*_claims(world, plan.group, name)]
            if not claims:
                continue
            resource, spec = claims[0]
            known, terms = self._members.get(name), _terms(name, spec, plan)
            if known is None or not known.is_as_before(resource.key, terms, changed):
                new.add(resource.key)
                known = _known(world, resource, spec, terms, self._scope)
            members[name] = replace(known, late=_late(claims))
        self._stated, self._members = stated, dict(sorted(members.items()))
        self.converted = frozenset(new)
        self.watched = frozenset().union(*(each.watched for each in members.values()))

    def _touched(self, changed: Keys) -> set[str]:
        """Return the names that some changed objects have or are needed for."""
        own = {key.name for key in changed if key.kind in MEMBERS}
        known = self._members.items()
        return own | {name for name, one in known if not one.needs.isdisjoint(changed)}

    def _served(self, world: World, plan: Plan, problems: Iterable[Problem]) -> Contribution:
        known = self._members.values()
        served = [(one, one.made.backend) for one in known if one.made.backend is not None]
        wrong = (
            *malformed(world, plan.group),
            *problems,
            *(late for one in known for late in one.late),
            *(_problem(one.key, unfit) for one in known for unfit in one.made.unfit),
        )
        return Contribution(
            self._scope.source,
            backends=tuple(backend for _, backend in served),
            problems=_sorted(wrong),
            rules=plan.rules,
            health=plan.health,
            own_tools={one.key.name: one.made.tools for one in known if one.made.tools is not None},
            decisions={one.key: one.terms.auth.decision for one, _ in served},
        )


def _stated(world: World, plan: Plan) -> tuple[object, ...]:
    """Return all by which a plan decides on every member."""
    is_there = world.resource(GROUP, plan.group) is not None
    of_all = (plan.timeout_seconds, plan.passthrough, plan.outgoing)
    return (plan.group, is_there, *of_all, plan.timeouts, plan.tools)


def _claims(world: World, group: str, name: str) -> Iterator[_Claim]:
    """Yield the members of a group that want a name, those first whose kind has the first claim to it."""
    if world.resource(GROUP, group) is None:
        return
    for kind in MEMBERS:
        resource = world.resource(kind, name)
        if resource is not None and (spec := _spec(resource, group)) is not None:
            yield resource, spec


def _spec(resource: Resource, group: str) -> MemberSpec | None:
    """Return the spec of a member of a group, None of what is none or cannot be read."""
    spec = resource.spec
    if not isinstance(spec, MCPServerMember | MCPRemoteProxyMember | MCPServerEntrySpec):
        return None
    return spec if spec.group_ref is not None and spec.group_ref.name == group else None


def _late(claims: Sequence[_Claim]) -> tuple[Problem, ...]:
    """Return the problems of those that come too late for a name."""
    holder = claims[0][0].key
    message = f"The name '{holder.name}' is taken by {holder}. Rename one of them."
    return tuple(Problem(resource.key, "NameTaken", message) for resource, _ in claims[1:])


def _terms(name: str, spec: MemberSpec, plan: Plan) -> Terms:
    ref = spec.external_auth_config_ref
    return Terms(
        auth=effective(name, None if ref is None else ref.name, plan.outgoing),
        timeout_seconds=plan.timeouts.get(name, plan.timeout_seconds),
        passthrough=plan.passthrough,
        tools=plan.tools.get(name),
    )


def _known(
    world: World, resource: Resource, spec: MemberSpec, terms: Terms, scope: Scope
) -> _Known:
    needs = frozenset(_looked_up(world, resource, spec, terms, scope))
    return _Known(
        key=resource.key,
        terms=terms,
        needs=needs,
        watched=frozenset(key for key in needs if key.kind in (SECRET, CONFIG_MAP)),
        made=_member(world, resource, spec, terms, scope),
    )


def _member(
    world: World, resource: Resource, spec: MemberSpec, terms: Terms, scope: Scope
) -> Member:
    try:
        return member(world, resource, spec, terms, scope)
    except Exception as error:  # noqa: BLE001 - an object that nobody foresaw harms no other one
        # Its words may hold what the object holds.
        fault = type(error).__name__
    message = (
        f"It cannot be converted ({fault}), which is a fault of this program. Please report it."
    )
    return Member(None, unfit=(Unfit("ConversionFailed", message),))


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


def _without_group(world: World, plan: Plan) -> Iterator[Unfit]:
    if world.resource(GROUP, plan.group) is None:
        yield Unfit(
            "GroupNotFound",
            f"{GROUP} '{plan.group}' does not exist in namespace '{world.namespace}', so nothing of it is "
            "served. Create it, or correct the name.",
        )


def _problem(key: ObjectKey, unfit: Unfit) -> Problem:
    return Problem(key, unfit.reason, unfit.message)


def _sorted(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    return tuple(sorted({*problems}, key=_order))
