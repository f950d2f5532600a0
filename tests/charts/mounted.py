"""What a pod of the chart finds in its container, laid out in a folder: its files, its variables, its options."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.charts.objects import Objects
from tests.support.volumes import Volume

# By name: the files of a Secret or ConfigMap.
Held = Mapping[str, Mapping[str, str]]
_ROOT = "/etc/vmcp"


class Mounted:
    """The container of a Deployment, with all that lies below /etc/vmcp in a folder of its own."""

    def __init__(self, made: Objects, held: Held, folder: Path) -> None:
        self._folder = folder
        self._volumes: dict[str, Volume] = {}
        self._take(made, held)
        for path, files in self._files().items():
            at = Path(self._here(path))
            at.parent.mkdir(parents=True, exist_ok=True)
            self._volumes[path] = Volume(at, **files)

    def change(self, made: Objects, held: Held) -> None:
        """Swap the volumes as kubelet does when their objects have changed."""
        self._take(made, held)
        for path, files in self._files().items():
            self._volumes[path].publish(**files)

    @property
    def arguments(self) -> list[str]:
        return [self._here(word) for word in self._made.container["args"]]

    @property
    def config(self) -> Path:
        """The file that the arguments name."""
        (found,) = (word for word in self.arguments if word.startswith("--config="))
        return Path(found.removeprefix("--config="))

    @property
    def variables(self) -> dict[str, str]:
        """The variables with a value of their own, or one of a Secret."""
        all_ = self._made.container.get("env", [])
        return {
            each["name"]: each["value"] if "value" in each else self._value(each["valueFrom"])
            for each in all_
        }

    def _value(self, source: Mapping[str, Any]) -> str:
        if "fieldRef" in source:
            return str(self._made.one("Deployment")["metadata"]["namespace"])
        named = source["secretKeyRef"]
        return self._held[named["name"]][named["key"]]

    def _take(self, made: Objects, held: Held) -> None:
        config = made.one("ConfigMap")
        self._made = made
        self._held = {**held, config["metadata"]["name"]: config["data"]}

    def _files(self) -> dict[str, dict[str, str]]:
        """Return what is mounted below the root, by paths."""
        named = {}
        for each in self._made.pod["volumes"]:
            source = {**each.get("secret", {}), **each.get("configMap", {})}
            named[each["name"]] = source.get("secretName") or source.get("name")
        return {
            mount["mountPath"]: {
                name: self._here(text) for name, text in self._held[named[mount["name"]]].items()
            }
            for mount in self._made.container["volumeMounts"]
            if mount["mountPath"].startswith(_ROOT)
        }

    def _here(self, text: str) -> str:
        return text.replace(_ROOT, str(self._folder))
