"""`vmcp resources`."""

from __future__ import annotations

import json

import pytest

from tests.cli.conftest import Vmcp


def test_resources_and_templates_share_a_table(vmcp: Vmcp, workshop_url: str) -> None:
    ended = vmcp("resources", "--url", workshop_url)

    assert ended.code == 0
    assert ended.out.splitlines() == [
        "URI                  TYPE        DESCRIPTION",
        "shelf://index        text/plain  List the shelf.",
        "shelf://tool/{name}  text/plain  Look at one tool.",
    ]


@pytest.mark.parametrize("era", ["sessioned", "stateless"])
def test_json_keeps_them_apart(vmcp: Vmcp, workshop_url: str, era: str) -> None:
    ended = vmcp("resources", "--url", workshop_url, "--era", era, "-o", "json")

    found = json.loads(ended.out)
    assert [one["uri"] for one in found["resources"]] == ["shelf://index"]
    assert [one["uriTemplate"] for one in found["resourceTemplates"]] == ["shelf://tool/{name}"]
