"""Make names fit and keep them unique; which name is wanted belongs to `vmcp.catalog.conflicts`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import NamedTuple

from vmcp.catalog import problems
from vmcp.catalog.entries import Entries, Entry, Kind, Offer, entry
from vmcp.model.problem import Problem
from vmcp.model.rules import Rules

_FOREIGN = re.compile(r"[^A-Za-z0-9_.-]")
_FOREIGN_OR_DOT = re.compile(r"[^A-Za-z0-9_-]")
# How many hexadecimal digits tell apart what would otherwise have one name; more if they do not.
_WIDTHS = (8, 16, 32)


class Bid(NamedTuple):
    """An offer with the name that it would like to have, and with the one that comes next.

    A firm bid keeps its name where it meets one that is not.
    """

    offer: Offer
    wanted: str
    second: str | None = None
    firm: bool = False

    @property
    def unmarked(self) -> int:
        """How many names it has before one needs a mark."""
        return 1 if self.second is None else 2


@dataclass(frozen=True, slots=True)
class Settled:
    """For each bid the name that it got, or None; `rivals`: whom it met on a name that it left."""

    names: tuple[str | None, ...]
    rivals: Mapping[int, Offer]


def fit(wanted: str, offer: Offer, rules: Rules) -> str:
    """Return `wanted` if it is a valid name, else one made from it and the pair of the offer."""
    if wanted and len(wanted) <= rules.max_name_length and not _foreign(rules).search(wanted):
        return wanted
    return _marked(wanted, offer, _WIDTHS[0], rules)


def settle(bids: Sequence[Bid], rules: Rules) -> Settled:
    """Give each bid a name that no other one has.

    Where several would have the same name, the weakest of them go on to their next, all at once:
    the outcome depends on no order, and nobody gets calls that were meant for another.
    """
    rungs = [0] * len(bids)
    names = [_name_at(bid, 0, rules) for bid in bids]
    rivals: dict[int, Offer] = {}
    while clashes := _clashes(names):
        for clash in clashes:
            for index in _weakest(clash, bids, rungs):
                other = clash[1] if index == clash[0] else clash[0]
                rivals.setdefault(index, bids[other].offer)
                rungs[index] += 1
                names[index] = _name_at(bids[index], rungs[index], rules)
    return Settled(tuple(names), rivals)


def named(kind: Kind, bids: Sequence[Bid], rules: Rules) -> Entries:
    """Return the entries of what got a name, and a Problem for each name that is a surprise."""
    settled = settle(bids, rules)
    entries: list[Entry] = []
    found: list[Problem] = []
    for index, (bid, name) in enumerate(zip(bids, settled.names, strict=True)):
        if name is not None:
            entries.append(entry(bid.offer, name))
        if index in settled.rivals:
            found.append(problems.collides(kind, bid.offer, name, settled.rivals[index]))
        elif name is not None and name != bid.wanted:
            found.append(problems.rewritten(kind, bid.offer, name, _allowed(rules)))
    return Entries(tuple(entries), tuple(found))


def _allowed(rules: Rules) -> str:
    dot = "." if rules.allow_dots else ""
    return f"1 to {rules.max_name_length} characters of [A-Za-z0-9_{dot}-]"


def _clashes(names: Sequence[str | None]) -> list[list[int]]:
    if len(set(names)) == len(names):
        return []
    sharing: dict[str, list[int]] = {}
    for index, name in enumerate(names):
        if name is not None:
            sharing.setdefault(name, []).append(index)
    return [indexes for indexes in sharing.values() if len(indexes) > 1]


def _weakest(clash: Sequence[int], bids: Sequence[Bid], rungs: Sequence[int]) -> list[int]:
    # A bare name yields to a prefixed one, and any name to that of a firm bid.
    strengths = [(bids[i].firm, rungs[i] - bids[i].unmarked) for i in clash]
    least = min(strengths)
    return [i for i, strength in zip(clash, strengths, strict=True) if strength == least]


def _name_at(bid: Bid, rung: int, rules: Rules) -> str | None:
    if rung == 0:
        return fit(bid.wanted, bid.offer, rules)
    last = bid.wanted if bid.second is None else bid.second
    width = rung - bid.unmarked
    if width < 0:
        return fit(last, bid.offer, rules)
    return _marked(last, bid.offer, _WIDTHS[width], rules) if width < len(_WIDTHS) else None


def _marked(wanted: str, offer: Offer, width: int, rules: Rules) -> str:
    pair = f"{offer.backend.name}\0{offer.own_name}".encode("utf-8", "surrogatepass")
    mark = "_" + blake2b(pair, digest_size=16).hexdigest()[:width]
    room = max(0, rules.max_name_length - len(mark))
    stem = _foreign(rules).sub("_", wanted[:room]).rstrip("_")
    return (stem + mark)[-rules.max_name_length :]


def _foreign(rules: Rules) -> re.Pattern[str]:
    return _FOREIGN if rules.allow_dots else _FOREIGN_OR_DOT
