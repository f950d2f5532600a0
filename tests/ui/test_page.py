"""What people see on the page, and that it is live."""

from __future__ import annotations

import json
from pathlib import Path

from tests.support.backends import serving
from tests.support.clients import named, sessioned
from tests.support.gateways import config
from tests.support.servers import free_port, in_thread, run_gateway
from tests.support.sessioned_backend import SessionedFake
from tests.support.shelf import echo
from tests.support.stateless_backend import StatelessFake
from tests.ui.chromium import Page
from tests.ui.conftest import shown

ROWS = "[...document.querySelectorAll('#rows code')].map(node => node.textContent)"


def cells(row: int) -> str:
    """Return the script for the texts of a backend."""
    return f"[...document.querySelectorAll('#backends tr')[{row}].cells].map(c => c.innerText)"


async def finds(page: Page, words: str, *names: str) -> None:
    """Type into the search field and wait for what is found."""
    await page.run("document.getElementById('search').select()")
    await page.run("document.getElementById('search').focus()")
    await page.type(words)
    await page.holds(
        f"JSON.stringify({ROWS}) === {json.dumps(json.dumps(names, separators=(',', ':')))}"
    )


async def choose(page: Page, shelf: str) -> str:
    """Choose what is shown and return the list."""
    before = await page.text("#rows") if await page.run("rows.childElementCount") else ""
    await page.run(f"document.querySelector('input[value={shelf}]').click()")
    await page.holds(f"document.getElementById('rows').innerText !== {before!r}")
    return await page.text("#rows")


async def test_each_backend_shows_its_era_its_state_and_what_it_offers(page: Page) -> None:
    a, b = SessionedFake(), StatelessFake(add=echo)
    b.shelf.prompts.append("greet")
    async with serving(a, b), shown(page, a, b):
        first, second = await page.run(cells(0)), await page.run(cells(1))

        assert first[0].splitlines() == ["a", "streamable-http · fake 1"]
        assert first[1].startswith("● healthy\nsince ")
        assert first[2].splitlines() == ["sessioned", "2025-11-25"]
        assert first[3] == "1 tool"
        assert second[2].splitlines() == ["stateless", "2026-07-28"]
        assert second[3] == "2 tools, 1 prompt"


async def test_calls_and_sessions_appear_by_themselves(page: Page) -> None:
    a = SessionedFake()
    async with serving(a), shown(page, a) as here, sessioned(here.url) as caller:
        for _ in range(20):
            await caller.ask("tools/call", named("echo"))

        await page.holds(f"{cells(0)}[3 + 1].includes('20 in all')")
        await page.holds("document.getElementById('numbers').innerText.includes('Sessions\\n1')")

        assert "ms / " in (await page.run(cells(0)))[6]


async def test_a_backend_that_is_lost_shows_why_and_recovers(page: Page) -> None:
    a = SessionedFake()
    async with serving(a), shown(page, a):
        await a.stop()
        await page.holds(f"{cells(0)}[1].includes('▲ degraded')")
        assert "Unreachable: Backend 'a'" in (await page.run(cells(0)))[1]

        await a.start(a.port)
        await page.holds(f"{cells(0)}[1].includes('● healthy')")


async def test_a_config_that_is_broken_is_told_until_it_is_mended(
    page: Page, tmp_path: Path
) -> None:
    secret = tmp_path / "token"
    secret.write_text("canary")
    strategy = {"type": "bearer_token", "bearerToken": {"tokenFile": str(secret)}}
    a = SessionedFake()
    async with serving(a), shown(page, a, outgoingAuth={"default": strategy}):
        assert await page.text("#broken") == ""

        secret.unlink()
        await page.holds("broken.innerText.includes('The config is broken')")
        assert "outgoingAuth.default.bearerToken" in await page.text("#broken")

        secret.write_text("canary")
        await page.holds("broken.innerText === ''")


async def test_a_tool_that_is_added_appears_by_itself(page: Page) -> None:
    a = SessionedFake()
    async with serving(a), shown(page, a):
        a.shelf.tools["added"] = echo
        a.tell("notifications/tools/list_changed")

        await page.holds(f"{ROWS}.includes('added')")


async def test_the_catalog_is_searched_in_all_that_is_shown(page: Page) -> None:
    a, b = SessionedFake(), StatelessFake(weather=echo)
    b.shelf.descriptions["weather"] = "Tells of Sun and rain."
    b.shelf.prompts.append("greet")
    async with serving(a, b), shown(page, a, b):
        assert await page.run(ROWS) == ["a_echo", "b_echo", "weather", "greet"]
        await finds(page, "SUN weather", "weather")
        await finds(page, "a_ec", "a_echo")
        assert await page.text("#matching") == "1 of 4 match"
        await finds(page, "nothing")
        await finds(page, "echo", "a_echo", "b_echo")
        assert "own name echo" in await page.text("#rows")

        await page.run("document.getElementById('search').value = ''")
        await page.run("document.getElementById('kind').value = 'prompt'")
        await page.run("filter.dispatchEvent(new Event('input'))")
        await page.holds(f"{ROWS}.join() === 'greet'")


async def test_what_is_hidden_or_dropped_is_shown_with_why(page: Page) -> None:
    a, b = SessionedFake(secret=echo), StatelessFake()
    rules = {
        "conflictResolution": "manual",
        "tools": [{"workload": "a", "filter": ["echo", "typo"]}],
    }
    async with serving(a, b), shown(page, a, b, aggregation=rules):
        left_out = await choose(page, "left-out")
        problems = await choose(page, "problems")

    assert "The filter of this backend does not name it." in left_out
    assert "Tool 'echo' of backend 'b' is not listed: backend 'a' offers 'echo' too" in left_out
    assert "NameUnresolved" in problems
    assert "The filter's 'typo' matches no tool" in problems


async def test_a_gateway_that_is_gone_is_told_and_found_again(page: Page) -> None:
    a = SessionedFake()
    server = {"port": free_port(), "opsPort": free_port()}
    async with serving(a):
        async with shown(page, a, server=server):
            pass
        await page.holds("link.textContent.startsWith('No answer since')")
        assert await page.run(ROWS) == ["echo"]

        async with in_thread(run_gateway(json.dumps(config(a, server=server)))):
            await page.holds("link.textContent === 'Live'")
    # The browser itself tells of connections that failed.
    page.troubles = [each for each in page.troubles if "ERR_CONNECTION" not in each]
