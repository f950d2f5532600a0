"""The golden files: valid JSON whose parts are cut out byte by byte."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.raw_json import cases, items

FOLDER = Path(__file__).parent / "golden"


def documents(name: str) -> tuple[bytes, ...]:
    """Return the items of a golden file that holds an array."""
    return items(_read(name))


def named(name: str) -> dict[str, bytes]:
    """Return the members of a golden file that holds an object."""
    return cases(_read(name))


def each(argument: str, name: str) -> pytest.MarkDecorator:
    """Run a test with each part of a golden file."""
    raw = _read(name)
    is_array = raw.lstrip()[:1] == b"["
    parts = {str(at): part for at, part in enumerate(items(raw))} if is_array else cases(raw)
    return pytest.mark.parametrize(
        argument, [pytest.param(raw, id=id_) for id_, raw in parts.items()]
    )


def _read(name: str) -> bytes:
    return (FOLDER / f"{name}.json").read_bytes()
