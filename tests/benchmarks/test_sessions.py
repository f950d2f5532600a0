"""Many clients are measured with nothing lost: a small share of each number, against a real gateway."""

from __future__ import annotations

from benchmarks.grid import Settings
from benchmarks.sessions import many_sessions

# So that a run with its processes stays short.
SHARE = 0.01


async def test_sessions_streams_and_parked_calls_are_measured_and_judged() -> None:
    said: list[str] = []
    settings = Settings(rounds=1, seconds=0.1, warm_seconds=0.1, cases=(), share=SHARE)

    rows, verdicts = await many_sessions(settings, said.append)

    assert said == [
        "100 idle sessions",
        "10 sessions with a stream",
        "500 sessions that come and go",
        "10 parked calls",
    ]
    assert [row.case for row in rows] == [
        "gateway-sessions-idle",
        "gateway-sessions-streams",
        "gateway-sessions-cycles",
        "gateway-parked",
        "gateway-resumed",
    ]
    assert all(row.calls_per_second and row.p50_ms for row in rows)
    answered = next(each for each in verdicts if each.claim.startswith("answers to 10 calls"))
    assert answered.meets_target
