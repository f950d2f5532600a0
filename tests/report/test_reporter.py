"""One of several gateways writes, from when it is ready and as long as it holds the Lease."""

from __future__ import annotations

import asyncio
from itertools import pairwise

import pytest

from tests.report.desk import LEASE, Desk, reporting, running
from tests.report.pictures import backend, failing, health, picture, well
from tests.support.virtual_time import LoopClock, in_virtual_time
from vmcp.kube.client import ApiServer
from vmcp.kube.elector import TERMS
from vmcp.kube.resource import LEASES
from vmcp.kube.trimming import Kept
from vmcp.report.pace import PACE

LOST = picture(backend("wiki"), health={"wiki": failing()})
WELL = well("wiki")


async def opened() -> Desk:
    desk = Desk(LoopClock())
    await desk.open()
    return desk


async def holder(server: ApiServer) -> str:
    lease = await server.get(LEASES.path("v1", "apps", LEASE), {})
    found: str = lease["spec"].get("holderIdentity", "")
    return found


@in_virtual_time
async def test_nothing_is_said_before_the_gateway_is_ready() -> None:
    desk = await opened()
    made = reporting(desk)
    made.ready.clear()
    async with running(made):
        await asyncio.sleep(60)
        assert desk.api.asked == []

        made.ready.set()
        await asyncio.sleep(0.1)

    assert [each.at for each in desk.wrote] == [60]


@in_virtual_time
async def test_a_change_is_written_within_a_moment() -> None:
    desk = await opened()
    async with running(reporting(desk)) as made:
        await asyncio.sleep(60)
        made.show(LOST)
        await asyncio.sleep(1)

    assert [round(each.at, 1) for each in desk.wrote] == [0, 60.5]
    assert desk.wrote[1].entries["wiki"]["status"] == "unavailable"


@in_virtual_time
async def test_many_changes_are_few_writes_and_the_last_one_is_true() -> None:
    desk = await opened()
    async with running(reporting(desk)) as made:
        for _ in range(100):
            made.show(LOST)
            await asyncio.sleep(0.1)
            made.show(WELL)
            await asyncio.sleep(0.1)
        made.show(LOST)
        await asyncio.sleep(3)

    times = [each.at for each in desk.wrote]
    assert len(times) <= 12
    gaps = [after - before for before, after in pairwise(times)]
    assert min(gaps) == pytest.approx(PACE.gap_seconds)
    assert desk.wrote[-1].entries["wiki"]["status"] == "unavailable"


@in_virtual_time
async def test_an_hour_of_checks_is_a_write_each_five_minutes() -> None:
    desk = await opened()
    async with running(reporting(desk)) as made:
        for seconds in range(0, 3600, 10):
            await asyncio.sleep(10)
            made.show(picture(backend("wiki"), health={"wiki": health(seconds=seconds)}))

    assert 11 <= len(desk.wrote) <= 13


@in_virtual_time
async def test_what_the_object_says_is_seen_although_the_gateway_knows_nothing_new() -> None:
    desk = await opened()
    async with running(reporting(desk)):
        await asyncio.sleep(60)
        await desk.make(generation=2)
        await asyncio.sleep(PACE.poll_seconds + 1)

    assert len(desk.wrote) == 2


@in_virtual_time
async def test_of_two_gateways_one_writes_and_the_other_takes_over_when_it_ends() -> None:
    desk = await opened()
    first, second = reporting(desk, "a"), reporting(desk, "b")
    second.ready.clear()
    async with running(second):
        async with running(first):
            await asyncio.sleep(30)
            second.ready.set()
            # What one knows who does not lead is not written.
            second.show(LOST)
            await asyncio.sleep(30)
            assert first.report.state.value.is_leader
            assert not second.report.state.value.is_leader
            assert len(desk.wrote) == 1
        await asyncio.sleep(TERMS.retry_seconds + 1)
        assert second.report.state.value.is_leader

    assert desk.wrote[-1].entries["wiki"]["status"] == "unavailable"


@in_virtual_time
async def test_who_ends_gives_the_lease_back() -> None:
    desk = await opened()
    async with running(reporting(desk)):
        await asyncio.sleep(10)
        assert await holder(desk.server()) == "a"

    assert await holder(desk.server()) == ""


@in_virtual_time
async def test_who_cannot_renew_the_lease_writes_no_more_and_says_why() -> None:
    desk = await opened()
    async with running(reporting(desk)) as made:
        await asyncio.sleep(10)
        desk.api.denied = {"leases"}
        await asyncio.sleep(TERMS.lease_seconds)
        told = made.report.state.value
        assert not told.is_leader
        assert "403" in told.lease_error

        made.show(LOST)
        await asyncio.sleep(60)
        assert len(desk.wrote) == 1

        desk.api.denied = set()
        await asyncio.sleep(10)

    assert desk.wrote[-1].entries["wiki"]["status"] == "unavailable"
    assert made.report.state.value.lease_error == ""


@in_virtual_time
async def test_a_failure_to_write_heals_by_itself() -> None:
    desk = await opened()
    desk.api.denied = {"virtualmcpservers"}
    async with running(reporting(desk)) as made:
        # Pauses are jittered down to half: six grow to the longest, so that there are 18 attempts at the most.
        await asyncio.sleep(390)
        assert "403" in made.report.state.value.error
        assert len(desk.wrote) < 20

        desk.api.denied = set()
        await asyncio.sleep(PACE.longest_seconds + 1)

    told = made.report.state.value
    assert told.error == ""
    assert told.shown() == {"leader": True, "lastWrite": told.written_at}


@in_virtual_time
async def test_what_breaks_the_report_does_not_end_it() -> None:
    desk = await opened()
    made = reporting(desk)
    made.report._see = Broken(desk)
    async with running(made):
        await asyncio.sleep(PACE.longest_seconds + 10)

    assert len(desk.wrote) == 1


class Broken:
    """Sees the object from the second look on."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._looks = 0

    def __call__(self) -> Kept | None:
        self._looks += 1
        if self._looks == 1:
            raise KeyError("it is broken")
        return self._desk.see()
