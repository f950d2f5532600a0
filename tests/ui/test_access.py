"""The page is used by keyboard and screen reader, on a small window and in the dark."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.backends import serving
from tests.support.clients import named, sessioned
from tests.support.node import ROOT
from tests.support.sessioned_backend import SessionedFake
from tests.support.shelf import echo
from tests.support.stateless_backend import StatelessFake
from tests.ui.chromium import Page
from tests.ui.conftest import shown

PICTURES = ROOT / ".cache" / "ui"
SIZES = {"wide": (1280, 800), "narrow": (390, 844)}

# The least contrast of any text with what is behind it, as WCAG 2 counts it.
CONTRAST = """
(() => {
  const rgb = (color) => color.match(/[\\d.]+/g).map(Number);
  const light = (color) => {
    const [r, g, b] = rgb(color).map((v) => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (node) => {
    for (; node; node = node.parentElement) {
      const color = getComputedStyle(node).backgroundColor;
      if (rgb(color)[3] !== 0) return color;
    }
    return "rgb(255, 255, 255)";
  };
  const words = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  let least = 21;
  while (words.nextNode()) {
    const node = words.currentNode.parentElement;
    if (!words.currentNode.data.trim() || !node.checkVisibility() || node.closest("noscript")) continue;
    const [a, b] = [light(getComputedStyle(node).color), light(behind(node))].sort((x, y) => y - x);
    least = Math.min(least, (a + 0.05) / (b + 0.05));
  }
  return least;
})()
"""
FOCUS = (
    "(document.activeElement.id || document.activeElement.value || document.activeElement.tagName)"
)


def fakes() -> tuple[SessionedFake, StatelessFake, SessionedFake]:
    """Return backends with something of everything."""
    many, new, broken = SessionedFake(), StatelessFake(forecast=echo), SessionedFake()
    many.shelf.tools.update({f"tool_{number:03}": echo for number in range(130)})
    many.shelf.descriptions["echo"] = "Says what it was given. " * 20
    new.shelf.descriptions["forecast"] = "Tells the weather of the next seven days for a place."
    new.shelf.prompts.append("packing-list")
    new.shelf.resources["weather://today"] = "sun"
    new.shelf.templates.append("weather://{place}/{day}")
    return many, new, broken


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", SIZES)
async def test_it_fits_the_window_and_can_be_read(page: Page, size: str, scheme: str) -> None:
    a, b, c = fakes()
    async with serving(a, b, c), shown(page, a, b, c) as here, sessioned(here.url) as caller:
        for _ in range(30):
            await caller.ask("tools/call", named("a_echo"))
        await c.stop()
        await page.holds("backends.innerText.includes('30 in all')")
        await page.holds("backends.innerText.includes('▲ degraded')")

        await page.resize(*SIZES[size], scheme)

        assert await page.run("document.documentElement.scrollWidth") <= SIZES[size][0]
        assert await page.run(CONTRAST) >= 4.5
        image = await page.picture(PICTURES / f"{size}-{scheme}.png")
        assert len(image) > 10_000
        await page.run("catalog.scrollIntoView()")
        await page.picture(PICTURES / f"{size}-{scheme}-catalog.png")


async def test_it_is_used_by_keyboard_alone(page: Page) -> None:
    a, b, c = fakes()
    async with serving(a, b, c), shown(page, a, b, c):
        visited = []
        for _ in range(6):
            await page.press("Tab", 9)
            visited.append(await page.run(FOCUS))
            assert await page.run("document.activeElement.matches(':focus-visible')")
        assert visited == ["A", "listed", "search", "kind", "SUMMARY", "more"]

        await page.press("Enter", 13)
        await page.holds("rows.childElementCount > 100")
        assert await page.run("document.activeElement === rows.children[100]")

        await page.run("document.querySelector('[value=listed]').focus()")
        await page.press("ArrowRight", 39)
        await page.holds("filter.show.value === 'left-out' && !rows.childElementCount")

        await page.run("document.querySelector('[value=listed]').click()")
        await page.run("search.focus()")
        await page.type("forecast")
        await page.press("Enter", 13)
        await page.holds("matching.textContent.startsWith('1 of')")
        assert await page.run("location.search") == ""


async def test_everything_has_a_name_and_a_role(page: Page) -> None:
    a, b, c = fakes()
    async with serving(a, b, c), shown(page, a, b, c):
        for size in SIZES.values():
            await page.resize(*size)
            nodes = (await page.do("Accessibility.getFullAXTree"))["nodes"]
            named = [(_value(node, "role"), _value(node, "name")) for node in nodes]

            assert ("searchbox", "Search") in named
            assert ("radio", "What clients see 137") in named
            assert ("combobox", "Kind") in named
            assert ("table", "Backends") in named
            assert ("rowheader", "a streamable-http · fake 1") in named
            assert [role for role, _ in named].count("row") >= 3
            focusable = [node for node in nodes if _is_focusable(node)]
            assert all(_value(node, "name") for node in focusable), focusable


def _value(node: dict[str, Any], member: str) -> str:
    return str(node.get(member, {}).get("value", ""))


def _is_focusable(node: dict[str, Any]) -> bool:
    controls = ("button", "searchbox", "radio", "combobox", "link", "DisclosureTriangle")
    return _value(node, "role") in controls


async def test_the_focus_and_a_selection_survive_what_is_new(page: Page) -> None:
    a, b, c = fakes()
    async with serving(a, b, c), shown(page, a, b, c) as here:
        await page.run("search.focus()")
        await page.run("getSelection().selectAllChildren(backends.rows[0].cells[0])")
        before = await page.run("getSelection().toString()")
        async with sessioned(here.url):
            await page.holds("numbers.innerText.includes('Sessions\\n1')")

        assert before
        assert await page.run("getSelection().toString()") == before
