"""The config that is in force: read anew when it is asked for, kept as it is while what is on disk is broken."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import replace

from vmcp.clock import Clock
from vmcp.config.errors import ConfigInvalid
from vmcp.config.load import Loaded
from vmcp.config.loading import LoadFailure, Loading
from vmcp.discovery.fixed import held
from vmcp.latest import Latest

log = logging.getLogger(__name__)

Load = Callable[[], Loaded]


class LiveConfig:
    """Own the cell of the loaded config; `load` reads it from disk and raises ConfigInvalid."""

    def __init__(self, load: Load, loaded: Loaded, clock: Clock) -> None:
        self._load = load
        self._first = loaded
        self._clock = clock
        self._asked = 0
        self._begun = 0
        self._turn = asyncio.Lock()
        self.loaded = Latest(loaded)
        self.loading = Latest(self._loading(loaded))

    def _loading(self, loaded: Loaded) -> Loading:
        return Loading(
            name=loaded.config.name,
            sources=(str(loaded.path),),
            loaded_at=self._clock.now(),
            waiting=loaded.waiting,
        )

    async def reload(self) -> Loading:
        """Read the config anew and return how that went; who asks meanwhile shares one further attempt."""
        self._asked += 1
        mine = self._asked
        async with self._turn:
            # What was read before we asked may be older than what we were called for.
            if self._begun < mine:
                self._begun = self._asked
                await self._attempt()
            return self.loading.value

    async def _attempt(self) -> None:
        try:
            loaded = await asyncio.to_thread(self._load)
        except ConfigInvalid as invalid:
            self._refuse(invalid)
        else:
            self._take(loaded)

    def _refuse(self, invalid: ConfigInvalid) -> None:
        before = self.loading.value
        failure = LoadFailure(self._clock.now(), invalid.name, invalid.errors)
        self.loading.set(replace(before, failures=before.failures + 1, failure=failure))
        if before.failure is None or before.failure.errors != failure.errors:
            log.error(
                "the config is broken; the one before stays in force",
                extra={"file": failure.file, "errors": [str(each) for each in failure.errors]},
            )

    def _take(self, loaded: Loaded) -> None:
        before = self.loading.value
        is_changed = self.loaded.set(held(loaded, self._first))
        self.loading.set(
            replace(
                self._loading(self.loaded.value),
                reloads=before.reloads + 1,
                failures=before.failures,
            )
        )
        if is_changed or before.failure is not None:
            log.info("the config is loaded anew", extra={"file": str(loaded.path)})
