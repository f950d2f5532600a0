"""What the code says to operators and clients, read from its source: log lines, HTTP statuses, codes, reasons."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path

from tests.house.reasons import ROOT

LEVELS: Mapping[str, str] = {
    "info": "info",
    "warning": "warning",
    "error": "error",
    "exception": "error",
    "critical": "critical",
}


def _nodes(*folders: str) -> Iterator[ast.AST]:
    for folder in folders:
        place = ROOT / "vmcp" / folder
        for path in sorted(place.rglob("*.py")) if place.is_dir() else [place]:
            yield from ast.walk(_tree(path))


def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def logged() -> set[tuple[str, str]]:
    """Return each line that is logged above level debug, with its level."""
    return {found for node in _nodes("") for found in _lines(node)}


def _lines(node: ast.AST) -> Iterator[tuple[str, str]]:
    match node:
        case ast.Call(
            func=ast.Attribute(ast.Name("log"), level), args=[ast.Constant(str(line)), *_]
        ):
            if level in LEVELS:
                yield line, LEVELS[level]
        # Tables of sentences with their levels, by what they tell of.
        case ast.Tuple([ast.Attribute(ast.Name("logging"), level), ast.Constant(str(line))]):
            yield line, level.lower()
        case ast.Dict(keys, values):
            told = {
                key.value: value
                for key, value in zip(keys, values, strict=True)
                if isinstance(key, ast.Constant)
            }
            if isinstance(line := told.get("msg"), ast.Constant):
                yield str(line.value), "warning"


def fields() -> set[str]:
    """Return the names of the fields of log lines, as far as they stand where a line is logged."""
    return {
        key.value
        for node in _nodes("")
        if isinstance(node, ast.keyword)
        and node.arg == "extra"
        and isinstance(node.value, ast.Dict)
        for key in node.value.keys
        if isinstance(key, ast.Constant) and isinstance(key.value, str)
    }


def statuses() -> set[int]:
    """Return the HTTP statuses of errors that clients may get."""
    return {
        node.value
        for node in _nodes("transport/incoming", "protocol/failures.py")
        if isinstance(node, ast.Constant)
        and isinstance(node.value, int)
        and 400 <= node.value < 600
    }


def codes() -> set[int]:
    """Return the JSON-RPC codes that are given."""
    return {
        -node.operand.value
        for node in _nodes("protocol/failures.py")
        if isinstance(node, ast.UnaryOp)
        and isinstance(node.operand, ast.Constant)
        and isinstance(node.operand.value, int)
        and node.operand.value > 32000
    }


def data_reasons() -> set[str]:
    """Return the reasons that errors of the gateway's own carry in their data."""
    return {
        value.value
        for node in _nodes("protocol/failures.py")
        if isinstance(node, ast.Dict)
        for key, value in zip(node.keys, node.values, strict=True)
        if isinstance(key, ast.Constant)
        and key.value == "reason"
        and isinstance(value, ast.Constant)
    }
