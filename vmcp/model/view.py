"""Which part of the whole a client uses: all of it, one backend alone, or a view that has a name."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import assert_never

_NAMED = "v/"


class Whole(Enum):
    """All that clients are shown."""

    WHOLE = "whole"


@dataclass(frozen=True, slots=True)
class OneBackend:
    """One backend by its public name, as if it were reached without others beside it."""

    name: str


@dataclass(frozen=True, slots=True)
class NamedView:
    """A view that the configuration names."""

    name: str


WHOLE = Whole.WHOLE
View = Whole | OneBackend | NamedView


@dataclass(frozen=True, slots=True)
class ViewRules:
    """What a named view shows: names as the whole shows them, `*` in one stands for any characters.

    `backends` None means those that have one of the `tools`; `tools` None means all of the `backends`.
    """

    name: str
    description: str | None = None
    backends: tuple[str, ...] | None = None
    tools: tuple[str, ...] | None = None


def below(view: View) -> str:
    """Return the path of a view below that of the whole."""
    match view:
        case Whole():
            return ""
        case OneBackend():
            return view.name
        case NamedView():
            return _NAMED + view.name
        case _:
            assert_never(view)


def view_at(path: str) -> OneBackend | NamedView | None:
    """Return the view at a path below that of the whole, None where none can be.

    One slash may follow. The names hold none, so a backend called `v` and the named views live side by side.
    """
    name = path.removesuffix("/")
    is_named = name.startswith(_NAMED)
    name = name.removeprefix(_NAMED)
    if not name or "/" in name:
        return None
    return NamedView(name) if is_named else OneBackend(name)
