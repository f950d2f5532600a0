"""What the catalog is made of: offers of backends, and the entries that clients see and call."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from vmcp.catalog.raw import quote
from vmcp.model.backend import Backend
from vmcp.model.document import Document
from vmcp.model.keys import ObjectKey
from vmcp.model.problem import Problem

ParamHeaders = tuple[tuple[str, tuple[str, ...], str], ...]


class Kind(Enum):
    """The four things that a catalog lists; the value is the word for people."""

    TOOL = "tool"
    PROMPT = "prompt"
    RESOURCE = "resource"
    TEMPLATE = "resource template"


class Offer(NamedTuple):
    """One thing that one backend offers, before it has its public name.

    `base` is its name after overrides; the last two are those of `vmcp.model.inventory.Tool`.
    One is made for each name in each build: a tuple takes a third of the time of a dataclass.
    """

    backend: Backend
    own_name: str
    base: str
    document: Document
    param_headers: ParamHeaders = ()
    object_output: bool = True


@dataclass(frozen=True, slots=True)
class Offers:
    """What remains to be named, and what was wrong on the way there."""

    kept: tuple[Offer, ...] = ()
    problems: tuple[Problem, ...] = ()


class Entry(NamedTuple):
    """Where a public name leads: the backend, its own name for the thing, and what it says of it.

    What follows from the fields is made when it is asked for: a build makes as many entries as
    there are names, and most of them are not looked at before the next build.
    """

    backend: ObjectKey
    backend_name: str
    name: str
    own_name: str
    own_document: Document
    param_headers: ParamHeaders = ()
    object_output: bool = True

    @property
    def renamed(self) -> bool:
        """Whether clients know it by another name than its backend does."""
        return self.name != self.own_name

    @property
    def own_json(self) -> bytes:
        """The own name as a raw JSON string."""
        return quote(self.own_name)

    @property
    def document(self) -> Document:
        """The document as clients see it; for a URI that no list shows its template's, or empty."""
        if self.name == self.own_name:
            return self.own_document
        return self.own_document.with_member(b'"name"', quote(self.name))


@dataclass(frozen=True, slots=True)
class Entries:
    """The named entries of one kind, and what was wrong with their names."""

    named: tuple[Entry, ...] = ()
    problems: tuple[Problem, ...] = ()


def entry(offer: Offer, name: str) -> Entry:
    """Return the entry that gives `offer` a public name."""
    backend, own_name, _, document, param_headers, object_output = offer
    return Entry(backend.key, backend.name, name, own_name, document, param_headers, object_output)
