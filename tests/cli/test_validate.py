"""`vmcp validate`, on a file alone and on live backends."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Vmcp

TWO_BACKENDS = """
backends:
  - name: near
    stdio: {command: some-server, args: [--token, hunter2]}
  - name: far
    url: https://mcp.example.test/mcp?key=hunter2
outgoingAuth:
  backends:
    far: {type: bearer_token, bearerToken: {tokenEnv: FAR_TOKEN}}
operational: {timeouts: {perWorkload: {far: 45s}}}
"""


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("FAR_TOKEN", "hunter2")
    file = tmp_path / "vmcp.yaml"
    file.write_text(TWO_BACKENDS)
    return file


def test_a_valid_file_shows_its_backends_and_no_secret(vmcp: Vmcp, file: Path) -> None:
    ended = vmcp("validate", "-c", str(file))

    assert (ended.code, ended.err) == (0, "")
    assert ended.out.splitlines() == [
        f"{file}: ok",
        "NAME  TRANSPORT        PLACE                         TIMEOUT  AUTH",
        "far   streamable-http  https://mcp.example.test/mcp  45s      bearer token",
        "near  stdio            some-server                   30s      none",
    ]


def test_json_says_the_same(vmcp: Vmcp, file: Path) -> None:
    ended = vmcp("validate", "-c", str(file), "-o", "json")

    found = json.loads(ended.out)
    assert found["ok"] is True
    assert [one["name"] for one in found["backends"]] == ["far", "near"]
    assert "hunter2" not in ended.out


def test_all_errors_are_told_at_once(vmcp: Vmcp, file: Path) -> None:
    file.write_text("backend: []\nserver: {port: many}\n")

    ended = vmcp("validate", "-c", str(file))

    assert (ended.code, ended.out) == (2, "")
    assert f"{file}: " in ended.err
    assert "backends" in ended.err
    assert "server.port" in ended.err


def test_errors_come_as_json_too(vmcp: Vmcp, file: Path) -> None:
    file.write_text("backend: []\n")

    ended = vmcp("validate", "-c", str(file), "-o", "json")

    found = json.loads(ended.out)
    assert (ended.code, ended.err, found["ok"]) == (2, "", False)
    assert {"path", "message", "line"} <= set(found["errors"][0])


def test_a_file_that_is_not_there_is_named_with_what_to_do(vmcp: Vmcp, tmp_path: Path) -> None:
    ended = vmcp("validate", "-c", str(tmp_path / "none.yaml"))

    assert ended.code == 2
    assert "does not exist" in ended.err
    assert "'vmcp init " in ended.err


def test_a_backend_that_is_the_gateway_itself_is_a_problem(vmcp: Vmcp, file: Path) -> None:
    file.write_text("backends: [{name: me, url: 'http://127.0.0.1:4483/mcp'}]\n")

    ended = vmcp("validate", "-c", str(file))

    assert ended.code == 1
    assert ended.err == "1 problem.\n"
    assert "valid, but" in ended.out


def test_live_backends_show_what_they_offer(vmcp: Vmcp, file: Path, workshop_url: str) -> None:
    file.write_text(f"backends: [{{name: shop, url: '{workshop_url}'}}]\n")

    ended = vmcp("validate", "--live", "-c", str(file))

    assert (ended.code, ended.err) == (0, "")
    assert ended.out.splitlines() == [
        f"{file}: ok",
        "NAME  ERA        VERSION     TOOLS  PROMPTS  RESOURCES  TEMPLATES  TROUBLE",
        "shop  stateless  2026-07-28  7      1        1          1",
    ]


def test_a_live_backend_that_cannot_be_reached_fails(
    vmcp: Vmcp, file: Path, workshop_url: str, free_port: int
) -> None:
    file.write_text(
        "backends:\n"
        f"  - {{name: shop, url: '{workshop_url}'}}\n"
        f"  - {{name: gone, url: 'http://127.0.0.1:{free_port}/mcp'}}\n"
    )

    ended = vmcp("validate", "--live", "-c", str(file), "-o", "json")

    found = json.loads(ended.out)
    gone, shop = found["backends"]
    assert (ended.code, ended.err, found["ok"]) == (
        1,
        "1 backend in trouble; 'vmcp doctor' tells what to do.\n",
        False,
    )
    assert (gone["name"], "refused" in gone["trouble"]) == ("gone", True)
    assert (shop["name"], shop["tools"]) == ("shop", 7)


def test_a_live_backend_that_never_answers_is_not_waited_for(
    vmcp: Vmcp, file: Path, strange_url: str
) -> None:
    file.write_text(f"backends: [{{name: slow, url: '{strange_url}/hang/mcp'}}]\n")

    ended = vmcp("validate", "--live", "-c", str(file), "--timeout", "0.5")

    assert ended.code == 1
    assert "It did not answer in time." in ended.out


def test_live_problems_of_the_catalog_fail(vmcp: Vmcp, file: Path, workshop_url: str) -> None:
    file.write_text(
        "backends:\n"
        f"  - {{name: first, url: '{workshop_url}'}}\n"
        f"  - {{name: second, url: '{workshop_url}'}}\n"
        "aggregation:\n"
        "  conflictResolution: priority\n"
        "  conflictResolutionConfig: {priorityOrder: [first, second]}\n"
    )

    ended = vmcp("validate", "--live", "-c", str(file))

    assert ended.code == 1
    assert "OBJECT" in ended.out
    assert "problems." in ended.err


def test_a_gateway_that_serve_would_refuse_is_refused(vmcp: Vmcp, file: Path) -> None:
    file.write_text(f"{TWO_BACKENDS}server: {{host: '::'}}\n")

    told = vmcp("validate", "-c", str(file))
    listed = vmcp("validate", "-c", str(file), "-o", "json")
    allowed = vmcp("validate", "-c", str(file), "--insecure-anonymous")

    assert (told.code, listed.code, allowed.code) == (2, 2, 0)
    assert (
        "- server.host: Other machines reach this address, and incomingAuth lets everybody in."
        in told.err
    )
    assert json.loads(listed.out)["errors"][0]["path"] == "server.host"
