"""`--mcp-json`: the servers of desktop clients as backends."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Vmcp
from tests.cli.test_serve import serving, wait_for


@pytest.fixture
def file(tmp_path: Path, workshop_url: str) -> Path:
    file = tmp_path / "mcp.json"
    file.write_text(json.dumps({"mcpServers": {"shop": {"url": workshop_url}}}))
    return file


def test_its_servers_are_served_without_a_config_file_and_followed(
    vmcp: Vmcp, file: Path, workshop_url: str
) -> None:
    with serving("--mcp-json", str(file)) as (process, url):
        wait_for(process, "backend is ready")
        called = vmcp("call", "shop_add", "a=1", "b=2", "--url", url)
        file.write_text(json.dumps({"servers": {"store": {"url": workshop_url, "type": "http"}}}))
        wait_for(process, "backend is ready")
        renamed = vmcp("call", "store_add", "a=1", "b=2", "--url", url)

    assert called.out == "3\n"
    assert renamed.out == "3\n"


def test_a_config_file_and_several_of_them_go_together(vmcp: Vmcp, file: Path) -> None:
    config = file.with_name("vmcp.yaml")
    config.write_text("backends: [{name: own, stdio: {command: own}}]")
    more = file.with_name("more.json")
    more.write_text(json.dumps({"servers": {"box": {"command": "box", "args": ["secret"]}}}))
    words = ("--mcp-json", str(file), "--mcp-json", str(more))

    ended = vmcp("validate", "-c", str(config), *words)

    assert ended.code == 0
    assert ended.out.startswith(f"{config}, {file}, {more}: ok\n")
    assert [line.split()[0] for line in ended.out.splitlines()[2:]] == ["box", "own", "shop"]
    assert "secret" not in ended.out


def test_what_is_wrong_names_the_file_the_server_and_the_member(vmcp: Vmcp, file: Path) -> None:
    file.write_text('{"mcpServers": {"a": {"command": "x", "comand": "y"}}}')

    for command in ("validate", "serve"):
        ended = vmcp(command, "--mcp-json", str(file))

        assert ended.code == 2
        assert f"- {file}: mcpServers.a.comand (line 1, column " in ended.err
        assert "Did you mean 'command'?" in ended.err


def test_programs_are_told_the_file_of_an_error(vmcp: Vmcp, file: Path) -> None:
    file.write_text("{}")

    ended = vmcp("validate", "--mcp-json", str(file), "--output", "json")

    assert ended.code == 2
    (error,) = json.loads(ended.out)["errors"]
    assert (error["file"], error["message"]) == (str(file), "Names no servers.")


def test_a_file_that_is_not_there_is_no_reason_to_write_a_config(vmcp: Vmcp, file: Path) -> None:
    ended = vmcp("serve", "--mcp-json", str(file.with_name("none.json")))

    assert ended.code == 2
    assert "It does not exist." in ended.err
    assert "vmcp init" not in ended.err
