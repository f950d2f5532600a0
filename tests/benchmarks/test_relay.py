"""The bare relay is small and returns what the backend said."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from benchmarks import relay
from benchmarks.client import Client, WrongAnswer
from benchmarks.echo import Options, Site
from benchmarks.eras import ERAS, SESSIONED
from benchmarks.load import measure
from benchmarks.processes import accepts, free_port, python, running
from tests.benchmarks.serving import serving
from tests.benchmarks.test_load import PLAN

MOST_LINES = 60


def test_the_relay_stays_within_its_lines() -> None:
    assert len(Path(relay.__file__).read_text().splitlines()) <= MOST_LINES


@pytest.mark.parametrize("era", ERAS)
async def test_calls_pass_through_the_relay(era: str) -> None:
    port = free_port()
    site = Site(Options(tools=2, page_size=0, eras=ERAS, has_sessions=True))
    async with serving(site.respond) as backend:
        command = python("benchmarks.relay", port, f"{backend}/mcp")
        async with running(command, is_ready=partial(accepts, port)):
            url = f"http://127.0.0.1:{port}/mcp"
            found = await measure(replace(PLAN, url=url, era=era, stats=f"{backend}/stats"))

            client = await Client.connect(url, SESSIONED)
            with pytest.raises(WrongAnswer, match="HTTP 400, JSON-RPC error -32600"):
                await client.ask("tools/list", {})
            client.connection.close()

    assert found["errors"] == 0
    assert found["requests_per_call"] == 1.0
