"""`vmcp crds`."""

from __future__ import annotations

import yaml

from tests.cli.conftest import Vmcp
from vmcp.crd.definitions import definitions
from vmcp.crd.kinds import KINDS


def test_the_definitions_of_all_kinds_are_printed(vmcp: Vmcp) -> None:
    ended = vmcp("crds")

    found = [*yaml.safe_load_all(ended.out)]
    assert ended.code == 0
    assert found == [*definitions()]
    assert {one["spec"]["names"]["kind"] for one in found} == {kind.name for kind in KINDS}


def test_two_runs_print_the_same_bytes(vmcp: Vmcp) -> None:
    assert vmcp("crds").out == vmcp("crds").out
