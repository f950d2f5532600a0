"""The rules that gave a thing its public name, in words: overrides, prefixes, priorities."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, assert_never

from vmcp.catalog.conflicts import prefix_of
from vmcp.catalog.entries import Kind, Offer
from vmcp.catalog.problems import shown
from vmcp.model.rules import Conflict, Rules


class Named(NamedTuple):
    """A thing with the name that it got; `sharing` are the backends that offer its base name, its own included."""

    kind: Kind
    offer: Offer
    name: str
    sharing: Sequence[str]
    rules: Rules


def why_named(one: Named) -> Iterator[str]:
    """Yield what made the public name, step by step; a name that had to be changed has a Problem beside."""
    if one.offer.base != one.offer.own_name:
        yield f"An override in aggregation.tools names it {shown(one.offer.base)}."
    yield _of_the_strategy(one)


def _of_the_strategy(one: Named) -> str:
    prefix = prefix_of(one.offer.backend.name, one.rules)
    is_bare = one.name == one.offer.base
    match one.rules.conflict:
        case Conflict.PREFIX:
            return _prefixed(prefix, "conflictResolution is prefix")
        case Conflict.PREFIX_ON_CONFLICT:
            return _on_conflict(one, prefix)
        case Conflict.PRIORITY:
            return _by_priority(one, is_bare=is_bare)
        case Conflict.MANUAL if one.kind is Kind.PROMPT:
            return _prefixed(prefix, "conflictResolution is manual, which for prompts is prefix")
        case Conflict.MANUAL:
            return "conflictResolution is manual: names stay as they are."
        case other:
            assert_never(other)


def _prefixed(prefix: str, because: str) -> str:
    return f"{because}: prefixFormat puts {shown(prefix)} before it."


def _on_conflict(one: Named, prefix: str) -> str:
    if len(one.sharing) > 1:
        return _prefixed(
            prefix, f"prefixOnConflict, and {_backends(one.sharing)} offer {shown(one.offer.base)}"
        )
    return f"prefixOnConflict, and no other backend offers {shown(one.offer.base)}: no prefix."


def _by_priority(one: Named, *, is_bare: bool) -> str:
    base = shown(one.offer.base)
    if len(one.sharing) == 1:
        return f"conflictResolution is priority, and no other backend offers {base}: no prefix."
    if is_bare:
        return (
            f"conflictResolution is priority: of {_backends(one.sharing)}, which offer {base},"
            f" {shown(one.offer.backend.name)} comes first in priorityOrder."
        )
    return (
        f"conflictResolution is priority, and priorityOrder names none of {_backends(one.sharing)},"
        f" which offer {base}: each gets its prefix."
    )


def _backends(names: Sequence[str]) -> str:
    return f"backends {', '.join(shown(name) for name in sorted(names))}"
