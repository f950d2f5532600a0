"""Make docs/failures.md of the tables that the tests run: `python -m tests.failures.table > docs/failures.md`."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator

from tests.failures.cases import HTTP, SSE, STDIO, Case, Missing, Since
from tests.failures.leaving import BOTH, LEAVINGS, Leaving
from tests.failures.matrix import CASES
from tests.failures.scarcity import SCARCITIES, Scarcity

INTRODUCTION = """\
# When things fail

<!-- Written by `python -m tests.failures.table`; edits belong to the tables in tests/failures. -->

What the gateway does when a backend, a client or its machine misbehaves. Every line is a test
(tests/failures): it runs in front of a real `vmcp serve`, for clients of both eras, at every kind of backend
that the line names, while clients call other backends all the time. Those are answered rightly and in time in
every line. Every line ends with a backend that is healthy again without a restart of the gateway.

*Clients see* is what a call ends with; every failure of a backend has `data.backend` and `data.reason`
(docs/operations.md). *Within* is the longest time until then, *at once* where nothing is waited for. A
backend that was never listed has no tools yet; nothing waits for it, `initialize` and lists included.
*/status* shows `state` and `lastFailure` (stage, reason) of the backend: `degraded` at first, and `unhealthy`
once `operational.failureHandling.unhealthyThreshold` is passed; then its tools leave the lists.
"""
WAYS = {
    HTTP: "HTTP",
    STDIO: "stdio",
    SSE: "HTTP+SSE",
    HTTP[:1]: "HTTP, sessioned",
    HTTP[1:]: "HTTP, stateless",
}
TITLES = {
    "connect": "Connecting",
    "tls": "TLS",
    "start": "Starting a process",
    "initialize": "The first request",
    "list": "Lists",
    "listen": "The stream of changes",
    "call": "Calls",
}


def page() -> str:
    """Return the page."""
    return "\n".join([INTRODUCTION, *_backends(), *_clients(LEAVINGS), *_machine(SCARCITIES)])


def _backends() -> Iterator[str]:
    for phase, title in TITLES.items():
        yield f"## {title}\n"
        yield "| backend | what happens | clients see | within | /status | heals |"
        yield "|---|---|---|---|---|---|"
        yield from (_line(case) for case in CASES if case.phase == phase)
        yield ""


def _line(case: Case) -> str:
    since = " (From the start.)" if case.since is Since.START else ""
    within = case.told.within if isinstance(case.sees, Missing) else case.sees.within
    cells = (WAYS[case.backs], case.what + since, case.sees.words, within.words)
    return f"| {' | '.join((*cells, case.told.words, case.heals))} |"


def _clients(leavings: Iterable[Leaving]) -> Iterator[str]:
    yield "## Clients that vanish\n"
    yield "Nothing of them is kept but what the line says; other clients are served meanwhile.\n"
    yield "| era | when the client goes | its call at the backend |"
    yield "|---|---|---|"
    for each in leavings:
        era = "both" if each.eras == BOTH else each.eras[0]
        yield f"| {era} | {each.what} | {each.becomes} |"
    yield ""


def _machine(scarcities: Iterable[Scarcity]) -> Iterator[str]:
    yield "## The machine and the process\n"
    yield "| what happens | what the gateway does |"
    yield "|---|---|"
    for each in scarcities:
        yield f"| {each.what} | {each.does} |"
    yield ""


if __name__ == "__main__":
    sys.stdout.write(page())
