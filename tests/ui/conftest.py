"""The gateway with its page in a browser: a real process, real fakes, a real Chromium."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import pytest

from tests.support.backends import Fake
from tests.support.gateways import config
from tests.support.servers import in_thread, run_gateway
from tests.ui.chromium import Page, browser, found, opened

_MISSING = "There is no Chromium here, so the page was NOT tested: `make test-ui` installs it."


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say so where the suite did not run."""
    if found() is None:
        terminalreporter.write_line(_MISSING, red=True)


@pytest.fixture(scope="session")
def chromium() -> Iterator[str]:
    """The URL of a browser for all tests."""
    if found() is None:
        # Where the suite was asked for by its name, nothing less than a run will do.
        absent = pytest.fail if "VMCP_UI" in os.environ else pytest.skip  # noqa: TID251
        absent(_MISSING)
    with browser() as url:
        yield url


@pytest.fixture
async def page(chromium: str) -> AsyncIterator[Page]:
    """A blank page in a window of the usual size; it must meet no error."""
    async with opened(chromium) as made:
        await made.resize(1280, 800)
        yield made
        assert made.troubles == []


@dataclass(frozen=True, slots=True)
class Shown:
    """A gateway and where its page is."""

    url: str
    page_url: str


@asynccontextmanager
async def shown(page: Page, *fakes: Fake, **settings: Any) -> AsyncIterator[Shown]:
    """Serve fakes through a gateway for the block, with its page open and live."""
    async with in_thread(run_gateway(json.dumps(config(*fakes, **settings)))) as gateway:
        await page.go(f"{gateway.ops_url}/")
        await page.holds("document.getElementById('link').textContent === 'Live'")
        await page.holds("document.getElementById('matching').textContent")
        yield Shown(gateway.url, gateway.ops_url)
