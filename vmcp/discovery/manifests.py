"""The manifests source: a folder of the objects that one would apply to a cluster, followed while it changes."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace

from vmcp.config.load import Loaded
from vmcp.crd.convert import Converter
from vmcp.crd.scope import Scope
from vmcp.crd.world import GATEWAY
from vmcp.discovery.choice import Folder
from vmcp.discovery.documents import DEFAULT_NAMESPACE, Broken, Placed, objects
from vmcp.discovery.gathered import Gathered, gathered
from vmcp.discovery.scoping import scope
from vmcp.latest import Latest
from vmcp.model.keys import ObjectKey
from vmcp.model.problem import Problem
from vmcp.model.snapshot import Contribution
from vmcp.net.folder import FolderWatch, Texts, Unread, texts

log = logging.getLogger(__name__)

NAME = "manifests"
ENDINGS = (".yaml", ".yml", ".json")


@dataclass(frozen=True, slots=True)
class _File:
    """What a file held when it could be read last, and what is wrong with it now."""

    content: bytes | Unread
    placed: tuple[Placed, ...]
    broken: str | None


class ManifestsSource:
    """Contributes what the objects of a folder say; raise OSError where there is no such folder."""

    def __init__(self, folder: Folder, loaded: Latest[Loaded]) -> None:
        self._path, self._choice = folder.path, folder.choice
        self._has_operator = folder.has_operator
        self._loaded = loaded
        self._scope = self._scope_of(loaded.value)
        self._converter = Converter(self._scope)
        # As kubectl does it: what names no namespace is of the one that was asked for.
        self._usual_namespace = folder.choice.namespace or DEFAULT_NAMESPACE
        self._seen = texts(folder.path, ENDINGS)
        self._files: Mapping[str, _File] = _read(self._seen, {}, self._usual_namespace)
        self._unread: str | None = None
        self._contribution = Latest(self._converted())

    @property
    def contribution(self) -> Latest[Contribution]:
        """The cell that holds what the folder says."""
        return self._contribution

    def told(self) -> Mapping[str, object]:
        """Return which folder is followed, and how much of it can be read."""
        broken = sorted(name for name, file in self._files.items() if file.broken is not None)
        return {
            "source": NAME,
            "folder": str(self._path),
            "files": len(self._files),
            "inSync": self._unread is None and not broken,
            "broken": broken,
            "backends": len(self._contribution.value.backends),
        }

    async def run(self) -> None:
        """Follow the folder and the config until cancelled."""
        watch = FolderWatch(self._path, ENDINGS)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(watch.run())
            tasks.create_task(self._follow_folder(watch))
            tasks.create_task(self._follow_config())

    def _scope_of(self, loaded: Loaded) -> Scope:
        return scope(self._choice, loaded, NAME, has_operator=self._has_operator)

    async def _follow_folder(self, watch: FolderWatch) -> None:
        while True:
            try:
                self._seen = await watch.changed(self._seen)
            except OSError as error:
                await self._lost(watch, error)
                continue
            self._unread = None
            self._files = await asyncio.to_thread(
                _read, self._seen, self._files, self._usual_namespace
            )
            self._tell()

    async def _lost(self, watch: FolderWatch, error: OSError) -> None:
        """Keep what the folder held until it is back."""
        if self._unread is None:
            self._unread = error.strerror or type(error).__name__
            log.error("the folder cannot be read", extra={"folder": str(self._path)})
            self._tell()
        await watch.pause()

    async def _follow_config(self) -> None:
        async for loaded in self._loaded.changes():
            now = self._scope_of(loaded)
            if now != self._scope:
                self._scope, self._converter = now, Converter(now)
                self._tell()

    def _tell(self) -> None:
        if self._contribution.set(self._converted()):
            changed = len(self._converter.converted)
            log.info("the manifests are read anew", extra={"converted": changed})

    def _converted(self) -> Contribution:
        found = self._gathered()
        made = self._converter.convert(found.world)
        problems = {*made.problems, *found.problems, *self._file_problems()}
        closed = made.closed or self._unknown_gateway(made)
        if closed is not None:
            made = Contribution(NAME, closed=closed)
        return replace(made, problems=tuple(sorted({*problems, *((closed,) if closed else ())})))

    def _unknown_gateway(self, made: Contribution) -> Problem | None:
        """Return why nobody may be served where a gateway cannot be read: it may ask for protections."""
        if made.rules is not None or self._choice.group is not None:
            return None
        for name, file in self._files.items():
            is_unread = file.broken is not None and not file.placed
            if is_unread and isinstance(file.content, bytes) and GATEWAY.encode() in file.content:
                message = f"It seems to hold the {GATEWAY} and is broken, so nobody is served. Correct it."
                return Problem(ObjectKey("File", name), "GatewayInvalid", message)
        return None

    def _gathered(self) -> Gathered:
        placed = (one for file in self._files.values() for one in file.placed)
        return gathered(placed, self._choice.namespace)

    def _file_problems(self) -> set[Problem]:
        found = {
            _broken(name, file) for name, file in self._files.items() if file.broken is not None
        }
        if self._unread is not None:
            message = f"It cannot be read: {self._unread}. What it held before stays in force."
            found.add(Problem(ObjectKey("Folder", str(self._path)), "FolderUnreadable", message))
        return found


def _read(found: Texts, before: Mapping[str, _File], namespace: str) -> Mapping[str, _File]:
    """Return the files of a folder, those alone read anew that hold something else."""
    made: dict[str, _File] = {}
    for name, content in found.items():
        old = before.get(name)
        is_same = old is not None and old.content == content
        made[name] = old if old is not None and is_same else _file(name, content, old, namespace)
    return made


def _file(name: str, content: bytes | Unread, old: _File | None, namespace: str) -> _File:
    kept = () if old is None else old.placed
    if isinstance(content, Unread):
        return _File(content, kept, f"It {content.why}.")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        return _File(content, kept, f"Line {line}: Is not UTF-8.")
    found = objects(name, text, namespace)
    if isinstance(found, Broken):
        return _File(content, kept, found.message)
    return _File(content, found, None)


def _broken(name: str, file: _File) -> Problem:
    rest = "What it held before stays in force." if file.placed else "Nothing of it is served."
    return Problem(ObjectKey("File", name), "FileBroken", f"{file.broken} {rest}")
