"""From the objects of many files to the World of one namespace."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from vmcp.crd.world import CONFIG_MAP, GATEWAY, SECRET, World
from vmcp.discovery.documents import DEFAULT_NAMESPACE, Placed
from vmcp.model.keys import ObjectKey
from vmcp.model.problem import Problem


@dataclass(frozen=True, slots=True)
class Gathered:
    """A World, and what is wrong with how its objects were written down."""

    world: World
    problems: tuple[Problem, ...]


def gathered(placed: Iterable[Placed], namespace: str | None) -> Gathered:
    """Return the World of a namespace, by default of the only one; an object that is there twice is the first."""
    first: dict[ObjectKey, Placed] = {}
    problems: list[Problem] = []
    for one in sorted(placed, key=lambda each: (each.file, each.line)):
        holder = first.setdefault(one.thing.key, one)
        if holder is not one:
            problems.append(_twice(holder, one))
    chosen = namespace or _namespace(first)
    if chosen is None:
        return Gathered(World(DEFAULT_NAMESPACE), (*problems, *_several(first)))
    things = {key: one.thing for key, one in first.items() if key.namespace == chosen}
    return Gathered(World(chosen, things), tuple(problems))


def _twice(holder: Placed, one: Placed) -> Problem:
    message = (
        f"It is there twice: {holder.file} line {holder.line}, which counts, and {one.file} line {one.line}. "
        "Delete one of them."
    )
    return Problem(one.thing.key, "DuplicateObject", message)


def _namespace(found: Mapping[ObjectKey, Placed]) -> str | None:
    """Return the namespace of the gateway, else that of all custom resources; None where there are several."""
    resources = {key for key in found if key.kind not in (SECRET, CONFIG_MAP)}
    gateways = {key.namespace for key in resources if key.kind == GATEWAY}
    namespaces = gateways if len(gateways) == 1 else {key.namespace for key in resources}
    if len(namespaces) > 1:
        return None
    return next(iter(namespaces), DEFAULT_NAMESPACE)


def _several(found: Iterable[ObjectKey]) -> Iterable[Problem]:
    names = sorted({key.namespace for key in found})
    message = (
        f"There are objects of several namespaces: {', '.join(names)}. Nothing of them is served. "
        "Choose one with --namespace."
    )
    yield Problem(ObjectKey("Namespace", names[0]), "NamespaceNotChosen", message)
