"""What is said of the kinds is what they are."""

from __future__ import annotations

from typing import Any

import pytest

from tests.cli.conftest import ROOT
from vmcp.crd.kinds import API_VERSIONS, KIND_OF, KINDS
from vmcp.crd.schema import structural
from vmcp.crd.specs.base import Spec
from vmcp.crd.specs.remoteproxy import MCPRemoteProxyMember, MCPRemoteProxySpec
from vmcp.crd.specs.server import MCPServerMember, MCPServerSpec
from vmcp.crd.specs.workload import MemberStatus, WorkloadStatus

PAGE = ROOT / "docs" / "resources.md"


def test_every_kind_is_on_the_page_with_its_short_names() -> None:
    rows = [line for line in PAGE.read_text().splitlines() if line.startswith("| ")]
    cells = {row.split(" | ")[0].strip("| "): row.split(" | ")[1] for row in rows if " | " in row}

    for kind in KINDS:
        own = [name for name in kind.short_names if name != kind.plural]
        assert cells[kind.name] == ", ".join(f"`{name}`" for name in own)


def test_kinds_are_found_by_their_names_in_both_versions() -> None:
    assert list(KIND_OF) == [kind.name for kind in KINDS]
    assert API_VERSIONS == ("toolhive.stacklok.dev/v1alpha1", "toolhive.stacklok.dev/v1beta1")


@pytest.mark.parametrize(
    ("part", "whole"),
    [(MCPServerMember, MCPServerSpec), (MCPRemoteProxyMember, MCPRemoteProxySpec)],
    ids=["MCPServer", "MCPRemoteProxy"],
)
def test_what_a_gateway_reads_of_a_workload_is_part_of_its_spec(
    part: type[Spec], whole: type[Spec]
) -> None:
    fields: dict[str, Any] = structural(part)["properties"]
    all_fields: dict[str, Any] = structural(whole)["properties"]

    assert fields.items() <= all_fields.items()


def test_what_a_gateway_reads_of_a_status_is_there() -> None:
    known = structural(WorkloadStatus)["properties"].keys() | {"phase"}

    assert structural(MemberStatus)["properties"].keys() <= known
