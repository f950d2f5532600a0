"""What backends say of themselves is shown as text, whatever it is."""

from __future__ import annotations

import re

import pytest

from tests.support.backends import serving
from tests.support.clients import sessioned
from tests.support.sessioned_backend import SessionedFake
from tests.support.shelf import echo
from tests.ui.chromium import Page
from tests.ui.conftest import shown

HOSTILE = {
    "script": "<script>window.pwned = 1</script>",
    "image": "\"'><img src=x onerror='window.pwned = 1'>",
    "svg": "<svg onload=window.pwned=1><style>*{display:none}</style>",
    "template": "${window.pwned = 1}{{window.pwned = 1}}",
    "escape": "\\u003cscript\\u003e</script><!--",
    "link": "<a href='javascript:window.pwned=1'>here</a><base href='http://elsewhere.test/'>",
    "controls": "a\u0000b\u001b[31mc\u0085d\ue000e",
    "turned": "invoice\u202efdp.exe\u2066\u200f",
    "right to left": "\u05e9\u05dc\u05d5\u05dd \u0645\u0631\u062d\u0628\u0627",
    "long": "x" * 10_000,
    "long words": "word " * 2_000,
    "combining": "Z\u0301\u0302\u0303" * 500,
    "pictures": "\U0001f469\u200d\U0001f4bb" * 150,
    "half": "half \ud83d",
}


def mentioned(text: str) -> str:
    """Return what of a text must be seen somewhere."""
    return re.split("[\u202e\u0000\ud83d]", text[:60], maxsplit=1)[0].strip()


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
async def test_a_hostile_backend_runs_nothing_and_breaks_nothing(page: Page, text: str) -> None:
    fake = SessionedFake(**{text: echo})
    fake.shelf.descriptions = {"echo": text, text: text}
    fake.shelf.prompts.append(text)
    fake.shelf.resources[text] = ""
    fake.shelf.templates.append(text)
    fake.info = {"name": text, "version": text, "title": text}
    fake.instructions = text
    async with serving(fake), shown(page, fake) as here, sessioned(here.url):
        await page.resize(390, 844)
        await page.run("document.querySelectorAll('details').forEach(each => each.open = true)")
        seen = await page.text("#rows")

        assert mentioned(text) in " ".join(seen.split(" "))
        assert await page.run("typeof window.pwned") == "undefined"
        assert (
            await page.run("document.querySelectorAll('main :is(script,img,svg,a,base)').length")
            == 0
        )
        assert await page.run("document.documentElement.scrollWidth") <= 390
        assert await page.run("getComputedStyle(document.body).display") == "block"
        names = await page.run(
            "[...document.querySelectorAll('code')].map(n => n.textContent).join()"
        )
        assert not {"\u202e", "\u2066", "\u200f", "\u0000", "\u001b"} & set(names)
        assert all(url.startswith(here.page_url) for url in page.asked)


async def test_addresses_and_secrets_are_nowhere_in_what_the_page_gets(page: Page) -> None:
    fake = SessionedFake()
    header = {"addPlaintextHeaders": {"X-Key": "3cr3t"}}
    async with serving(fake), shown(page, fake, each={"headerForward": header}):
        told = await page.run(
            "Promise.all(['status/live', 'status/catalog', 'status/catalog?show=problems']"
            ".map(path => fetch(path).then(got => got.text()))).then(all => all.join())"
        )

    assert '"name":"a"' in told
    assert not any(hidden in told for hidden in ("3cr3t", str(fake.port), "127.0.0.1", "http://"))
