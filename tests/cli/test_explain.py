"""`vmcp explain` with a file, without a running gateway; tests/catalog has what it finds out."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Vmcp


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
