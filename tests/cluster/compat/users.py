"""Manifests as users of ToolHive write them, one file after the other."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from tests.net.certificates import authority

FOLDER = Path(__file__).parent / "manifests"

Object = dict[str, Any]
# What stands in the files for certificates, which are made anew for each run.
_CERTIFICATE = "CERTIFICATE"


def files() -> list[Path]:
    """Return all files in their order."""
    return sorted(FOLDER.glob("*.yaml"))


def objects(path: Path) -> list[Object]:
    """Return the objects of a file, those of a List one by one."""
    return [*_objects(path)]


def _objects(path: Path) -> Iterator[Object]:
    for document in yaml.safe_load_all(path.read_text()):
        for one in document.get("items", [document]):
            if one["kind"] == "ConfigMap":
                _fill(one)
            yield one


def _fill(config_map: Object) -> None:
    pem = authority().pem
    for key, text in (("data", pem), ("binaryData", b64encode(pem.encode()).decode())):
        values = config_map.get(key, {})
        values |= {name: text for name, value in values.items() if value == _CERTIFICATE}
