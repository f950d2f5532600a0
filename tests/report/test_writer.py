"""A status is written where it differs, not too often, and failures are told once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from tests.report.desk import Desk
from tests.report.pictures import GATEWAY, backend, failing, health, picture, well
from tests.support.virtual_time import HandClock
from vmcp.kube.access import Request
from vmcp.kube.errors import Unreachable
from vmcp.latest import Latest
from vmcp.model.health import State
from vmcp.report.declared import place
from vmcp.report.entries import Picture
from vmcp.report.pace import PACE
from vmcp.report.subject import GATEWAYS, subject
from vmcp.report.told import Told
from vmcp.report.writer import Writer

Object = dict[str, Any]
ENTRY_FIELDS = (
    "name",
    "status",
    "url",
    "message",
    "authType",
    "lastHealthCheck",
    "consecutiveFailures",
)
WELL = well("wiki")
LOST = picture(backend("wiki"), health={"wiki": failing()})


class Bed:
    """A writer with a clock that is turned by hand."""

    def __init__(self) -> None:
        self.clock = HandClock()
        self.desk = Desk(self.clock)
        self.told = Latest(Told())
        self.begin()

    def begin(self) -> None:
        """Have another process take over."""
        server = self.desk.server()
        self.writer = Writer(server, GATEWAY, self.told, clock=self.clock, pace=PACE)

    async def write(self, shown: Picture = WELL, after: float = 0.0) -> float | None:
        self.clock.move(after)
        return await self.writer.write(subject(self.desk.see()), shown)


@pytest.fixture
async def bed() -> Bed:
    made = Bed()
    await made.desk.open()
    return made


async def test_the_first_status_is_written_at_once_and_an_equal_one_is_not(bed: Bed) -> None:
    assert await bed.write() == PACE.gap_seconds
    assert await bed.write(after=10) is None

    (wrote,) = bed.desk.wrote
    assert wrote.path.endswith("/v1beta1/namespaces/apps/virtualmcpservers/team/status")
    assert wrote.status["backendCount"] == 1
    assert bed.told.value.written_at is not None


async def test_a_change_waits_for_the_pause_after_a_write(bed: Bed) -> None:
    await bed.write()

    assert await bed.write(LOST, after=0.5) == pytest.approx(1.5)
    assert len(bed.desk.wrote) == 1
    assert await bed.write(LOST, after=1.5) == PACE.gap_seconds
    assert bed.desk.wrote[1].entries["wiki"]["status"] == "unavailable"


async def test_a_large_status_is_written_more_rarely(bed: Bed) -> None:
    pause = await bed.write(well(*(f"backend-{number:03}" for number in range(500))))

    assert pause is not None
    assert 4 < pause < 10


async def test_checks_alone_are_written_with_the_heartbeat(bed: Bed) -> None:
    await bed.write()
    for seconds in range(30, 300, 30):
        seen = picture(backend("wiki"), health={"wiki": health(seconds=seconds)})
        assert await bed.write(seen, after=30) is None

    await bed.write(seen, after=30)

    assert [each.at for each in bed.desk.wrote] == [0, 300]
    assert bed.desk.wrote[1].entries["wiki"]["lastHealthCheck"] == "2026-11-01T00:04:30Z"


async def test_checks_go_with_the_next_write(bed: Bed) -> None:
    await bed.write(LOST)
    worse = picture(backend("wiki"), health={"wiki": replace(failing(), consecutive_failures=9)})
    assert await bed.write(worse, after=60) is None

    await bed.write(replace(worse, snapshot=well("wiki", "more").snapshot), after=1)

    assert bed.desk.wrote[1].entries["wiki"]["consecutiveFailures"] == 9


async def test_a_time_moves_when_its_condition_does(bed: Bed) -> None:
    await bed.write()
    await bed.write(LOST, after=60)
    await bed.write(picture(backend("wiki"), health={"wiki": failing(State.DEGRADED)}), after=60)

    first, second, third = (each.times for each in bed.desk.wrote)
    assert first["Degraded"] == "2026-11-01T00:00:00Z"
    assert second["Degraded"] == third["Degraded"] == "2026-11-01T00:01:00Z"
    assert third["AuthConfigured"] == "2026-11-01T00:00:00Z"


async def test_times_outlive_a_restart(bed: Bed) -> None:
    await bed.write(LOST)
    bed.begin()
    await bed.write(LOST, after=600)

    first, second = bed.desk.wrote
    assert second.at == 600
    assert second.times == first.times


async def test_another_generation_is_told(bed: Bed) -> None:
    await bed.write()
    await bed.desk.make(generation=2)
    await bed.write(after=5)

    observed = {each["observedGeneration"] for each in bed.desk.wrote[1].status["conditions"]}
    assert observed == {2}


async def test_nothing_is_written_where_there_is_no_object_and_all_of_it_when_it_comes(
    bed: Bed,
) -> None:
    await bed.write()
    await bed.desk.remove()
    assert await bed.write(LOST, after=5) is None
    await bed.desk.make()
    await bed.write(after=5)

    assert [each.at for each in bed.desk.wrote] == [0, 10]


async def test_an_object_that_is_made_again_unseen_is_written_at_once(bed: Bed) -> None:
    await bed.write()
    await bed.desk.remove()
    await bed.desk.make()
    await bed.write(after=5)

    assert [each.at for each in bed.desk.wrote] == [0, 5]
    assert bed.desk.wrote[1].times["Degraded"] == "2026-11-01T00:00:05Z"


async def test_an_object_of_the_older_version_alone_is_written_by_that(bed: Bed) -> None:
    assert bed.desk.found is not None
    bed.desk.found["apiVersion"] = "toolhive.stacklok.dev/v1alpha1"
    await bed.write()

    assert "/v1alpha1/" in bed.desk.wrote[0].path


async def test_fields_that_a_server_drops_are_not_written_again(bed: Bed) -> None:
    await bed.write()
    pruned = {**bed.desk.wrote[0].status, "discoveredBackends": []}
    assert bed.desk.found is not None
    bed.desk.found["status"] = pruned
    await bed.desk.make()

    assert await bed.write(after=60) is None
    assert len(bed.desk.wrote) == 1


def knowing(*fields: str) -> Object:
    """Return what a server says of a kind whose entries have these fields."""
    entry = {"type": "object", "properties": {name: {"type": "string"} for name in fields}}
    status = {
        "backendCount": {"type": "integer"},
        "conditions": {"type": "array"},
        "discoveredBackends": {"type": "array", "items": entry},
    }
    kind = {"group": GATEWAYS.group, "version": "v1beta1", "kind": GATEWAYS.kind}
    schema = {
        "properties": {"status": {"properties": status}},
        "x-kubernetes-group-version-kind": [kind],
    }
    return {"components": {"schemas": {"other": {}, "gateway": schema}}}


def refuse_unknown(bed: Bed, *fields: str) -> None:
    """Have the server behave as one with an older definition."""
    bed.desk.api.described[place(GATEWAYS, "v1beta1")] = knowing(*fields)

    def refuse(request: Request) -> None:
        entries = [] if request.body is None else request.body["status"]["discoveredBackends"]
        is_unknown = any(key not in fields for each in entries for key in each)
        bed.desk.api.failing = 500 if is_unknown else 0

    bed.desk.befall = refuse


async def test_fields_that_an_older_definition_does_not_have_are_left_out(
    bed: Bed, caplog: pytest.LogCaptureFixture
) -> None:
    refuse_unknown(bed, "name", "status", "url")
    await bed.write()
    await bed.write(LOST, after=60)

    assert bed.desk.wrote[-1].entries == {
        "wiki": {
            "name": "wiki",
            "status": "unavailable",
            "url": "https://wiki.example.com/mcp",
        }
    }
    (record,) = caplog.records
    assert record.message == "the API server does not know all fields of the status"
    assert record.fields == ["authType", "consecutiveFailures", "lastHealthCheck", "message"]  # type: ignore[attr-defined]
    assert bed.told.value.error == ""
    # Once it is known the whole is not tried again.
    assert len(bed.desk.wrote) == 3


@pytest.mark.parametrize("fields", [(), ENTRY_FIELDS], ids=["it does not tell", "it knows all"])
async def test_a_server_that_refuses_for_another_reason_is_no_older_one(
    bed: Bed, fields: tuple[str, ...]
) -> None:
    if fields:
        bed.desk.api.described[place(GATEWAYS, "v1beta1")] = knowing(*fields)
    await bed.write()
    not_valid(bed)
    await bed.write(LOST, after=60)

    assert bed.told.value.error.startswith("The API server answers 422")
    assert len(bed.desk.wrote) == 2


def denied(bed: Bed) -> None:
    bed.desk.api.denied = {"virtualmcpservers"}


def not_installed(bed: Bed) -> None:
    bed.desk.api.served.clear()


def stale(bed: Bed) -> None:
    bed.desk.api.failing = 409


def not_valid(bed: Bed) -> None:
    bed.desk.api.failing = 422


def unreachable(bed: Bed) -> None:
    def fail(_: Request) -> None:
        raise Unreachable("nobody is there", is_untrusted=False)

    bed.desk.befall = fail


@pytest.mark.parametrize("spoil", [denied, not_installed, stale, not_valid, unreachable])
async def test_a_failure_is_told_once_and_tried_again_ever_more_rarely(
    bed: Bed, spoil: Callable[[Bed], None], caplog: pytest.LogCaptureFixture
) -> None:
    await bed.write()
    written_at = bed.told.value.written_at
    spoil(bed)

    pauses = [await bed.write(LOST, after=70) for _ in range(8)]

    assert all(pause is not None and 0.5 <= pause <= PACE.longest_seconds for pause in pauses)
    assert pauses[7] is not None
    assert pauses[7] >= PACE.longest_seconds / 2
    assert bed.told.value.error.startswith("The API server")
    assert bed.told.value.written_at == written_at
    assert [each.message for each in caplog.records] == ["the status cannot be written"]

    bed.desk.mend()
    with caplog.at_level("INFO"):
        await bed.write(LOST, after=70)

    assert bed.told.value.error == ""
    assert caplog.messages[-1] == "the status can be written again"
    assert bed.desk.wrote[-1].entries["wiki"]["status"] == "unavailable"


async def test_while_a_failure_lasts_nothing_is_asked_before_its_time(bed: Bed) -> None:
    denied(bed)
    await bed.write()
    asked = len(bed.desk.api.asked)
    left = await bed.write(after=0.1)

    assert left is not None
    assert left <= 0.9
    assert len(bed.desk.api.asked) == asked
