"""The wording of what is wrong with names and rules; the modules beside it find it out."""

from __future__ import annotations

import re

from vmcp.catalog.entries import Entry, Kind, Offer
from vmcp.model.backend import Backend
from vmcp.model.keys import ObjectKey
from vmcp.model.problem import Problem

# A rule that names no backend that exists belongs to the rules themselves.
RULES_KEY = ObjectKey("config", "aggregation")

_LONGEST_SHOWN = 128
_PASSWORD = re.compile(r"^([^/@]*?):[^/@]*@")
# In a template the mark stands within braces.
_QUERY = re.compile(r"(?<!\{)\?.*", re.DOTALL)


def shown(name: str) -> str:
    """Return a name that others gave, in quotes, fit for one line of a log or a terminal.

    Of a URI the password and the query are left out: it goes to the log.
    """
    name = _without_keys(name)
    if name.isprintable() and len(name) <= _LONGEST_SHOWN:
        return f"'{name}'"
    cut = name if len(name) <= _LONGEST_SHOWN else f"{name[:_LONGEST_SHOWN]}..."
    safe = [char if char.isprintable() else char.encode("unicode_escape").decode() for char in cut]
    return f"'{''.join(safe)}'"


def _without_keys(name: str) -> str:
    scheme, mark, rest = name.partition("://")
    if not mark:
        return name
    return scheme + mark + _QUERY.sub("?...", _PASSWORD.sub(r"\1:...@", rest))


def subject(kind: Kind, own_name: str, backend_name: str) -> str:
    """Return the words with which each sentence about one thing of one backend begins."""
    said = _named(kind, own_name, backend_name)
    return f"{said[0].upper()}{said[1:]}"


def _named(kind: Kind, own_name: str, backend_name: str) -> str:
    return f"{kind.value} {shown(own_name)} of backend {shown(backend_name)}"


def _of(kind: Kind, offer: Offer) -> str:
    return _named(kind, offer.own_name, offer.backend.name)


def _about(kind: Kind, offer: Offer, reason: str, rest: str) -> Problem:
    said = subject(kind, offer.own_name, offer.backend.name)
    return Problem(offer.backend.key, reason, f"{said} {rest}")


def duplicated(kind: Kind, backend: Backend, name: str) -> Problem:
    """Say that a backend lists a name more than once."""
    said = (
        f"Backend {shown(backend.name)} lists {kind.value} {shown(name)} more than once;"
        " the first one stays."
    )
    return Problem(backend.key, "NameDuplicated", said)


def rewritten(kind: Kind, offer: Offer, name: str, allowed: str) -> Problem:
    """Say that a name was made to fit."""
    rest = f"is listed as '{name}', since a name has {allowed}."
    return _about(kind, offer, "NameRewritten", rest)


def collides(kind: Kind, offer: Offer, name: str | None, rival: Offer) -> Problem:
    """Say that two things would have had one full name; None if it takes too long a name."""
    beside = f"it would share its name with {_of(kind, rival)}"
    rest = f"is listed as '{name}': {beside}."
    if name is None:
        rest = (
            f"is not listed: {beside}, and all others are taken; raise aggregation.maxNameLength."
        )
    return _about(kind, offer, "NameCollides", rest)


def shadowed(kind: Kind, offer: Offer, winner: Offer) -> Problem:
    """Say that a backend that comes first offers the same name or URI."""
    rest = (
        f"is not listed: backend {shown(winner.backend.name)} offers {shown(offer.base)} too"
        " and comes first."
    )
    return _about(kind, offer, "NameShadowed", rest)


def prefixed(kind: Kind, offer: Offer, rival: Offer) -> Problem:
    """Say that priorityOrder does not tell which of two backends comes first."""
    rest = (
        f"is listed with its prefix: backend {shown(rival.backend.name)} offers"
        f" {shown(offer.base)} too, and neither of them is in priorityOrder."
    )
    return _about(kind, offer, "NamePrefixed", rest)


def unresolved(kind: Kind, offer: Offer, rival: Offer) -> Problem:
    """Say that a collision waits for somebody to resolve it by hand."""
    rest = (
        f"is not listed: backend {shown(rival.backend.name)} offers {shown(offer.base)} too and"
        " conflictResolution is manual; rename one with an override or filter it out."
    )
    return _about(kind, offer, "NameUnresolved", rest)


def override_collides(offer: Offer, winner: Offer) -> Problem:
    """Say that overrides give two tools of one backend the same name."""
    rest = (
        f"is not listed: after overrides it is {shown(offer.base)}, and so is tool"
        f" {shown(winner.own_name)} of the same backend; give one of them another name."
    )
    return _about(Kind.TOOL, offer, "OverrideCollides", rest)


def override_unmatched(backend: Backend, name: str) -> Problem:
    """Say that an override names no tool."""
    said = (
        f"The override of {shown(name)} matches no tool of backend {shown(backend.name)};"
        " overrides go by the names that the backend itself gives."
    )
    return Problem(backend.key, "OverrideUnmatched", said)


def filter_unmatched(backend: Backend, name: str) -> Problem:
    """Say that a filter names no tool."""
    said = (
        f"The filter's {shown(name)} matches no tool of backend {shown(backend.name)};"
        " filters go by names after overrides and before the prefix."
    )
    return Problem(backend.key, "FilterUnmatched", said)


def annotations_unreadable(offer: Offer) -> Problem:
    """Say that annotations could not be overridden."""
    rest = "keeps its annotations: they are no object in which members could be overridden."
    return _about(Kind.TOOL, offer, "AnnotationsUnreadable", rest)


def backend_unknown(field: str, name: str) -> Problem:
    """Say that a rule names a backend that does not exist."""
    said = f"aggregation.{field} names {shown(name)}, but no backend has that name."
    return Problem(RULES_KEY, "BackendUnknown", said)


def view_backend_unknown(view: str, name: str) -> Problem:
    """Say that a view names a backend that does not exist."""
    said = f"View {shown(view)} names backend {shown(name)}, but no backend has that name."
    return Problem(ObjectKey("View", view), "BackendUnknown", said)


def view_tool_unmatched(view: str, pattern: str) -> Problem:
    """Say that a view names a tool that it cannot show."""
    said = (
        f"View {shown(view)} names tool {shown(pattern)}, which matches no tool of its backends;"
        " views go by the names that clients see."
    )
    return Problem(ObjectKey("View", view), "ToolUnmatched", said)


def template_invalid(entry: Entry) -> Problem:
    """Say that a URI template leads nowhere."""
    said = (
        f"Resource template {shown(entry.name)} of backend {shown(entry.backend_name)} is listed,"
        " but leads no URI to its backend: it is not one of RFC 6570, or too long."
    )
    return Problem(entry.backend, "TemplateInvalid", said)
