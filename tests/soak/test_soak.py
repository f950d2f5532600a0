"""A soak of a few seconds: it runs, and what it claims of answers holds; the rest takes longer to tell."""

from __future__ import annotations

from tests.soak.gauges import Lateness, Sample
from tests.soak.run import Found, Soak, claims, shown

SECONDS = 6.0
MEGABYTE = 2**20


async def test_no_answer_is_wrong_or_lost() -> None:
    found = await Soak(SECONDS).run(lambda: None)

    assert found.tally.faults == []
    assert {"echo", "steps", "asks", "list", "read", "subscribe"} <= set(found.tally.done)
    assert found.reloads
    assert found.samples
    assert found.lateness.answered > 0


def calm() -> Found:
    """Return what a run found in which nothing happened but one call."""
    found = Found(samples=[Sample(float(at), 100 * MEGABYTE, 30) for at in range(8)])
    found.tally.done["echo"] = 1
    return found


def failing(found: Found) -> list[str]:
    return [claim.what for claim in claims(found) if not claim.holds]


def test_a_calm_run_holds() -> None:
    assert failing(calm()) == []


def test_memory_that_grows_is_told() -> None:
    found = calm()
    found.samples += [Sample(9.0, 200 * MEGABYTE, 30)] * 4

    assert failing(found) == ["memory, last quarter against first"]
    assert "FAIL memory, last quarter against first" in shown(found, 8)


def test_files_that_stay_open_are_told() -> None:
    found = calm()
    found.files_before, found.files_after = 34, 43

    assert failing(found) == ["open files when all have left"]


def test_files_that_are_open_under_load_are_no_fault() -> None:
    found = calm()
    found.samples += [Sample(9.0, 100 * MEGABYTE, 90)] * 4

    assert failing(found) == []


def test_one_wrong_answer_is_told_with_what_it_was() -> None:
    found = calm()
    found.tally.fault("echo at a: 1 is not 2")

    assert failing(found) == ["wrong or lost answers"]
    assert "echo at a: 1 is not 2" in shown(found, 8)


def test_a_late_event_loop_is_told() -> None:
    found = calm()
    found.lateness = Lateness(idle=0.010, answered=0.061)

    assert failing(found) == ["event loop p99 above an idle loop"]


def test_tasks_that_stay_are_told() -> None:
    found = calm()
    found.before, found.after = {"vmcp_event_loop_tasks": 20}, {"vmcp_event_loop_tasks": 40}

    assert failing(found) == ["vmcp_event_loop_tasks when all have left"]
