"""`vmcp tools`."""

from __future__ import annotations

import json

import pytest

from tests.cli.conftest import Vmcp
from tests.cli.servers import paged, running, sessioned_only


@pytest.mark.parametrize("era", ["auto", "sessioned", "stateless"])
def test_tools_are_listed_in_aligned_columns(vmcp: Vmcp, workshop_url: str, era: str) -> None:
    ended = vmcp("tools", "--url", workshop_url, "--era", era)

    assert ended.code == 0
    assert ended.err == ""
    assert ended.out.splitlines()[:3] == [
        "NAME      ARGUMENTS                                     DESCRIPTION",
        "add       a, b                                          Add two integers.",
        "describe  text, count?, ratio?, sure?, words?, colour?  Say what came, and of which type.",
    ]


@pytest.mark.parametrize("era", ["sessioned", "stateless"])
def test_json_holds_whole_documents(vmcp: Vmcp, workshop_url: str, era: str) -> None:
    ended = vmcp("tools", "--url", workshop_url, "--era", era, "--output", "json")

    tools = {tool["name"]: tool for tool in json.loads(ended.out)["tools"]}
    assert "for `--output json` alone" in tools["describe"]["description"]
    assert tools["add"]["inputSchema"]["required"] == ["a", "b"]


@pytest.mark.parametrize("era", ["sessioned", "stateless"])
def test_all_pages_are_followed(vmcp: Vmcp, paged_url: str, era: str) -> None:
    ended = vmcp("tools", "--url", paged_url, "--era", era, "--output", "json")

    names = [tool["name"] for tool in json.loads(ended.out)["tools"]]
    assert names == [f"tool_{page}_{at}" for page in range(3) for at in range(2)]


def test_pages_that_repeat_end_the_command(vmcp: Vmcp) -> None:
    with running(paged(3, loops=True).streamable_http_app()) as port:
        ended = vmcp("tools", "--url", f"http://127.0.0.1:{port}/mcp")

    assert ended.code == 3
    assert ended.err == "The server's list has no end: its pages repeat or are too many.\n"


def test_a_server_of_the_older_era_is_listed_too(vmcp: Vmcp) -> None:
    with running(sessioned_only()) as port:
        ended = vmcp("tools", "--url", f"http://127.0.0.1:{port}/mcp")

    assert (ended.code, ended.out) == (0, "")
    assert ended.err == "0 tools from old 0.9, MCP 2025-11-25\n"


def test_an_era_that_the_server_lacks_is_told(vmcp: Vmcp) -> None:
    with running(sessioned_only()) as port:
        ended = vmcp("tools", "--url", f"http://127.0.0.1:{port}/mcp", "--era", "stateless")

    assert ended.code == 3
    assert "speaks only the sessioned era (MCP 2025-11-25)" in ended.err
