"""Where objects are that a gateway follows: the same tests run on a folder and on a namespace."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any

import yaml

from tests.support.objects import Json
from vmcp.discovery.choice import Choice
from vmcp.discovery.choice import Folder as FolderChoice
from vmcp.discovery.manifests import ManifestsSource
from vmcp.discovery.reload import LiveConfig
from vmcp.discovery.source import Source

Made = Callable[[LiveConfig], Sequence[Source]]


class Home(ABC):
    """A place of objects, changed as people and pipelines do."""

    namespace: str

    @abstractmethod
    async def put(self, *objects: Json) -> None:
        """Apply objects, one after the other."""

    @abstractmethod
    async def remove(self, kind: str, name: str) -> None:
        """Delete an object."""

    @abstractmethod
    async def report(self, kind: str, name: str, **status: Any) -> None:
        """Say in an object's status what an operator would."""

    @abstractmethod
    def source(self, **chosen: Any) -> Made:
        """Return what makes the source of it, for `gateway_of`."""


class Folder:
    """A folder of manifests."""

    def __init__(self, path: Path) -> None:
        path.mkdir()
        self.path = path

    def put(self, name: str, *objects: Json) -> None:
        """Write a file anew, in one step."""
        self.write(name, yaml.safe_dump_all(objects))

    def write(self, name: str, text: str) -> None:
        """Write a text anew, in one step."""
        at = self.path / name
        at.parent.mkdir(parents=True, exist_ok=True)
        fresh = at.with_suffix(".tmp")
        fresh.write_text(text)
        fresh.rename(at)

    def remove(self, name: str) -> None:
        """Delete a file."""
        (self.path / name).unlink()

    def source(self, **chosen: Any) -> Made:
        """Return what makes the source of the folder."""
        folder = FolderChoice(self.path, choice(**chosen))
        return lambda live: [ManifestsSource(folder, live.loaded)]


class FolderHome(Home):
    """A folder with a file for each object."""

    namespace = "default"

    def __init__(self, folder: Folder) -> None:
        self._folder = folder
        self._all: dict[str, Json] = {}

    async def put(self, *objects: Json) -> None:
        for each in objects:
            name = _file(each["kind"], each["metadata"]["name"])
            status = self._all.get(name, {}).get("status")
            self._all[name] = {**deepcopy(each), **({} if status is None else {"status": status})}
            self._folder.put(name, self._all[name])

    async def remove(self, kind: str, name: str) -> None:
        del self._all[_file(kind, name)]
        self._folder.remove(_file(kind, name))

    async def report(self, kind: str, name: str, **status: Any) -> None:
        found = self._all[_file(kind, name)]
        found["status"] = {**found.get("status", {}), **status}
        self._folder.put(_file(kind, name), found)

    def source(self, **chosen: Any) -> Made:
        return self._folder.source(**chosen)


def choice(**chosen: Any) -> Choice:
    """Return what of a home is served: the only one that there is unless told; fakes are on loopback."""
    usual: Json = {"gateway": None, "group": None, "namespace": None, "allows_loopback": True}
    return Choice(**{**usual, **chosen})


def _file(kind: str, name: str) -> str:
    return f"{kind}-{name}.yaml"
