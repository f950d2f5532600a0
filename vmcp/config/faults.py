"""One fault in the values of a config file, and the words that all faults share.

A fault never shows a value that may be secret: who makes it decides, with `shown` or `kind`.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass

from pydantic_core import InitErrorDetails, PydanticCustomError

Place = tuple[str | int, ...]

FAULT = "fault"
_MAX_SHOWN = 60
_PLAIN_KEY = re.compile(r"[A-Za-z0-9_-]+")
# Other keys may be values whose colon lacks its space, `headerValue:secret`: not shown.
_SHOWABLE_KEY = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,62}")


@dataclass(frozen=True, slots=True)
class Fault:
    """Say what is wrong at a place, relative to the mapping that was looked at."""

    place: Place
    message: str
    found: str | None = None
    allowed: str | None = None
    suggestion: str | None = None

    def error(self) -> PydanticCustomError:
        """Return the exception by which a validator tells it; the place is left to pydantic."""
        context = asdict(self)
        del context["place"]
        return PydanticCustomError(FAULT, "{message}", context)

    def line(self) -> InitErrorDetails:
        """Return the entry of a ValidationError that stands for it, without the value."""
        return InitErrorDetails(type=self.error(), loc=self.place, input=None)


def fault(
    message: str,
    *,
    found: str | None = None,
    allowed: str | None = None,
    suggestion: str | None = None,
) -> PydanticCustomError:
    """Return what a validator of one value raises."""
    return Fault((), message, found, allowed, suggestion).error()


def kind(value: object) -> str:
    """Name the kind of a value and nothing of its content."""
    match value:
        case None:
            return "nothing"
        case bool():
            return "true or false"
        case int() | float():
            return "a number"
        case str():
            return "text (not shown)" if value else "an empty text"
        case Mapping():
            return "a mapping"
        case _:
            return "a list"


def shown(value: object) -> str:
    """Show a value that cannot be secret."""
    match value:
        case bool():
            return "true" if value else "false"
        case int() | float():
            return f"the number {value}"
        case str() if len(value) > _MAX_SHOWN:
            return f"{value[:_MAX_SHOWN]!r}..."
        case str():
            return repr(value)
        case _:
            return kind(value)


def is_showable_key(key: str) -> bool:
    """Tell whether a key looks like a name, so that it may be repeated in a message."""
    return _SHOWABLE_KEY.fullmatch(key) is not None


def listing(words: Iterable[str]) -> str:
    """Write words as one list."""
    return ", ".join(words)


def near(word: object, choices: Iterable[str]) -> str | None:
    """Return the question whether one of the choices was meant, None if none is near."""
    if not isinstance(word, str):
        return None
    by_form = {_form(choice): choice for choice in choices}
    found = difflib.get_close_matches(_form(word), by_form, n=1, cutoff=0.6)
    return f"Did you mean {by_form[found[0]]!r}?" if found else None


def repeated(names: list[tuple[int, str]], before: Place, after: Place = ()) -> Iterator[Fault]:
    """Yield a fault for each name that came before, at the place of its index."""
    seen: set[str] = set()
    for index, name in names:
        if name in seen:
            yield Fault((*before, index, *after), "Is there twice.", found=shown(name))
        seen.add(name)


def path_text(place: Iterable[str | int]) -> str:
    """Return a place as people write it: `backends[2].transport`, `overrides["a.b"].name`."""
    text = ""
    for part in place:
        if isinstance(part, int):
            text += f"[{part}]"
        elif _PLAIN_KEY.fullmatch(part):
            text += f".{part}" if text else part
        else:
            text += f'["{part}"]'
    return text


def _form(word: str) -> str:
    return word.lower().replace("_", "").replace("-", "")
