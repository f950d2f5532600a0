"""`vmcp explain` with a file, without a running gateway; tests/catalog has what it finds out."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Vmcp
from tests.cli.test_operations import answering


@pytest.fixture
def file(tmp_path: Path, workshop_url: str, free_port: int) -> Path:
    file = tmp_path / "vmcp.yaml"
    file.write_text(
        "backends:\n"
        f"  - {{name: shop, url: '{workshop_url}'}}\n"
        f"  - {{name: gone, url: 'http://127.0.0.1:{free_port}/mcp'}}\n"
        "aggregation:\n"
        "  tools:\n"
        "    - {workload: shop, filter: [add], overrides: {add: {name: add}}}\n"
    )
    return file


def test_a_hidden_tool_is_told_with_the_rule(vmcp: Vmcp, file: Path) -> None:
    ended = vmcp("explain", "shop_fail", "-c", str(file))

    assert ended.code == 1
    assert ended.out.splitlines() == [
        "Tool 'fail' of backend 'shop' is seen by no client.",
        "  - The filter of this backend does not name it.",
    ]
    assert ended.err == "No client sees it.\n"


def test_a_backend_that_cannot_be_reached_is_told_with_its_trouble(vmcp: Vmcp, file: Path) -> None:
    ended = vmcp("explain", "gone_x", "-c", str(file), "-o", "json")

    found = json.loads(ended.out)
    assert ended.code == 4
    assert found["unlisted"] == ["gone"]
    assert "refused" in found["troubles"]["gone"]


def test_a_file_that_is_wrong_is_told_as_everywhere(vmcp: Vmcp, tmp_path: Path) -> None:
    assert vmcp("explain", "x", "-c", str(tmp_path / "none.yaml")).code == 2


@pytest.mark.parametrize("printed", ["text", "json"])
def test_while_nobody_is_served_that_is_why_a_name_is_not_seen(vmcp: Vmcp, printed: str) -> None:
    closed = {
        "object": "VirtualMCPServer/n/gw",
        "reason": "GatewayInvalid",
        "message": "It is odd.",
    }
    found = {"name": "x_y", "found": [], "unlisted": [], "mentions": [], "near": []}
    answer = {**found, "closed": closed, "backends": []}

    with answering(200, json.dumps(answer).encode()) as (url, _):
        ended = vmcp("explain", "x_y", "--ops-url", url, "-o", printed)

    told = "Nobody is served, so no client sees it: VirtualMCPServer/n/gw: It is odd.\n"
    assert (ended.code, ended.err) == (1, told)
    assert ended.out == "" if printed == "text" else json.loads(ended.out)["closed"] == closed
