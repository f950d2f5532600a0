"""The two ways to read objects of a kind: a list in pages, and a watch from there on."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass
from typing import Any

from vmcp.kube.client import ApiServer, refusal
from vmcp.kube.decoding import decoded
from vmcp.kube.errors import Unreachable
from vmcp.kube.pace import Pace, jittered
from vmcp.kube.resource import Resource
from vmcp.kube.trimming import Kept, Trim, kept

_OK = 200


@dataclass(frozen=True, slots=True)
class Scope:
    """What is read: a kind in a namespace, or one object of it by its name; of what comes, `names` are kept."""

    resource: Resource
    namespace: str
    name: str | None
    names: frozenset[str] | None
    trim: Trim

    @property
    def query(self) -> dict[str, str]:
        """The selector, which is also what a Role with `resourceNames` asks for."""
        return {} if self.name is None else {"fieldSelector": f"metadata.name={self.name}"}

    def kept(self, found: Mapping[str, Any]) -> Kept | None:
        """Trim an object; None where it is one of those that nobody asked for."""
        if self.names is not None and found["metadata"]["name"] not in self.names:
            return None
        return kept(found, self.trim)


@dataclass(frozen=True, slots=True)
class Listed:
    """All objects at one version."""

    found: tuple[Kept, ...]
    since: str


@dataclass(frozen=True, slots=True)
class Put:
    """An object is there, new or changed."""

    found: Kept


@dataclass(frozen=True, slots=True)
class Gone:
    """An object is there no more."""

    name: str


@dataclass(frozen=True, slots=True)
class Event:
    """What a watch tells, and the version from which the next one may begin."""

    change: Put | Gone | None
    since: str


async def listed(server: ApiServer, scope: Scope, version: str, pace: Pace) -> Listed:
    """Read all pages; raise what the server raises, 410 among it where the list took too long."""
    path = scope.resource.path(version, scope.namespace)
    found: list[Kept] = []
    query = {**scope.query, "limit": str(pace.page)}
    while True:
        page = await server.get(path, query)
        # Items of a list do not tell their version.
        api_version = {"apiVersion": scope.resource.api_version(version)}
        trimmed = (scope.kept({**each, **api_version}) for each in page.get("items") or ())
        found += [one for one in trimmed if one is not None]
        metadata = page.get("metadata") or {}
        if not metadata.get("continue"):
            return Listed(tuple(found), str(metadata.get("resourceVersion", "")))
        query["continue"] = metadata["continue"]


async def watched(
    server: ApiServer, scope: Scope, version: str, *, since: str, pace: Pace
) -> AsyncGenerator[Event, None]:
    """Yield what changes after a version, first an Event of nothing once the server agrees; it ends the watch.

    Raise Refused with 410 where the server has forgotten that version.
    """
    query = {
        **scope.query,
        "watch": "1",
        "allowWatchBookmarks": "true",
        "resourceVersion": since,
        # Watches that began together do not end together.
        "timeoutSeconds": str(max(1, round(jittered(pace.watch_seconds)))),
    }
    path = scope.resource.path(version, scope.namespace)
    async with server.stream(path, query, silent_seconds=pace.silent_seconds) as lines:
        yield Event(None, since)
        async for line in lines:
            yield _event(line, scope)


def _event(line: bytes, scope: Scope) -> Event:
    try:
        told = decoded(line)
        kind, found = told["type"], told["object"]
    except (ValueError, KeyError, TypeError):
        raise Unreachable("what it says in a watch is no event", is_untrusted=False) from None
    if kind == "ERROR":
        raise refusal(found, status=_OK, retry_seconds=0.0)
    if kind == "BOOKMARK":
        return Event(None, _version(found))
    if kind == "DELETED":
        return Event(Gone(str(found["metadata"]["name"])), _version(found))
    one = scope.kept(found)
    return Event(None if one is None else Put(one), _version(found))


def _version(found: Mapping[str, Any]) -> str:
    return str((found.get("metadata") or {}).get("resourceVersion", ""))
