"""How words on the command line become arguments."""

from __future__ import annotations

import pytest

from vmcp.cli.arguments import BadArgument, expected, read, require, summary

SCHEMA = {
    "type": "object",
    "properties": {
        "text": {"type": "string"},
        "count": {"type": "integer"},
        "ratio": {"type": "number"},
        "sure": {"type": "boolean"},
        "words": {"type": "array", "items": {"type": "string"}},
        "place": {"type": "object"},
        "either": {"type": ["string", "integer"]},
        "maybe": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        "maybe_text": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        "colour": {"enum": ["red", "green", 3, None]},
        "referred": {"$ref": "#/$defs/whole~1number"},
        "all": {"allOf": [{"description": "x"}, {"type": "integer"}]},
        "endless": {"$ref": "#/properties/endless"},
        "elsewhere": {"$ref": "https://schemas.test/x"},
        "anything": {},
        "every": True,
    },
    "required": ["text", "count"],
    "$defs": {"whole/number": {"type": "integer"}},
}


@pytest.mark.parametrize(
    ("word", "value"),
    [
        ("text=5", "5"),
        ("text=", ""),
        ("text=a=b", "a=b"),
        ("text=null", "null"),
        ("count=5", 5),
        ("count=9007199254740993", 9007199254740993),
        ("ratio=1", 1),
        ("ratio=1e3", 1000.0),
        ("sure=true", True),
        ('words=["a", "b"]', ["a", "b"]),
        ('place={"x": 1}', {"x": 1}),
        ("either=5", 5),
        ("either=five", "five"),
        ("maybe=null", None),
        ("maybe=5", 5),
        ("maybe_text=null", "null"),
        ("colour=green", "green"),
        ("colour=3", 3),
        ("colour=null", None),
        ("referred=7", 7),
        ("all=7", 7),
        ("endless=7", 7),
        ("elsewhere=x", "x"),
        ("anything=[1]", [1]),
        ("anything=word", "word"),
        ("every=true", True),
        ('text:={"raw": true}', {"raw": True}),
        ("unknown:=1", 1),
    ],
)
def test_a_value_has_the_type_of_the_schema(word: str, value: object) -> None:
    (found,) = read([word], SCHEMA).values()

    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("count=five", "'count' must be integer; got 'five'"),
        ("count=5.5", "'count' must be integer; got '5.5'"),
        ("count=true", "'count' must be integer; got 'true'"),
        ("ratio=NaN", "'ratio' must be number; got 'NaN'"),
        ("sure=yes", "'sure' must be boolean; got 'yes'"),
        ("words=a,b", "'words' must be array; got 'a,b'"),
        ("maybe=x", "'maybe' must be integer or null; got 'x'"),
        ("colour=blue", "'colour' must be one of red, green, 3, null; got 'blue'"),
        ("text:={", "'text' must be JSON; got '{'"),
        ("coutn=5", "the tool has no argument 'coutn': did you mean 'count'?"),
        ("zzz=5", "the tool has no argument 'zzz': it has text, count"),
        ("text", "'text' is no argument: write name=value, or name:=JSON"),
        ("=5", "'=5' is no argument"),
        (":=5", "':=5' is no argument"),
    ],
)
def test_a_bad_word_is_named_with_what_would_be_right(word: str, message: str) -> None:
    with pytest.raises(BadArgument) as caught:
        read([word], SCHEMA)

    assert str(caught.value).startswith(message)


def test_any_name_goes_where_the_schema_names_none() -> None:
    assert read(["x=1", "y=word"], {"type": "object"}) == {"x": 1, "y": "word"}


def test_the_last_of_two_words_for_one_argument_wins() -> None:
    assert read(["count=1", "count=2"], SCHEMA) == {"count": 2}


def test_missing_arguments_are_named_with_their_types() -> None:
    with pytest.raises(BadArgument, match=r"missing: count \(integer\)"):
        require({"text": "x"}, SCHEMA)


def test_a_summary_names_required_arguments_first() -> None:
    schema = {"properties": {"b": {}, "a": {}}, "required": ["a"]}

    assert summary(schema) == "a, b?"


def test_a_type_that_nobody_knows_takes_anything() -> None:
    assert expected({"type": "quaternion"}, {}) == "any JSON value"


@pytest.mark.parametrize("schema", [{}, {"properties": 1, "required": 2}, {"anyOf": 3}])
def test_a_broken_schema_takes_anything(schema: dict[str, object]) -> None:
    require({}, schema)

    assert read(["x=1"], schema) == {"x": 1}
