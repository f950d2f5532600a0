"""Objects as their users write them: all kinds, both versions, each field at least once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

FOLDER = Path(__file__).parent / "samples"

Object = dict[str, Any]


def samples() -> list[Object]:
    """Return all objects, file by file."""
    return [*_samples()]


def name(one: Object) -> str:
    """Return what a test is called after."""
    return f"{one['kind']}-{one['metadata']['name']}"


def _samples() -> Iterator[Object]:
    for path in sorted(FOLDER.glob("*.yaml")):
        yield from yaml.safe_load_all(path.read_text())
