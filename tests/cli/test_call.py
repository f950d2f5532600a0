"""`vmcp call`."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from tests.cli.conftest import Vmcp


@pytest.mark.parametrize("era", ["auto", "sessioned", "stateless"])
def test_a_text_result_is_printed_as_text(vmcp: Vmcp, workshop_url: str, era: str) -> None:
    ended = vmcp("call", "add", "a=2", "b=40", "--url", workshop_url, "--era", era)

    assert (ended.code, ended.out, ended.err) == (0, "42\n", "")


def test_values_take_the_types_of_the_input_schema(vmcp: Vmcp, workshop_url: str) -> None:
    words = ["text=1", "count=2", "ratio=3", "sure=true", 'words=["x"]', "colour=green"]

    ended = vmcp("call", "describe", *words, "--url", workshop_url)

    assert json.loads(ended.out) == {
        "text": "1",
        "count": 2,
        "ratio": 3.0,
        "sure": True,
        "words": ["x"],
        "colour": "green",
    }


@pytest.mark.parametrize("era", ["sessioned", "stateless"])
def test_json_output_holds_the_whole_result(vmcp: Vmcp, workshop_url: str, era: str) -> None:
    ended = vmcp("call", "add", "a=1", "b=1", "--url", workshop_url, "--era", era, "-o", "json")

    result = json.loads(ended.out)
    assert result["content"] == [{"type": "text", "text": "2"}]
    assert result["structuredContent"] == {"result": 2}
    assert ("resultType" in result) is (era == "stateless")


def test_content_that_is_no_text_is_described(vmcp: Vmcp, workshop_url: str) -> None:
    ended = vmcp("call", "show", "--url", workshop_url)

    assert ended.out.splitlines() == [
        "plain\x1b[31m text",
        "[image image/png, 8 bytes]",
        "[audio audio/wav, 8 bytes]",
        "[link file:///plan: plan]",
        "[resource file:///t]",
        "embedded text",
        "[resource file:///b]",
        "[image/png, 8 bytes]",
    ]


@pytest.mark.parametrize("source", ["argument", "file", "stdin"])
def test_arguments_come_as_json(
    vmcp: Vmcp,
    workshop_url: str,
    source: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    text = '{"a": 1, "b": 2}'
    (tmp_path / "arguments.json").write_text(text)
    monkeypatch.setattr("sys.stdin", io.StringIO(text))
    given = {"argument": text, "file": f"@{tmp_path / 'arguments.json'}", "stdin": "-"}[source]

    ended = vmcp("call", "add", "--json", given, "--url", workshop_url)

    assert (ended.code, ended.out) == (0, "3\n")


def test_words_win_over_json(vmcp: Vmcp, workshop_url: str) -> None:
    ended = vmcp("call", "add", "b=5", "--json", '{"a": 1, "b": 2}', "--url", workshop_url)

    assert ended.out == "6\n"


@pytest.mark.parametrize("era", ["sessioned", "stateless"])
def test_an_error_of_the_tool_exits_with_1(vmcp: Vmcp, workshop_url: str, era: str) -> None:
    ended = vmcp("call", "fail", "--url", workshop_url, "--era", era)

    assert ended.code == 1
    assert "the saw is blunt" in ended.out
    assert ended.err == "The tool 'fail' reports an error.\n"


@pytest.mark.parametrize("output", ["text", "json"])
def test_progress_leaves_standard_output_alone(vmcp: Vmcp, workshop_url: str, output: str) -> None:
    ended = vmcp("call", "sand", "--url", workshop_url, "-o", output)

    assert ended.code == 0
    assert "pass" not in ended.out
    assert ended.err == ""


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("addd", "There is no tool 'addd'. Did you mean 'add'?"),
        ("scribe", "There is no tool 'scribe'. Did you mean 'describe'?"),
        ("weather", "There is no tool 'weather' among 7: 'vmcp tools' lists them."),
    ],
)
def test_an_unknown_tool_exits_with_4(
    vmcp: Vmcp, workshop_url: str, name: str, message: str
) -> None:
    ended = vmcp("call", name, "--url", workshop_url)

    assert (ended.code, ended.out, ended.err) == (4, "", f"{message}\n")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["add", "a=1"], "Tool 'add': missing: b (integer)."),
        (["add", "a=x", "b=1"], "Tool 'add': 'a' must be integer; got 'x'."),
        (["add", "--json", "{"], "--json is no JSON: "),
        (["add", "--json", "[]"], "--json takes an object with the tool's arguments."),
        (["add", "--json", "@/nowhere/x"], "--json @/nowhere/x: No such file or directory."),
        (["add", "--header", "secret"], "--header takes 'NAME: VALUE'."),
    ],
)
def test_wrong_usage_exits_with_2(
    vmcp: Vmcp, workshop_url: str, words: list[str], message: str
) -> None:
    ended = vmcp("call", *words, "--url", workshop_url)

    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith(message)
    assert ended.err.count("\n") == 1


@pytest.mark.parametrize("era", ["sessioned", "stateless"])
def test_a_call_that_takes_too_long_is_given_up(vmcp: Vmcp, workshop_url: str, era: str) -> None:
    ended = vmcp("call", "wait", "--url", workshop_url, "--era", era, "--timeout", "1.5")

    assert ended.code == 3
    assert ended.err == (
        "Not done within 1.5 s. The server itself answers: "
        "give the call more time with --timeout.\n"
    )


@pytest.mark.parametrize("era", ["sessioned", "stateless"])
def test_a_tool_on_a_later_page_is_found(vmcp: Vmcp, paged_url: str, era: str) -> None:
    ended = vmcp("call", "tool_2_1", "--url", paged_url, "--era", era)

    assert (ended.code, ended.out) == (0, "tool_2_1 was called\n")
