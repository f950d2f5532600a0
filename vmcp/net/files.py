"""Tell when files hold something else than before, in whatever way they were replaced."""

from __future__ import annotations

import asyncio
import logging
import stat
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager
from hashlib import sha256
from pathlib import Path

from watchfiles import awatch

log = logging.getLogger(__name__)

# What each file holds, as a text that differs where the content does.
Contents = Mapping[Path, str]
Notify = Callable[[frozenset[Path]], AsyncIterator[object]]

# Network file systems tell nothing of what others change there: files are looked at now and then all the same.
_LOOK_SECONDS = 5.0
_POLL_SECONDS = 1.0
# A file that is being written is read once it has been still for this long, at the latest after the other time.
_STILL_SECONDS = 0.03
_LONGEST_SECONDS = 0.1
_MOST_BYTES = 8 * 2**20
_MOST_LINKS = 40
_STEP_MILLISECONDS = 50


def contents(paths: Iterable[Path]) -> Contents:
    """Read what the files hold; it blocks."""
    return {path: _content(path) for path in paths}


def _content(path: Path) -> str:
    try:
        kind = path.stat().st_mode
        # Opening a pipe would wait for its writer.
        if not stat.S_ISREG(kind):
            return f"kind {stat.S_IFMT(kind)}"
        with path.open("rb") as file:
            return sha256(file.read(_MOST_BYTES)).hexdigest()
    except OSError as error:
        return f"error {error.errno}"


def places(path: Path) -> Iterator[Path]:
    """Yield all names that lead to a file, those of links and folders too: who replaces one, replaces the file."""
    rest, at, links = deque(path.parts[1:]), Path(path.anchor), 0
    while rest and links < _MOST_LINKS:
        name = rest.popleft()
        if name == "..":
            at = at.parent
            continue
        at /= name
        yield at
        try:
            target = at.readlink()
        except (FileNotFoundError, NotADirectoryError, PermissionError):
            return
        except OSError:
            # It is no link.
            continue
        links += 1
        rest.extendleft(reversed(target.parts[1:] if target.is_absolute() else target.parts))
        at = Path(target.anchor) if target.is_absolute() else at.parent


def events(watched: frozenset[Path]) -> AsyncIterator[object]:
    """Yield whenever the system tells of a change of one of the names; raise OSError where it tells of none."""
    return awatch(
        *sorted({place.parent for place in watched}),
        watch_filter=lambda _, path: Path(path) in watched,
        debounce=_STEP_MILLISECONDS,
        step=_STEP_MILLISECONDS,
        recursive=False,
        force_polling=False,
        # A folder that may be passed but not read is looked at now and then.
        ignore_permission_denied=True,
    )


class Watch:
    """Wait for changes of files: told by the system, else found by looking again and again."""

    def __init__(self, notify: Notify) -> None:
        self._notify = notify
        self._is_polling = False

    async def changed(self, seen: Contents) -> None:
        """Return when the files hold something else than was seen, and have been still for a moment."""
        while True:
            watched = await asyncio.to_thread(_all_places, seen)
            async with self._ringing(watched) as bell:
                while await asyncio.to_thread(contents, seen) == seen:
                    await self._heard(bell)
                    if watched != await asyncio.to_thread(_all_places, seen):
                        break
                else:
                    await _still(seen)
                    return

    @asynccontextmanager
    async def _ringing(self, watched: frozenset[Path]) -> AsyncIterator[asyncio.Event]:
        bell = asyncio.Event()
        async with asyncio.TaskGroup() as tasks:
            ringing = tasks.create_task(self._ring(watched, bell))
            # The first step of the task begins to listen: what is read from now on misses nothing.
            await asyncio.sleep(0)
            try:
                yield bell
            finally:
                ringing.cancel()

    async def _ring(self, watched: frozenset[Path], bell: asyncio.Event) -> None:
        try:
            async for _ in self._notify(watched):
                bell.set()
        except FileNotFoundError:
            # A folder has gone since we looked: it is looked for anew.
            bell.set()
        except (OSError, RuntimeError) as error:
            # As where all watches of the system are taken.
            if not self._is_polling:
                self._is_polling = True
                reason = getattr(error, "strerror", None) or type(error).__name__
                log.warning(
                    "changes of files are not told; they are polled", extra={"reason": reason}
                )

    async def _heard(self, bell: asyncio.Event) -> None:
        try:
            async with asyncio.timeout(_POLL_SECONDS if self._is_polling else _LOOK_SECONDS):
                await bell.wait()
        except TimeoutError:
            return
        bell.clear()


def _all_places(paths: Iterable[Path]) -> frozenset[Path]:
    return frozenset(place for path in paths for place in places(path))


async def _still(paths: Iterable[Path]) -> None:
    loop = asyncio.get_running_loop()
    end, before = loop.time() + _LONGEST_SECONDS, None
    while before != (now := await asyncio.to_thread(contents, paths)) and loop.time() < end:
        before = now
        await asyncio.sleep(_STILL_SECONDS)
