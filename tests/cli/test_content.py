"""Results as text for a person."""

from __future__ import annotations

import pytest
from mcp_types import CallToolResult, TextContent

from vmcp.cli.content import lines


@pytest.mark.parametrize(
    ("text", "structured"),
    [
        ('{"a": 1}', {"a": 1}),
        ("5", {"result": 5}),
        ("five", {"result": "five"}),
        ("[1, 2]", {"result": [1, 2]}),
        ("5", {"result": "5"}),
    ],
)
def test_structured_content_that_a_text_repeats_is_not_shown_twice(
    text: str, structured: object
) -> None:
    result = CallToolResult(content=[TextContent(text=text)], structured_content=structured)

    assert list(lines(result)) == [text]


def test_structured_content_that_the_texts_spell_out_is_not_shown_twice() -> None:
    content = [TextContent(text="a"), TextContent(text="b")]

    result = CallToolResult(content=content, structured_content={"result": ["a", "b"]})

    assert list(lines(result)) == ["a", "b"]


def test_structured_content_that_says_more_comes_last() -> None:
    content = [TextContent(text="warm")]

    result = CallToolResult(content=content, structured_content={"température": 21})

    assert list(lines(result)) == ["warm", '{\n  "température": 21\n}']


def test_a_result_of_nothing_shows_nothing() -> None:
    assert list(lines(CallToolResult(content=[]))) == []
