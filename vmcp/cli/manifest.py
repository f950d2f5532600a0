"""Writes objects as YAML: keys sorted, nothing abbreviated, the same bytes for the same objects."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import yaml

_WIDTH = 100


class _Dumper(yaml.SafeDumper):
    """Repeats what is there twice: people read it, and diffs stay local."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002
        return True

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:  # noqa: ARG002, FBT001, FBT002
        super().increase_indent(flow, indentless=False)


def document(value: Mapping[str, Any]) -> str:
    """Return one object as a YAML document, without a line that separates it."""
    return yaml.dump(value, Dumper=_Dumper, width=_WIDTH, allow_unicode=True)


def documents(values: Iterable[Mapping[str, Any]]) -> str:
    """Return objects as YAML documents in one text."""
    return "".join(f"---\n{document(value)}" for value in values)
