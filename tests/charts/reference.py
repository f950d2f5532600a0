"""The table of values in docs/chart.md, made of the chart: `python -m tests.charts.reference` writes it anew."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[2]
CHART = ROOT / "charts" / "vmcp"
PAGE = ROOT / "docs" / "chart.md"
BEGIN, END = "<!-- values: written by `python -m tests.charts.reference` -->\n", "<!-- end -->\n"
_HEAD = "| value | type | default | meaning |\n|---|---|---|---|\n"
# What the definitions of the schema are to whoever writes values.
_WORDS = {
    "name": "name",
    "nameOrNone": "name",
    "names": "list of names",
    "texts": "map of text",
    "objects": "list",
    "named": "list",
    "env": "list",
    "fileName": "text",
    "peers": "list of peers",
    "probe": "probe",
    "share": "number or percentage",
}
_TYPES = {"string": "text", "boolean": "true or false", "integer": "number", "object": "mapping"}


@dataclass(frozen=True)
class Value:
    """One value: where it is, and what the schema says of it."""

    path: tuple[str, ...]
    schema: dict[str, Any]

    @property
    def name(self) -> str:
        return ".".join(self.path)

    @property
    def type(self) -> str:
        if "enum" in self.schema:
            return ", ".join(f"`{each}`" for each in self.schema["enum"] if each)
        if "allOf" in self.schema:
            named = self.schema["allOf"][-1]["$ref"].rpartition("/")[2]
            return _WORDS[named]
        kinds = self.schema["type"]
        kind = kinds if isinstance(kinds, str) else kinds[0]
        return "list" if kind == "array" else _TYPES[kind]

    def default(self, values: Any) -> Any:
        """Return what the chart's own values hold."""
        for key in self.path:
            values = values[key]
        return values


def schema() -> dict[str, Any]:
    """Return the schema of the values."""
    found: dict[str, Any] = json.loads((CHART / "values.schema.json").read_text())
    return found


def defaults() -> dict[str, Any]:
    """Return the values of the chart."""
    found: dict[str, Any] = yaml.safe_load((CHART / "values.yaml").read_text())
    return found


def values(of: dict[str, Any], path: tuple[str, ...] = ()) -> Iterator[Value]:
    """Yield all values that a schema tells apart, in its order."""
    for key, found in of["properties"].items():
        here = (*path, key)
        if found.get("additionalProperties") is False and found["type"] == "object":
            yield from values(found, here)
        elif key != "global":
            yield Value(here, found)


def table() -> str:
    """Return the table."""
    held = defaults()
    rows = [
        f"| `{each.name}` | {each.type} | {_shown(each.default(held))} | {each.schema['description']} |\n"
        for each in values(schema())
    ]
    return _HEAD + "".join(rows)


def _shown(value: Any) -> str:
    if value in ("", None, [], {}):
        return "-"
    return f"`{value if isinstance(value, str) else json.dumps(value)}`"


def page(before: str) -> str:
    """Return the page with the table as it is now."""
    head, _, rest = before.partition(BEGIN)
    _, _, tail = rest.partition(END)
    return f"{head}{BEGIN}\n{table()}\n{END}{tail}"


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text()))
