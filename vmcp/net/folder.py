"""Read a folder of text files, and tell when one of them is changed, new or gone, sub-folders included."""

from __future__ import annotations

import asyncio
import logging
import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from watchfiles import awatch

from vmcp.net.files import events, places

log = logging.getLogger(__name__)

# Network file systems tell nothing of what others change there: the folder is looked at now and then all the same.
_LOOK_SECONDS = 5.0
# A folder that is gone is often one that is being replaced.
_AWAY_SECONDS = 1.0
# A folder that is being written is read once it has been still for this long, at the latest after the other time.
_STILL_SECONDS = 0.03
_LONGEST_SECONDS = 0.2
_STEP_MILLISECONDS = 50
_MOST_BYTES = 16 * 2**20
_MOST_FILES = 20_000


@dataclass(frozen=True, slots=True)
class Unread:
    """A file that cannot be read; `why` is the end of a sentence."""

    why: str


# What files hold, by their paths below the folder.
Texts = Mapping[str, bytes | Unread]


def texts(folder: Path, endings: tuple[str, ...]) -> Texts:
    """Return what the files of some endings hold, sorted by path; it blocks; raise OSError without the folder.

    Names that begin with a dot are passed over: a volume of Kubernetes keeps its versions behind such.
    """
    found: dict[str, bytes | Unread] = {}
    for path in _files(folder):
        if path.suffix in endings:
            if len(found) >= _MOST_FILES:
                log.warning("the folder holds too many files", extra={"folder": str(folder)})
                break
            found[path.relative_to(folder).as_posix()] = _read(path)
    return dict(sorted(found.items()))


def _files(folder: Path) -> Iterator[Path]:
    seen: set[tuple[int, int]] = set()
    ahead = [folder]
    while ahead:
        at = ahead.pop()
        try:
            kind = at.stat()
            if (kind.st_dev, kind.st_ino) in seen:
                # A link that leads back.
                continue
            seen.add((kind.st_dev, kind.st_ino))
            entries = sorted(os.scandir(at), key=lambda entry: entry.name)
        except OSError:
            if at == folder:
                raise
            continue
        for entry in entries:
            if entry.name.startswith("."):
                continue
            if _is_folder(entry):
                ahead.append(Path(entry.path))
            else:
                yield Path(entry.path)


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False


def _read(path: Path) -> bytes | Unread:
    try:
        # Opening a pipe would wait for its writer.
        if not stat.S_ISREG(path.stat().st_mode):
            return Unread("is no regular file")
        with path.open("rb") as file:
            content = file.read(_MOST_BYTES + 1)
    except OSError as error:
        return Unread(f"cannot be read: {error.strerror}")
    return content if len(content) <= _MOST_BYTES else Unread(f"is larger than {_MOST_BYTES} bytes")


class FolderWatch:
    """Wait for changes of a folder: told by the system, else found by looking again and again."""

    def __init__(self, folder: Path, endings: tuple[str, ...]) -> None:
        self._folder = folder
        self._endings = endings
        self._bell = asyncio.Event()

    async def run(self) -> None:
        """Listen to the system until cancelled, anew whenever the name leads to another folder."""
        folder = self._folder.absolute()
        while True:
            names = await asyncio.to_thread(lambda: frozenset(places(folder)))
            async with asyncio.TaskGroup() as tasks:
                listening = tasks.create_task(self._listen())
                # The first step of the task begins to listen: what is read from now on misses nothing.
                await asyncio.sleep(0)
                self._bell.set()
                await _replaced(names)
                listening.cancel()

    async def _listen(self) -> None:
        while True:
            with suppress(OSError, RuntimeError):
                async for _ in awatch(
                    self._folder,
                    watch_filter=None,
                    step=_STEP_MILLISECONDS,
                    debounce=_STEP_MILLISECONDS,
                    recursive=True,
                    force_polling=False,
                    ignore_permission_denied=True,
                ):
                    self._bell.set()
            # The folder is not there, or all watches of the system are taken.
            await asyncio.sleep(_AWAY_SECONDS)

    async def changed(self, seen: Texts) -> Texts:
        """Return what the folder holds when it is something else and still; raise OSError without a folder."""
        while (now := await self._now()) == seen:
            with suppress(TimeoutError):
                async with asyncio.timeout(_LOOK_SECONDS):
                    await self._bell.wait()
            self._bell.clear()
        return await self._still(now)

    async def pause(self) -> None:
        """Wait until the system tells of something, or for a while."""
        with suppress(TimeoutError):
            async with asyncio.timeout(_AWAY_SECONDS):
                await self._bell.wait()
        self._bell.clear()

    async def _still(self, before: Texts) -> Texts:
        loop = asyncio.get_running_loop()
        end = loop.time() + _LONGEST_SECONDS
        while loop.time() < end:
            await asyncio.sleep(_STILL_SECONDS)
            now = await self._now()
            if now == before:
                break
            before = now
        return before

    async def _now(self) -> Texts:
        return await asyncio.to_thread(texts, self._folder, self._endings)


async def _replaced(names: frozenset[Path]) -> None:
    """Return when one of the names that lead to the folder was replaced, or after a while."""
    with suppress(OSError, RuntimeError):
        async for _ in events(names):
            return
    await asyncio.sleep(_AWAY_SECONDS)
