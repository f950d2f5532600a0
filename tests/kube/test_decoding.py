"""However deep an object is nested, the others beside it are read."""

from __future__ import annotations

import json

import pytest

from vmcp.kube.decoding import decoded

DEEP = 3000


def nested(depth: int) -> bytes:
    return b'{"a":[' * depth + b"1" + b"]}" * depth


def test_json_is_read_as_it_is() -> None:
    found = {"a": ['"}', {"b": None}, "\\", "é"], "c": 1.5}

    assert decoded(json.dumps(found).encode()) == found


def test_what_lies_too_deep_is_left_out_and_the_rest_is_there() -> None:
    text = b'{"first":"}{\\"[","deep":' + nested(DEEP) + b',"last":["\\\\",{"b":2}]}'

    found = decoded(text)

    assert found["first"] == '}{"['
    assert found["last"] == ["\\", {"b": 2}]
    assert found["deep"]["a"][0]["a"][0].keys() == {"a"}


@pytest.mark.parametrize(
    "text",
    [b"", b"{", b"[}", b'{"a":' * DEEP, nested(DEEP) + b"]", nested(DEEP)[:-1], b"[" * DEEP + b"]"],
    ids=["nothing", "open", "crossed", "deep", "more", "less", "one"],
)
def test_what_is_no_json_is_no_json_however_deep(text: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        decoded(text)
