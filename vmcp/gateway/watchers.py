"""Who hears what: clients with open streams are told of changed lists and updated resources."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Protocol

from vmcp.catalog.lookup import Catalog
from vmcp.gateway.ports import BackendClient
from vmcp.gateway.turns import Turns
from vmcp.gateway.views import Views
from vmcp.model.identity import Caller
from vmcp.model.keys import ObjectKey

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


class Watcher(Protocol):
    """A client that may be told something: a session, or a subscription."""

    @property
    def caller(self) -> Caller:
        """Whose catalog it sees."""
        ...

    def changed(self, now: Mapping[str, bytes]) -> None:
        """Tell the client of the lists whose digest is another one than it saw last."""
        ...

    def updated(self, params: bytes) -> None:
        """Tell the client of an update of a resource that it subscribed to: the notification's params."""
        ...


class Watchers:
    """All who watch, and the subscriptions of resources: one at the backend, whoever many want it.

    `changes` counts, by kind of list, the notifications of changes that were told.
    """

    def __init__(self, views: Views) -> None:
        self.changes: Counter[str] = Counter()
        self._views = views
        self._all: set[Watcher] = set()
        self._resources: dict[str, set[Watcher]] = {}
        self._served: dict[str, BackendClient] = {}
        self._turns: Turns[str] = Turns()

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

    async def run(self) -> None:
        """Tell all watchers of each new catalog, until cancelled."""
        async for catalog in self._views.catalog.changes():
            now = digests(catalog)
            for watcher in tuple(self._all):
                watcher.changed(now)

    def updated(self, backend: ObjectKey, uri: str, params: bytes) -> None:
        """Tell those who subscribed to a resource, or to one that it is a part of, of its update."""
        concerned = [each for each in self._resources if self._concerns(backend, each, uri)]
        for watcher in {each for watched in concerned for each in self._resources[watched]}:
            watcher.updated(params)

    def _concerns(self, backend: ObjectKey, watched: str, uri: str) -> bool:
        if watched == uri:
            return True
        # "This might be a sub-resource of the one that the client actually subscribed to."
        is_part = uri.startswith(watched) and (watched[-1:] == "/" or uri[len(watched)] in "/?#")
        served = self._served.get(watched)
        return is_part and served is not None and served.backend.key == backend

    async def join(self, watcher: Watcher, uri: str, backend: BackendClient) -> None:
        """Subscribe a watcher to a resource; raise what the backend's client raises, and then it is not."""
        async with self._turns.of(uri):
            if watcher not in self._all:
                return
            # An update may be told before the backend has said that it will.
            self._resources.setdefault(uri, set()).add(watcher)
            if uri in self._served:
                return
            try:
                await backend.subscribe(uri)
            except BaseException:
                self._drop(watcher, uri)
                raise
            self._served[uri] = backend
            await self._settle(uri)

    async def leave(self, watcher: Watcher, uri: str) -> None:
        """End a watcher's subscription; the backend's ends with the last one."""
        if self._drop(watcher, uri):
            async with self._turns.of(uri):
                await self._settle(uri)

    def _drop(self, watcher: Watcher, uri: str) -> bool:
        """Tell a watcher of a resource no more; True where it was the last one."""
        watching = self._resources.get(uri)
        if watching is None or watcher not in watching:
            return False
        watching.discard(watcher)
        if not watching:
            del self._resources[uri]
        return not watching

    async def _settle(self, uri: str) -> None:
        """End the backend's subscription where nobody watches any more; called in the turn of the URI."""
        if uri not in self._resources and (backend := self._served.pop(uri, None)) is not None:
            await backend.unsubscribe(uri)

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
