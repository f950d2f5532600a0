"""`vmcp prompts`."""

from __future__ import annotations

from tests.cli.conftest import Vmcp


def test_prompts_are_listed_with_their_arguments(vmcp: Vmcp, workshop_url: str) -> None:
    ended = vmcp("prompts", "--url", workshop_url)

    assert ended.code == 0
    assert ended.out == (
        "NAME    ARGUMENTS    DESCRIPTION\nreview  code, tone?  Review some code.\n"
    )


def test_a_server_without_prompts_is_not_asked(vmcp: Vmcp, paged_url: str) -> None:
    ended = vmcp("prompts", "--url", paged_url, "--era", "sessioned")

    assert (ended.code, ended.out) == (0, "")
    assert ended.err.startswith("0 prompts from paged")
