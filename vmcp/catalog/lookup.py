"""The catalog: all that clients see at one moment, and the way from a name to its backend."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from vmcp.catalog.entries import Entry
from vmcp.catalog.listing import Listing
from vmcp.catalog.raw import quote
from vmcp.catalog.templates import Pattern, prepare
from vmcp.model.document import Document
from vmcp.model.inventory import Peer
from vmcp.model.keys import ObjectKey
from vmcp.model.problem import Problem

_NOTHING = Document(())


@dataclass(frozen=True, slots=True)
class Reader:
    """A backend that may know a URI that no list shows: by a template, or for want of another."""

    backend: ObjectKey
    backend_name: str
    document: Document = _NOTHING

    def entry(self, uri: str) -> Entry:
        """Return the entry that leads `uri` to this backend."""
        return Entry(self.backend, self.backend_name, uri, uri, self.document)


@dataclass(frozen=True, slots=True)
class Route:
    """A template, how it is matched, and who reads the URIs that it matches."""

    template: str
    pattern: Pattern
    reader: Reader


@dataclass(frozen=True, slots=True)
class Catalog:
    """What clients see, and where it leads.

    `backends` are all that it is made of, in order, `peers` those of them that have been listed.
    `problems` holds those of the inventories too, sorted, each once.
    """

    tools: Listing
    prompts: Listing
    resources: Listing
    templates: Listing
    problems: tuple[Problem, ...]
    peers: Mapping[ObjectKey, Peer]
    backends: tuple[ObjectKey, ...] = ()
    _routes: tuple[Route, ...] = field(default=(), repr=False)
    _only_reader: Reader | None = field(default=None, repr=False)

    @property
    def has_only_reader(self) -> bool:
        """Whether one backend alone has resources: it reads every URI that nobody lists."""
        return self._only_reader is not None

    def tool(self, name: str) -> Entry | None:
        """Return the tool that clients call by this name."""
        return self.tools.get(name)

    def prompt(self, name: str) -> Entry | None:
        """Return the prompt that clients get by this name."""
        return self.prompts.get(name)

    def template(self, uri_template: str) -> Entry | None:
        """Return the listed resource template, for a completion that refers to it."""
        return self.templates.get(uri_template)

    def resource(self, uri: str) -> Entry | None:
        """Return who reads a URI: who lists it, else the best template, else the only reader."""
        listed = self.resources.get(uri)
        if listed is not None:
            return listed
        reader = _by_template(self._routes, uri) or self._only_reader
        return None if reader is None else reader.entry(uri)

    def declaring(self, capability: str) -> tuple[ObjectKey, ...]:
        """Return the backends that declare a capability such as `completions`, in order."""
        key = quote(capability)
        return tuple(k for k, peer in self.peers.items() if peer.capabilities.get(key) is not None)


def _by_template(routes: Iterable[Route], uri: str) -> Reader | None:
    # Preparing costs more than most templates do: their first literal does not fit.
    near = [route for route in routes if uri.startswith(route.pattern.prefix)]
    prepared = prepare(uri) if near else None
    if prepared is None:
        return None
    return next((route.reader for route in near if route.pattern.matches(prepared)), None)
