"""The config in force: read anew when files change or somebody asks, kept while what is on disk is broken."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

from vmcp.clock import Clock
from vmcp.config.errors import ConfigError, ConfigInvalid
from vmcp.config.load import Loaded
from vmcp.config.loading import LoadFailure, Loading
from vmcp.discovery.fixed import held
from vmcp.latest import Latest
from vmcp.net.files import Contents, Watch, contents, events

log = logging.getLogger(__name__)

Load = Callable[[], Loaded]

# Files that a config begins to name are looked at before they are read, for which it is read again.
_MOST_READINGS = 3


class LiveConfig:
    """Own the cell of the loaded config; `load` reads it from disk and raises ConfigInvalid."""

    def __init__(self, load: Load, loaded: Loaded, clock: Clock) -> None:
        self._load = load
        self._first = loaded
        self._clock = clock
        self._asked = 0
        self._begun = 0
        self._turn = asyncio.Lock()
        self._bell = asyncio.Event()
        self._seen: Contents = dict.fromkeys(loaded.files, "")
        self.loaded = Latest(loaded)
        self.loading = Latest(self._loading(loaded))

    def _loading(self, loaded: Loaded) -> Loading:
        return Loading(
            name=loaded.config.name,
            sources=loaded.sources,
            loaded_at=self._clock.now(),
            waiting=loaded.waiting,
        )

    async def run(self) -> None:
        """Reload when files change and when `ring` was called, until cancelled."""
        await self._catch_up()
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._follow_files())
            tasks.create_task(self._follow_bell())

    def ring(self) -> None:
        """Have `run` reload; for signals, which cannot wait."""
        self._bell.set()

    async def _follow_bell(self) -> None:
        while True:
            await self._bell.wait()
            self._bell.clear()
            await self.reload()

    async def _follow_files(self) -> None:
        watch = Watch(events)
        while True:
            await watch.changed(self._seen)
            async with self._turn:
                # Who was asked to reload may have read it all by now.
                if await asyncio.to_thread(contents, self._seen) != self._seen:
                    self._begun = self._asked
                    await self._attempt()

    async def _catch_up(self) -> None:
        """Begin to watch: what has changed since the first reading is taken, and nothing is said of the rest."""
        async with self._turn:
            found, self._seen = await asyncio.to_thread(self._read)
            if isinstance(found, ConfigInvalid):
                self._refuse(found)
            elif held(found, self._first) != self.loaded.value:
                self._take(found)

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
        found, self._seen = await asyncio.to_thread(self._read)
        if isinstance(found, ConfigInvalid):
            self._refuse(found)
        else:
            self._take(found)

    def _read(self) -> tuple[Loaded | ConfigInvalid, Contents]:
        """Read the config, and before it what all its files held: a change after that will be seen."""
        files: Iterable[Path] = self._seen
        for _ in range(_MOST_READINGS):
            seen = contents(files)
            found = self._loaded()
            files = found.files
            if seen.keys() >= set(files):
                break
        return found, {path: seen.get(path, "") for path in files}

    def _loaded(self) -> Loaded | ConfigInvalid:
        try:
            return self._load()
        except ConfigInvalid as invalid:
            return invalid
        except Exception as fault:
            # The fault is ours: what is in force must not fall with it.
            log.exception("the config cannot be read")
            wrong = ConfigError("", f"It cannot be read: {type(fault).__name__}.")
            return ConfigInvalid(str(self._first.path), [wrong], tuple(self._seen))

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
            log.info("the config is loaded anew", extra={"file": str(self._first.path)})
