"""Match URIs with URI templates (RFC 6570), in time that grows only with the length of both.

Expansion is many-to-one, so the inverse is generous: what a variable may hold is told by the
operator alone, and a variable may be empty. Literal parts are compared as they are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

# Long enough for what servers accept; a match costs at most some hundred microseconds.
_LONGEST_URI = 8192
_LONGEST_TEMPLATE = 2048

_EXPRESSION = re.compile(r"\{([^{}]*)\}")
_SPEC = r"[A-Za-z0-9_.%-]+(?:\*|:[1-9][0-9]{0,3})?"
_SPECS = re.compile(rf"([+#./;?&]?)({_SPEC}(?:,{_SPEC})*)")
# By operator: what the expansion of an expression cannot hold, however it is encoded.
_STOPS = {"": "/?#", "+": "", "#": "", ".": "/?#", "/": "/?#", ";": "/?#", "?": "#", "&": "#"}
# By operator: what follows the name of a variable where the expansion holds names.
_SIGNS = {";": "", "?": "=", "&": "="}


@dataclass(frozen=True, slots=True)
class Uri:
    """A URI to match: for each character the bit set of the places where it stands."""

    text: str
    places: dict[str, int]
    everywhere: int

    def without(self, stops: str) -> int:
        """Return the places where none of the characters `stops` stands."""
        found = self.everywhere
        for char in stops:
            found &= ~self.places.get(char, 0)
        return found


@dataclass(frozen=True, slots=True)
class Literal:
    """Text that must stand in the URI as it is."""

    text: str

    def ends(self, uri: Uri, starts: int) -> int:
        """Return where it can end if it starts at one of `starts`; both are bit sets."""
        for char in self.text:
            starts = (starts & uri.places.get(char, 0)) << 1
        return starts


@dataclass(frozen=True, slots=True)
class Expansion:
    """Text that an expression can expand to: nothing, or one of `openings`, then no `stops`."""

    openings: tuple[Literal, ...]
    stops: str

    def ends(self, uri: Uri, starts: int) -> int:
        """Return where it can end if it starts at one of `starts`; both are bit sets."""
        opened = 0
        for opening in self.openings:
            opened |= opening.ends(uri, starts)
        allowed = uri.without(self.stops)
        # The carry of the sum runs from each place that was opened to the end of what is allowed.
        return starts | opened | (((opened & allowed) + allowed) ^ allowed)


@dataclass(frozen=True, slots=True)
class Pattern:
    """A template that can be matched; `literal_length` tells how specific it is."""

    prefix: str
    parts: tuple[Literal | Expansion, ...]
    literal_length: int

    def matches(self, uri: Uri) -> bool:
        """Tell whether the template can have been expanded to `uri`."""
        if not uri.text.startswith(self.prefix):
            return False
        reached = 1 << len(self.prefix)
        for part in self.parts:
            reached = part.ends(uri, reached)
            if not reached:
                return False
        return bool(reached >> len(uri.text) & 1)


def prepare(text: str) -> Uri | None:
    """Return the URI as it is matched, None if it is too long for that."""
    if len(text) > _LONGEST_URI:
        return None
    places: dict[str, int] = {}
    for at, char in enumerate(text):
        places[char] = places.get(char, 0) | 1 << at
    return Uri(text, places, (1 << len(text)) - 1)


def compiled(template: str) -> Pattern | None:
    """Return the template as it is matched, None if it is none of RFC 6570 or too long."""
    if len(template) > _LONGEST_TEMPLATE:
        return None
    # Literals and expressions in turn, a literal first and last.
    pieces = _EXPRESSION.split(template)
    literals = pieces[::2]
    if any("{" in literal or "}" in literal for literal in literals):
        return None
    parts: list[Literal | Expansion] = []
    for expression, literal in zip(pieces[1::2], literals[1:], strict=True):
        found = _SPECS.fullmatch(expression)
        if found is None:
            return None
        parts += [*_expansions(found[1], found[2].split(",")), Literal(literal)]
    return Pattern(literals[0], tuple(parts), sum(map(len, literals)))


def _expansions(operator: str, specs: Sequence[str]) -> Iterator[Expansion]:
    stops = _STOPS[operator]
    exploded = [spec.endswith("*") for spec in specs]
    if operator == "/":
        # An exploded list goes on over as many segments as it has members.
        for many in exploded:
            yield Expansion((Literal("/"),), stops.replace("/", "") if many else stops)
    elif operator in _SIGNS and not any(exploded):
        names = [spec.partition(":")[0] for spec in specs]
        yield Expansion(tuple(Literal(operator + name + _SIGNS[operator]) for name in names), stops)
    else:
        # An exploded map brings names of its own.
        yield Expansion((Literal(operator.replace("+", "")),), stops)
