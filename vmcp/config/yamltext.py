"""YAML 1.2 texts as trees of plain values: bounded, no duplicate keys, each value with its place.

The core schema of YAML 1.2 alone: `no` and `12:30` are texts. Messages repeat no part of the text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Protocol

import yaml
from yaml.composer import Composer
from yaml.parser import Parser
from yaml.reader import Reader, ReaderError
from yaml.resolver import BaseResolver
from yaml.scanner import Scanner

from vmcp.config.errors import ConfigError
from vmcp.config.faults import Place, is_showable_key, path_text

MAX_DEPTH = 32
MAX_VALUES = 50_000

_CORE = "tag:yaml.org,2002:"
_MERGE = f"{_CORE}merge"
# The one piece of the text that PyYAML's parser repeats.
_HANDLE = re.compile(r"'![^']*'")
_RESOLVERS = {
    "null": r"~|null|Null|NULL|",
    "bool": r"true|True|TRUE|false|False|FALSE",
    "int": r"[-+]?[0-9]{1,30}|0o[0-7]{1,30}|0x[0-9a-fA-F]{1,30}",
    "float": (
        r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?"
        r"|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)"
    ),
}


class _Mark(Protocol):
    """Where something is, counted from 0."""

    @property
    def line(self) -> int: ...
    @property
    def column(self) -> int: ...


@dataclass(frozen=True, slots=True)
class Tree:
    """The values of a text, what is wrong with single ones, and where each lies."""

    value: object
    errors: tuple[ConfigError, ...]
    root: yaml.Node = field(repr=False)

    def position(self, place: Place) -> tuple[int, int]:
        """Return the line and the column of a place, or of the nearest place around it."""
        node, mark = self.root, self.root.start_mark
        for part in place:
            found = _step(node, part)
            if found is None:
                break
            node, mark = found
        return mark.line + 1, mark.column + 1


class MalformedYaml(Exception):
    """A text is no tree at all; `error` says where and why."""

    def __init__(self, error: ConfigError) -> None:
        self.error = error
        super().__init__(error)


def read(text: str) -> Tree:
    """Return the tree of a text; raise MalformedYaml if it has none."""
    root = _compose(text)
    errors: list[ConfigError] = []
    return Tree(_value(root, (), errors), tuple(errors), root)


def read_all(text: str, most_values: int) -> Iterator[Tree]:
    """Yield the trees of all documents of a text, none for those that hold nothing; raise MalformedYaml.

    Merge keys are taken here, as by kubectl.
    """
    for root in _documents(text, most_values):
        errors: list[ConfigError] = []
        value = _value(root, (), errors)
        if value is not None or errors:
            yield Tree(value, tuple(errors), root)


class _Composer(Reader, Scanner, Parser, Composer, BaseResolver):
    """Composes nodes and counts them as if each alias were written out."""

    def __init__(self, text: str, most_values: int) -> None:
        Reader.__init__(self, text)
        Scanner.__init__(self)
        Parser.__init__(self)
        Composer.__init__(self)
        BaseResolver.__init__(self)
        self._most_values = most_values
        self.begin()

    def begin(self) -> None:
        """Begin a document: what was counted before counts no more."""
        self._level = 0
        self._count = 0
        self._sizes: dict[int, tuple[int, int]] = {}

    def scan_to_next_token(self) -> None:
        """Pass over tabs as well, where they do not stand for an indentation."""
        super().scan_to_next_token()
        while self.peek() == "\t" and (self.flow_level or not self.allow_simple_key):
            self.forward()
            super().scan_to_next_token()

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        event: yaml.Event = self.peek_event()  # type: ignore[no-untyped-call]
        self._level += 1
        self._count += 1
        if self._level > MAX_DEPTH:
            raise _malformed(f"Is nested more than {MAX_DEPTH} deep.", event.start_mark)
        if self._count > self._most_values:
            raise _malformed(f"Holds more than {self._most_values} values.", event.start_mark)
        self._check_anchor(event)
        node = super().compose_node(parent, index)
        self._level -= 1
        if node is not None:
            self._measure(node, event.start_mark)
        return node

    def _check_anchor(self, event: yaml.Event) -> None:
        anchor, wrong = getattr(event, "anchor", None), None
        if isinstance(event, yaml.AliasEvent):
            if anchor not in self.anchors:
                wrong = "An alias names no anchor."
            elif id(self.anchors[anchor]) not in self._sizes:
                wrong = "An alias stands within what it names."
        elif anchor is not None and anchor in self.anchors:
            wrong = "An anchor is given twice."
        if wrong is not None:
            raise _malformed(
                wrong, event.start_mark, "A text that begins with * or & needs quotes."
            )

    def _measure(self, node: yaml.Node, mark: _Mark | None) -> None:
        if id(node) in self._sizes:
            return
        sizes = [self._sizes[id(child)] for child in _children(node)]
        size = 1 + sum(count for count, _ in sizes)
        depth = 1 + max((depth for _, depth in sizes), default=0)
        if size > self._most_values or depth > MAX_DEPTH:
            raise _malformed(
                f"Is more than {self._most_values} values or {MAX_DEPTH} levels with its aliases.",
                mark,
            )
        self._sizes[id(node)] = size, depth


for _tag, _pattern in _RESOLVERS.items():
    _Composer.add_implicit_resolver(_CORE + _tag, re.compile(f"^(?:{_pattern})$"), None)


class _Merging(_Composer):
    """Knows the merge keys of YAML 1.1."""


_Merging.add_implicit_resolver(_MERGE, re.compile("^<<$"), ["<"])


def _compose(text: str) -> yaml.Node:
    with _explained(text):
        root = _Composer(text, MAX_VALUES).get_single_node()
    if root is None:
        raise MalformedYaml(ConfigError("", "Is empty.", allowed="a mapping with the key backends"))
    return root


def _documents(text: str, most_values: int) -> Iterator[yaml.Node]:
    with _explained(text):
        composer = _Merging(text, most_values)
        while composer.check_node():
            composer.begin()
            node = composer.get_node()
            if node is not None:
                yield node


@contextmanager
def _explained(text: str) -> Iterator[None]:
    """Say what PyYAML finds wrong in the block in our words."""
    try:
        yield
    except ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        column = error.position - text.rfind("\n", 0, error.position)
        wrong = "Holds a character that YAML does not allow."
        raise MalformedYaml(ConfigError("", wrong, line=line, column=column)) from None
    except yaml.composer.ComposerError as error:
        # Aliases and anchors are checked before: only a second document is left.
        raise _malformed("Holds more than one document.", error.problem_mark) from None
    except yaml.MarkedYAMLError as error:
        problem = _HANDLE.sub("(not shown)", error.problem or "it cannot be read")
        raise _malformed(f"Is not YAML: {problem}.", error.problem_mark) from None


def _malformed(message: str, mark: _Mark | None, suggestion: str | None = None) -> MalformedYaml:
    line, column = (None, None) if mark is None else (mark.line + 1, mark.column + 1)
    return MalformedYaml(ConfigError("", message, suggestion=suggestion, line=line, column=column))


def _children(node: yaml.Node) -> Iterable[yaml.Node]:
    if isinstance(node, yaml.MappingNode):
        return [child for pair in node.value for child in pair]
    return node.value if isinstance(node, yaml.SequenceNode) else ()


def _value(node: yaml.Node, place: Place, errors: list[ConfigError]) -> object:
    match node:
        case yaml.MappingNode() if node.tag == f"{_CORE}map":
            return dict(_members(node, place, errors))
        case yaml.SequenceNode() if node.tag == f"{_CORE}seq":
            return [_value(one, (*place, i), errors) for i, one in enumerate(node.value)]
        case yaml.ScalarNode() if node.tag in _SCALARS:
            return _scalar(node, place, errors)
        case _:
            errors.append(_error(place, node, "Has a tag of YAML that is not used here."))
            return None


def _members(
    node: yaml.MappingNode, place: Place, errors: list[ConfigError]
) -> Iterator[tuple[str, object]]:
    seen: set[str] = set()
    merged: dict[str, object] = {}
    for key, value in node.value:
        if key.tag == _MERGE:
            merged = {**dict(_merged(value, place, errors)), **merged}
            continue
        if not isinstance(key, yaml.ScalarNode) or key.tag != f"{_CORE}str":
            errors.append(_error(place, key, "Holds a key that is no text.", "Put it in quotes."))
            continue
        name, is_shown = key.value, is_showable_key(key.value)
        if name == "<<" and key.style is None:
            errors.append(_error(place, key, "Merge keys are no part of YAML 1.2."))
            continue
        if name in seen:
            where = (*place, name) if is_shown else place
            errors.append(
                _error(where, key, "Is there twice." if is_shown else "Holds a key twice.")
            )
        seen.add(name)
        yield name, _value(value, (*place, name), errors)
    yield from ((name, value) for name, value in merged.items() if name not in seen)


def _merged(
    node: yaml.Node, place: Place, errors: list[ConfigError]
) -> Iterator[tuple[str, object]]:
    """Yield the members of what a merge key names; of several mappings the first counts, so it comes last."""
    named = reversed(node.value) if isinstance(node, yaml.SequenceNode) else [node]
    for one in named:
        if isinstance(one, yaml.MappingNode):
            yield from _members(one, place, errors)
        else:
            errors.append(_error(place, one, "Merges what is no mapping."))


def _scalar(node: yaml.ScalarNode, place: Place, errors: list[ConfigError]) -> object:
    try:
        return _SCALARS[node.tag](node.value)
    except ValueError:
        errors.append(_error(place, node, "Has a tag of YAML that does not fit its value."))
        return None


def _error(
    place: Place, node: yaml.Node, message: str, suggestion: str | None = None
) -> ConfigError:
    mark = node.start_mark
    return ConfigError(
        path_text(place),
        message,
        suggestion=suggestion,
        line=mark.line + 1,
        column=mark.column + 1,
    )


def _truth(text: str) -> bool:
    truths = {"true": True, "false": False}
    if text.lower() not in truths:
        raise ValueError(text)
    return truths[text.lower()]


def _whole(text: str) -> int:
    return int(text, {"0o": 8, "0x": 16}.get(text[:2], 10))


def _number(text: str) -> float:
    lower = text.lower()
    return float(lower.replace(".inf", "inf").replace(".nan", "nan"))


_SCALARS: dict[str, Callable[[str], object]] = {
    f"{_CORE}str": str,
    # As a value it is a text as others are.
    _MERGE: str,
    f"{_CORE}null": lambda _: None,
    f"{_CORE}bool": _truth,
    f"{_CORE}int": _whole,
    f"{_CORE}float": _number,
}


def _step(node: yaml.Node, part: str | int) -> tuple[yaml.Node, _Mark] | None:
    """Return the node below a part of a place, and where people look for it."""
    if isinstance(node, yaml.MappingNode):
        found = [(value, key.start_mark) for key, value in node.value if key.value == part]
        return found[-1] if found else None
    if isinstance(node, yaml.SequenceNode) and isinstance(part, int) and part < len(node.value):
        return node.value[part], node.value[part].start_mark
    return None
