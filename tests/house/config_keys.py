"""Which keys the config has, and which tests say that they show one: read from the schema and from the sources."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from tests.house.reasons import ROOT
from vmcp.config.schema import json_schema

MARK = "config_key"

Schema = Mapping[str, Any]


def keys() -> set[str]:
    """Return each key that may hold one value or another, with the path to it: `a.b`, `a[].b`, `a.*.b`."""
    return {path for path, found in values().items() if not any("const" in each for each in found)}


def values() -> Mapping[str, Sequence[Schema]]:
    """Return what each key may hold, by the path to it."""
    schema = json_schema()
    found: dict[str, list[Schema]] = {}
    for path, value in _values(schema, "", schema["$defs"]):
        found.setdefault(path, []).append(value)
    return found


def _values(value: Schema, path: str, sections: Schema) -> Iterator[tuple[str, Schema]]:
    """Yield what holds no further keys; of a choice both sides count."""
    match value:
        case {"$ref": reference}:
            yield from _values(sections[reference.rpartition("/")[2]], path, sections)
        case {"properties": properties}:
            for key, inner in properties.items():
                yield from _values(inner, f"{path}.{key}".lstrip("."), sections)
        case {"items": inner}:
            yield from _values(inner, f"{path}[]", sections)
        case {"additionalProperties": inner} if inner:
            yield from _values(inner, f"{path}.*", sections)
        case {"anyOf": choices}:
            for choice in choices:
                yield from _values(choice, path, sections)
        case _:
            yield path, value


def last_name(key: str) -> str:
    """Return the name that a key has in the file."""
    return next(part for part in reversed(key.replace("[]", "").split(".")) if part != "*")


@dataclass(frozen=True, slots=True)
class Shown:
    """A test that says that it shows keys, and all words in what it consists of."""

    place: str
    keys: tuple[str, ...]
    words: frozenset[str]


def shown() -> list[Shown]:
    """Return all tests that say so."""
    return [
        Shown(f"{path.relative_to(ROOT)}::{node.name}", marked, _words(node, path))
        for path in sorted((ROOT / "tests").rglob("test_*.py"))
        if MARK in path.read_text()
        for node in _defined(path).values()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and (marked := _marked(node))
    ]


def _marked(test: ast.FunctionDef | ast.AsyncFunctionDef) -> tuple[str, ...]:
    return tuple(
        each.value
        for one in test.decorator_list
        if _is_mark(one)
        for each in ast.walk(one)
        if isinstance(each, ast.Constant) and isinstance(each.value, str)
    )


def _is_mark(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and getattr(node.func, "attr", "") == MARK


@cache
def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


@cache
def _defined(path: Path) -> Mapping[str, ast.AST]:
    """Return what a module defines, by name."""
    found: dict[str, ast.AST] = {}
    for node in _tree(path).body:
        match node:
            case ast.FunctionDef(name) | ast.AsyncFunctionDef(name) | ast.ClassDef(name):
                found[name] = node
            case ast.Assign(targets=[ast.Name(name)]) | ast.AnnAssign(target=ast.Name(name)):
                found[name] = node
    return found


@cache
def _imported(path: Path) -> Mapping[str, Path]:
    """Return the modules of the tests from which names come."""
    return {
        each.asname or each.name: ROOT / f"{node.module.replace('.', '/')}.py"
        for node in _tree(path).body
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("tests.")
        for each in node.names
        if node.module is not None
    }


def _words(test: ast.AST, path: Path) -> frozenset[str]:
    """Return the words of a test and of all that it uses, but for the mark itself."""
    seen: set[tuple[Path, str]] = set()
    found: set[str] = set()
    waiting = [(test, path)]
    while waiting:
        node, at = waiting.pop()
        for each in _parts(node):
            match each:
                case ast.Constant(value=str(text)):
                    found.add(text)
                case ast.keyword(arg=str(name)):
                    found.add(name)
                case ast.Name(id=name) if (at, name) not in seen:
                    seen.add((at, name))
                    waiting += _definition(name, at)
    return frozenset(found)


def _parts(node: ast.AST) -> Iterator[ast.AST]:
    if not _is_mark(node):
        yield node
        for inner in ast.iter_child_nodes(node):
            yield from _parts(inner)


def _definition(name: str, path: Path) -> list[tuple[ast.AST, Path]]:
    if (node := _defined(path).get(name)) is not None:
        return [(node, path)]
    source = _imported(path).get(name)
    if source is None or not source.exists():
        return []
    return _definition(name, source)
