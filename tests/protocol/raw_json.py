"""Strategies for JSON as text, in all the ways in which it can be written."""

from __future__ import annotations

import json

from hypothesis import strategies as st

SPACE = st.text(" \t\r\n", max_size=3)
NUMBERS = st.sampled_from(
    ["0", "-0", "1.0", "1e5", "1E-5", "-1.50", "9007199254740993", "1" * 400, "1e400", "0.1"]
) | st.integers().map(str)
CONSTANTS = st.sampled_from(["null", "true", "false"])
# Surrogates included: JSON can write them, UTF-8 can not.
TEXTS = st.text(st.characters(exclude_categories=()), max_size=8)
PLAIN_TEXTS = st.text(st.characters(exclude_categories=("Cs",)), max_size=8)


def written(text: str, mask: int) -> str:
    """Write a text as a JSON string, some of its characters as escapes."""
    parts: list[str] = []
    for at, character in enumerate(text):
        must = character in '"\\' or character < " " or "\ud800" <= character <= "\udfff"
        parts.append(_escape(character) if must or mask >> (at % 16) & 1 else character)
    return '"' + "".join(parts) + '"'


def _escape(character: str) -> str:
    if character == "/":
        return "\\/"
    return json.dumps(character)[1:-1] if ord(character) > 126 else f"\\u{ord(character):04X}"


MASKS = st.integers(0, 2**16 - 1)
STRINGS = st.builds(written, TEXTS, MASKS)


def _array(items: list[str], space: str) -> str:
    return f"[{space}" + f"{space},".join(items) + f"{space}]"


def _object(members: list[tuple[str, str]], space: str) -> str:
    return "{" + ",".join(f"{space}{key}{space}:{space}{value}" for key, value in members) + "}"


VALUES = st.recursive(
    NUMBERS | CONSTANTS | STRINGS,
    lambda inner: (
        st.builds(_array, st.lists(inner, max_size=3), SPACE)
        | st.builds(_object, st.lists(st.tuples(STRINGS, inner), max_size=3), SPACE)
    ),
    max_leaves=6,
)
# Few letters, so that keys meet.
KEYS = st.text("ab/é\ud800", max_size=2)
MEMBERS = st.lists(st.tuples(KEYS, MASKS, VALUES), max_size=5)
