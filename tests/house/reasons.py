"""Which reasons the code gives, read from its source: for failures of backends and for problems of objects."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).parents[2]
_REASON = re.compile(r"(?:[A-Z]+[a-z]+)+")
_PARAMETER = "reason"


def given(*folders: str, by: str, place: int = 1) -> set[str]:
    """Return the reasons that are given to a class, or to functions that hand theirs on to it.

    `place` is where the class has them among its arguments.
    """
    modules = [
        ast.parse(path.read_text())
        for folder in folders
        for path in sorted((ROOT / "vmcp" / folder).glob("**/*.py"))
    ]
    places = {by: place} | {
        name: at for tree in modules for name, at in _handing_on(tree, by).items()
    }
    return {each for tree in modules for each in _given(tree, places)}


def _handing_on(tree: ast.Module, by: str) -> Mapping[str, int]:
    """Return the functions that take a reason and give it to `by`, with its place among their arguments."""
    found = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            names = [each.arg for each in node.args.args if each.arg != "self"]
            if _PARAMETER in names and any(_name(call) == by for call in _calls(node)):
                found[node.name] = names.index(_PARAMETER)
    return found


def _calls(tree: ast.AST) -> Iterator[ast.Call]:
    yield from (node for node in ast.walk(tree) if isinstance(node, ast.Call))


def _name(call: ast.Call) -> str:
    match call.func:
        case ast.Name(name) | ast.Attribute(attr=name):
            return name
    return ""


def _given(tree: ast.Module, places: Mapping[str, int]) -> Iterator[str]:
    for call in _calls(tree):
        place = places.get(_name(call))
        if place is not None and place < len(call.args):
            yield from _texts(call.args[place], tree)


def _texts(value: ast.AST, tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(value):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            if _REASON.fullmatch(node.value):
                yield node.value
        elif isinstance(node, ast.Name):
            yield from _assigned(node.id, tree)


def _assigned(name: str, tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and name in {
            target.id for target in node.targets if isinstance(target, ast.Name)
        }:
            yield from (
                inner.value
                for inner in ast.walk(node.value)
                if isinstance(inner, ast.Constant)
                and isinstance(inner.value, str)
                and _REASON.fullmatch(inner.value)
            )
