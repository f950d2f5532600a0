"""Decide which names are wanted: the four ways to resolve what several backends offer at once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import assert_never

from vmcp.catalog import problems
from vmcp.catalog.entries import Entries, Entry, Kind, Offer, entry
from vmcp.catalog.naming import Bid
from vmcp.model.problem import Problem
from vmcp.model.rules import Conflict, Rules


@dataclass(frozen=True, slots=True)
class Bids:
    """The bids that the strategy allows, and what it had to turn away."""

    bids: tuple[Bid, ...] = ()
    problems: tuple[Problem, ...] = ()


def tool_bids(offered: Sequence[Offer], rules: Rules) -> Bids:
    """Return what each tool would like to be called."""
    return _bids(Kind.TOOL, offered, rules, rules.conflict)


def prompt_bids(offered: Sequence[Offer], rules: Rules) -> Bids:
    """Return what each prompt would like to be called: nothing renames one, so none is by hand."""
    manual = rules.conflict is Conflict.MANUAL
    return _bids(Kind.PROMPT, offered, rules, Conflict.PREFIX if manual else rules.conflict)


def first_come(kind: Kind, offered: Iterable[Offer], rules: Rules) -> Entries:
    """Return entries under the names they have: those of the first backend in order."""
    ranks = _ranks(rules)
    winners: dict[str, Offer] = {}
    lost: list[Problem] = []
    # The sort is stable: among the unlisted it keeps the order of the public names.
    for offer in sorted(offered, key=lambda o: ranks.get(o.backend.name, len(ranks))):
        winner = winners.setdefault(offer.own_name, offer)
        if winner is not offer:
            lost.append(problems.shadowed(kind, offer, winner))
    entries: Iterator[Entry] = (entry(offer, name) for name, offer in winners.items())
    return Entries(tuple(entries), tuple(lost))


def _bids(kind: Kind, offered: Sequence[Offer], rules: Rules, conflict: Conflict) -> Bids:
    match conflict:
        case Conflict.PREFIX:
            return Bids(tuple(Bid(offer, _prefixed(offer, rules)) for offer in offered))
        case Conflict.PREFIX_ON_CONFLICT:
            return _prefix_on_conflict(offered, rules)
        case Conflict.PRIORITY:
            return _priority(kind, offered, rules)
        case Conflict.MANUAL:
            return _manual(kind, offered)
        case _:
            assert_never(conflict)


def _prefix_on_conflict(offered: Sequence[Offer], rules: Rules) -> Bids:
    sharing = _sharing(offered)
    return Bids(
        tuple(
            _prefixed_bid(offer, rules) if len(sharing[offer.base]) > 1 else _bare_bid(offer, rules)
            for offer in offered
        )
    )


def _priority(kind: Kind, offered: Sequence[Offer], rules: Rules) -> Bids:
    ranks = _ranks(rules)
    bids: list[Bid] = []
    found: list[Problem] = []
    for several in _sharing(offered).values():
        winner = min(several, key=lambda offer: ranks.get(offer.backend.name, len(ranks)))
        if winner.backend.name in ranks:
            bids.append(_bare_bid(winner, rules)._replace(firm=True))
            losers = (offer for offer in several if offer is not winner)
            found.extend(problems.shadowed(kind, offer, winner) for offer in losers)
        elif len(several) == 1:
            bids.append(_bare_bid(winner, rules))
        else:
            bids.extend(_prefixed_bid(offer, rules) for offer in several)
            found.extend(
                problems.prefixed(kind, offer, _rival(offer, several)) for offer in several
            )
    return Bids(tuple(bids), tuple(found))


def _manual(kind: Kind, offered: Sequence[Offer]) -> Bids:
    bids: list[Bid] = []
    found: list[Problem] = []
    for several in _sharing(offered).values():
        if len(several) == 1:
            bids.append(Bid(several[0], several[0].base))
        else:
            found.extend(
                problems.unresolved(kind, offer, _rival(offer, several)) for offer in several
            )
    return Bids(tuple(bids), tuple(found))


def prefix_of(backend_name: str, rules: Rules) -> str:
    """Return what goes before the names of a backend where they get a prefix."""
    return rules.prefix_format.replace("{workload}", backend_name)


def _prefixed(offer: Offer, rules: Rules) -> str:
    return prefix_of(offer.backend.name, rules) + offer.base


def _prefixed_bid(offer: Offer, rules: Rules) -> Bid:
    return Bid(offer, _prefixed(offer, rules))


def _bare_bid(offer: Offer, rules: Rules) -> Bid:
    return Bid(offer, offer.base, _prefixed(offer, rules))


def _sharing(offered: Iterable[Offer]) -> Mapping[str, Sequence[Offer]]:
    # Within one backend names are distinct by now: whoever shares one is another backend.
    sharing: dict[str, list[Offer]] = {}
    for offer in offered:
        sharing.setdefault(offer.base, []).append(offer)
    return sharing


def _rival(offer: Offer, several: Sequence[Offer]) -> Offer:
    return several[1] if several[0] is offer else several[0]


def _ranks(rules: Rules) -> Mapping[str, int]:
    ranks: dict[str, int] = {}
    for name in rules.priority_order:
        ranks.setdefault(name, len(ranks))
    return ranks
