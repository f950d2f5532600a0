"""Each line of the failure matrix, for each kind of backend to which it applies, and both eras of clients."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from tests.failures.campaign import BYSTANDER_SECONDS, GROWN_BYTES, Campaign, Cell, name_of
from tests.failures.matrix import CASES

pytestmark = pytest.mark.asyncio(loop_scope="module")

CELLS: list[Cell] = [(case, back) for case in CASES for back in case.backs]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def campaign(request: pytest.FixtureRequest) -> AsyncIterator[Campaign]:
    """Run the cells that were selected, all at once."""
    wanted = [cell for item in request.session.items if (cell := _cell(item)) is not None]
    made = Campaign(wanted)
    running = asyncio.get_running_loop().create_task(made.run())
    await made.ready.wait()
    if running.done():
        running.result()

    yield made

    made.done.set()
    await running


def _cell(item: Any) -> Cell | None:
    parameters = getattr(getattr(item, "callspec", None), "params", {})
    cell: Cell | None = parameters.get("cell")
    return cell


@pytest.mark.parametrize("cell", CELLS, ids=name_of)
async def test_a_failure_of_a_backend_is_told_bounded_and_heals(
    campaign: Campaign, cell: Cell
) -> None:
    await campaign.outcome(cell)


async def test_healthy_backends_notice_nothing(campaign: Campaign) -> None:
    assert campaign.bystander.wrong == []
    assert len(campaign.bystander.took) > 100
    assert max(campaign.bystander.took) < BYSTANDER_SECONDS


async def test_huge_answers_do_not_fill_the_memory(campaign: Campaign) -> None:
    grown = {name: size for name, size in campaign.grown_bytes.items() if size > GROWN_BYTES}

    assert grown == {}
