from __future__ import annotations

from urllib.parse import quote

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from vmcp.catalog.templates import compiled, prepare

NAMES = ("id", "path", "q")
RESERVED = ":/?#[]@!$&'()*+,;="
LITERALS = st.text(alphabet="ab/:.-?=", max_size=4)
VALUES = st.text(max_size=5)
OPERATORS = st.sampled_from(["", "+", "#", ".", "/", ";", "?", "&"])
PIECES = st.lists(
    st.tuples(LITERALS, OPERATORS, st.lists(st.sampled_from(NAMES), min_size=1, max_size=2)),
    max_size=3,
)


def matches(template: str, text: str) -> bool:
    pattern = compiled(template)
    assert pattern is not None
    uri = prepare(text)
    assert uri is not None
    return pattern.matches(uri)


def expand(operator: str, names: list[str], values: dict[str, str]) -> str:
    """Expand an expression of simple variables as RFC 6570 section 3.2 says; absent ones go."""
    safe = RESERVED if operator in {"+", "#"} else ""
    held = [(name, quote(values[name], safe=safe)) for name in names if name in values]
    first = {"+": "", "": ""}.get(operator, operator)
    between = {"": ",", "+": ",", "#": ",", "?": "&"}.get(operator, operator)
    if operator in {";", "?", "&"}:
        bare = "=" if operator != ";" else ""
        parts = [f"{name}={value}" if value else f"{name}{bare}" for name, value in held]
    else:
        parts = [value for _, value in held]
    return first + between.join(parts) if parts else ""


@given(PIECES, st.dictionaries(st.sampled_from(NAMES), VALUES), LITERALS)
@example([("a/", "?", ["id", "q"]), ("", "&", ["path"])], {"q": "x", "path": ""}, "")
def test_what_a_template_expands_to_matches_it(pieces, values, tail) -> None:
    template = "".join(f"{text}{{{op}{','.join(names)}}}" for text, op, names in pieces) + tail
    uri = "".join(text + expand(op, names, values) for text, op, names in pieces) + tail

    assert matches(template, uri)


@pytest.mark.parametrize(
    ("template", "uri"),
    [
        ("test://template/{id}/data", "test://template/123/data"),
        ("db://{table}", "db://größer als"),
        ("mail://{user}", "mail://a@b.example:25"),
        ("file:///{+path}", "file:///etc/hosts"),
        ("file:///{+path}/end", "file:///a/end/b/end"),
        ("x://{+a}x{b}y", "x://1x/2x3y"),
        ("x://{a}-{b}", "x://1-2-3"),
        ("x://a{/b,c}", "x://a/1"),
        ("x://a{/b,c}", "x://a/1/2"),
        ("x://a{/rest*}", "x://a/1/2/3/4"),
        ("x://a{?q,r}", "x://a"),
        ("x://a{?q,r}", "x://a?r=1&q=/2"),
        ("x://a{?q*}", "x://a?any=1"),
        ("x://a?fixed=1{&q}", "x://a?fixed=1&q=2"),
        ("x://a{#f}", "x://a#top/1?2"),
        ("x://a{;x,y}", "x://a;x=1;y"),
        ("x://a{.ext}", "x://a.tar.gz"),
        ("x://{id:3}", "x://abc"),
        ("x://{user-id}", "x://7"),
        ("x://plain", "x://plain"),
        ("{+all}", "any:thing/at?all#here"),
    ],
)
def test_a_uri_of_the_template_matches(template, uri) -> None:
    assert matches(template, uri)


@pytest.mark.parametrize(
    ("template", "uri"),
    [
        pytest.param("test://template/{id}/data", "test://template/1/2/data", id="slash"),
        pytest.param("x://a/{id}", "x://a/1?q=2", id="query"),
        pytest.param("x://a/{id}", "x://a/1#f", id="fragment"),
        pytest.param("x://A/{id}", "x://a/1", id="case of a literal"),
        pytest.param("x://%41/{id}", "x://A/1", id="encoding of a literal"),
        pytest.param("x://a/{id}", "x://a", id="too short"),
        pytest.param("x://a/{id}/b", "x://a/1/bc", id="text after the end"),
        pytest.param("x://a{/b,c}", "x://a/1/2/3", id="more segments than variables"),
        pytest.param("x://a{?q}", "x://a?r=1", id="another parameter"),
        pytest.param("x://a{?q}", "x://a?query=1", id="a parameter that only begins alike"),
        pytest.param("x://a{?q}", "x://a?q=1#f", id="fragment after the query"),
        pytest.param("x://a.b", "x://aXb", id="a dot is a dot"),
    ],
)
def test_another_uri_does_not_match(template, uri) -> None:
    assert not matches(template, uri)


@pytest.mark.parametrize(
    "template",
    [
        "x://{",
        "x://}",
        "x://{}",
        "x://{a",
        "x://{{a}}",
        "x://{a b}",
        "x://{=a}",
        "x://{a,}",
        "x://{?}",
        "x://{a:0}",
        "x://{a*:3}",
        "x://{/}",
        "x" * 3000,
    ],
)
def test_what_is_no_template_is_not_compiled(template) -> None:
    assert compiled(template) is None


def test_a_uri_beyond_all_measure_is_not_matched() -> None:
    assert prepare("x" * 10_000) is None


@pytest.mark.parametrize(
    "template",
    [
        pytest.param("x://" + "{a}-" * 60 + "!", id="one class"),
        pytest.param("x://" + "{+a}-{b}" * 60 + "!", id="mixed classes"),
        pytest.param("x://" + "{a}{+b}" * 100 + "!", id="nothing between"),
        pytest.param("x://{?" + ",".join(f"a{n}" for n in range(300)) + "}!", id="many names"),
    ],
)
def test_a_hostile_pair_of_template_and_uri_costs_no_more_than_its_length(template) -> None:
    # A backtracking matcher would not come back within the time that a test may take.
    assert not matches(template, "x://" + "-" * 8000)


def test_the_length_of_the_literals_tells_how_specific_a_template_is() -> None:
    pattern = compiled("x://a/{b}/c{?q}")

    assert pattern is not None
    assert pattern.literal_length == len("x://a//c")
