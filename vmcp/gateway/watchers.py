"""Who hears what: clients with open streams are told of changed lists and updated resources."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Protocol

from vmcp.catalog.lookup import Catalog
from vmcp.gateway.ports import BackendClient
from vmcp.gateway.turns import Turns
from vmcp.gateway.views import Viewer, Views
from vmcp.model.keys import ObjectKey
from vmcp.model.view import View
from vmcp.protocol.document import quote
from vmcp.protocol.failures import Failure

log = logging.getLogger(__name__)

# The lists of which a client is told apart; templates belong to resources.
TOOLS, PROMPTS, RESOURCES = "tools", "prompts", "resources"
KINDS = (TOOLS, PROMPTS, RESOURCES)

Seen = dict[str, bytes]
_FAREWELL_SECONDS = 5.0


def digests(catalog: Catalog) -> Seen:
    """Return what tells two states of each list apart."""
    return {
        TOOLS: catalog.tools.digest,
        PROMPTS: catalog.prompts.digest,
        RESOURCES: catalog.resources.digest + catalog.templates.digest,
    }


class Watcher(Viewer, Protocol):
    """A client that may be told something: a session, or a subscription."""

    def changed(self, now: Mapping[str, bytes]) -> None:
        """Tell the client of the lists whose digest is another one than it saw last."""
        ...

    def updated(self, params: bytes) -> None:
        """Tell the client of an update of a resource that it subscribed to: the notification's params."""
        ...

    def lost(self) -> None:
        """End: the view that the client uses is no more."""
        ...


# A URI may lead clients of different views to different backends.
_Place = tuple[ObjectKey, str]
ClientOf = Callable[[ObjectKey], BackendClient | None]


class Watchers:
    """All who watch, and the subscriptions of resources: one at the backend, whoever many want it.

    `changes` counts, by kind of list, the notifications of changes that were told.
    """

    def __init__(self, views: Views) -> None:
        self.changes: Counter[str] = Counter()
        self._views = views
        self._all: set[Watcher] = set()
        self._resources: dict[_Place, set[Watcher]] = {}
        self._joined: dict[tuple[Watcher, str], _Place] = {}
        self._served: dict[_Place, BackendClient] = {}
        self._turns: Turns[_Place] = Turns()

    @property
    def watched(self) -> int:
        """How many resources somebody watches."""
        return len(self._resources)

    def add(self, watcher: Watcher) -> None:
        """Begin to tell a watcher of changes."""
        self._all.add(watcher)

    def remove(self, watcher: Watcher) -> None:
        """Tell a watcher nothing more of lists; its resources are left with `leave`."""
        self._all.discard(watcher)

    async def run(self, client_of: ClientOf) -> None:
        """Tell all watchers of each new catalog, until cancelled, and watch on at backends that come back."""
        async with asyncio.TaskGroup() as tasks:
            async for catalog in self._views.catalog.changes():
                self._tell()
                for place, before in self._served.items():
                    client = client_of(place[0])
                    if client not in (None, before) and place[0] in catalog.peers:
                        tasks.create_task(self._watch_on(place, client))

    def _tell(self) -> None:
        now: dict[View, Seen] = {}
        for watcher in tuple(self._all):
            view = watcher.view
            if not self._views.has(view):
                watcher.lost()
                continue
            if view not in now:
                now[view] = digests(self._views.catalog_of(watcher))
            watcher.changed(now[view])

    async def _watch_on(self, place: _Place, client: BackendClient) -> None:
        """Subscribe at a backend that was removed and is here again; what was missed counts as an update."""
        async with self._turns.of(place):
            if place not in self._resources or self._served.get(place) is client:
                return
            try:
                await client.subscribe(place[1])
            except Failure as failure:
                fields = {"backend": place[0].name, "reason": type(failure).__name__}
                log.info("a subscription was not renewed", extra=fields)
                return
            self._served[place] = client
            await self._settle(place)
        self.updated(*place, b'{"uri":' + quote(place[1]) + b"}")

    def updated(self, backend: ObjectKey, uri: str, params: bytes) -> None:
        """Tell those who subscribed to a resource, or to one that it is a part of, of its update."""
        concerned = [place for place in self._resources if _concerns(place, backend, uri)]
        for watcher in {each for place in concerned for each in self._resources[place]}:
            watcher.updated(params)

    def replaced(self, before: BackendClient, now: BackendClient) -> None:
        """Take note of a backend's new client, which has taken over the subscriptions of the one before."""
        self._served.update({uri: now for uri, client in self._served.items() if client is before})

    async def join(self, watcher: Watcher, uri: str, backend: BackendClient) -> None:
        """Subscribe a watcher to a resource; raise what the backend's client raises, and then it is not."""
        place = backend.backend.key, uri
        if self._joined.get((watcher, uri), place) != place:
            # Another backend serves it by now.
            await self.leave(watcher, uri)
        async with self._turns.of(place):
            if watcher not in self._all:
                return
            # An update may be told before the backend has said that it will.
            self._resources.setdefault(place, set()).add(watcher)
            self._joined[watcher, uri] = place
            if self._served.get(place) is backend:
                return
            try:
                await backend.subscribe(uri)
            except BaseException:
                self._drop(watcher, uri)
                raise
            self._served[place] = backend
            await self._settle(place)

    async def leave(self, watcher: Watcher, uri: str) -> None:
        """End a watcher's subscription; the backend's ends with the last one."""
        if (place := self._drop(watcher, uri)) is not None:
            async with self._turns.of(place):
                await self._settle(place)

    def _drop(self, watcher: Watcher, uri: str) -> _Place | None:
        """Tell a watcher of a resource no more; return the place where it was the last one."""
        place = self._joined.pop((watcher, uri), None)
        if place is None:
            return None
        watching = self._resources[place]
        watching.discard(watcher)
        if watching:
            return None
        del self._resources[place]
        return place

    async def _settle(self, place: _Place) -> None:
        """End the backend's subscription where nobody watches any more; called in the place's turn."""
        if place not in self._resources and (backend := self._served.pop(place, None)) is not None:
            await backend.unsubscribe(place[1])

    async def leave_all(self, watcher: Watcher, uris: Iterable[str]) -> None:
        """End several subscriptions; a backend that fails or hangs harms none of the others."""
        async with asyncio.TaskGroup() as tasks:
            for uri in uris:
                tasks.create_task(self._left(watcher, uri))

    async def _left(self, watcher: Watcher, uri: str) -> None:
        try:
            async with asyncio.timeout(_FAREWELL_SECONDS):
                await self.leave(watcher, uri)
        except Exception as error:  # noqa: BLE001
            log.debug("a subscription was not ended", extra={"reason": type(error).__name__})


def _concerns(place: _Place, backend: ObjectKey, uri: str) -> bool:
    owner, watched = place
    if owner != backend:
        return False
    # "This might be a sub-resource of the one that the client actually subscribed to."
    return watched == uri or (
        uri.startswith(watched) and (watched[-1:] == "/" or uri[len(watched)] in "/?#")
    )
