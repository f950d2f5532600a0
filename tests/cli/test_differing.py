"""What differs between a gateway in a cluster, where an operator runs the workloads, and a folder."""

from __future__ import annotations

import pytest

from vmcp.cli.differing import Difference, Facts, Side, difference

AUTH = {"type": "unauthenticated", "from": "none"}
SERVER, PROXY = "MCPServer/office/s", "MCPRemoteProxy/office/p"


def facts(key: str) -> Facts:
    return {"object": key, "auth": AUTH, "fingerprint": "of what runs"}


def cluster(*problems: str) -> Side:
    running = {"s": facts(SERVER), "p": facts(PROXY)}
    return Side(running, frozenset(problems), None, None, is_cluster=True)


def wanted(*problems: str) -> Difference:
    return difference(cluster(), Side({}, frozenset(problems), None, None))


def test_a_workload_that_runs_and_stays_in_the_folder_is_no_difference() -> None:
    assert not wanted(f"{SERVER}: NotReady", f"{PROXY}: NotReady")


@pytest.mark.parametrize("more", [(), (f"{SERVER}: NotReady", f"{SERVER}: AuthConfigNotFound")])
def test_a_workload_that_goes_or_lacks_something_is_one(more: tuple[str, ...]) -> None:
    found = wanted(f"{PROXY}: NotReady", *more)

    assert found.removed == ("s",)
    assert found.problems_added == tuple(sorted(more))


def test_a_workload_that_nobody_runs_yet_is_told() -> None:
    new = "MCPServer/office/new: NotReady"

    assert wanted(f"{SERVER}: NotReady", f"{PROXY}: NotReady", new).problems_added == (new,)
