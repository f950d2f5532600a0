"""A client of a gateway in a process of its own, which tells when it hears that the list of tools has changed.

Prints a JSON object a line: `at`, by a clock that all processes share, and `tools`, how many there are then.
"""

from __future__ import annotations

import argparse
import json
import sys
from contextlib import AbstractAsyncContextManager
from time import monotonic
from typing import Any

import uvloop

from benchmarks.eras import ERAS, SESSIONED
from tests.support.clients import sessioned, stateless
from tests.support.onlookers import TOOLS, Onlooker, onlooker


async def hear(url: str, era: str) -> None:
    """Tell of the tools at the start, and then of each change, until the process is told to end."""
    opened: AbstractAsyncContextManager[Any]
    opened = sessioned(url) if era == SESSIONED else stateless(url)
    async with opened as caller:
        seen = await onlooker(caller)
        while True:
            at = monotonic()
            _tell(at, len(await caller.tools()))
            await _next(seen)


async def _next(seen: Onlooker) -> None:
    while True:
        try:
            await seen.stream.heard(TOOLS)
        except TimeoutError:
            # Nobody changes anything now.
            continue
        return


def _tell(at: float, tools: int) -> None:
    sys.stdout.write(json.dumps({"at": at, "tools": tools}) + "\n")
    sys.stdout.flush()


def main() -> None:
    """Hear and print."""
    parser = argparse.ArgumentParser(prog="benchmarks.hearing", description=__doc__)
    parser.add_argument("--url", required=True, help="the MCP endpoint")
    parser.add_argument("--era", choices=ERAS, required=True)
    arguments = parser.parse_args()
    uvloop.run(hear(arguments.url, arguments.era))


if __name__ == "__main__":
    main()
