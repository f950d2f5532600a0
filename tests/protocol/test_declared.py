"""What a client declared itself able to answer."""

from __future__ import annotations

import pytest

from vmcp.protocol.declared import may_be_asked, opens_pages

ELICIT, SAMPLE, ROOTS = "elicitation/create", "sampling/createMessage", "roots/list"
PAGE, FORM = b'{"mode":"url"}', b'{"message":"Who?"}'


@pytest.mark.parametrize(
    ("capabilities", "method", "params", "may"),
    [
        (b"{}", ELICIT, FORM, False),
        (b'{"elicitation":{}}', ELICIT, FORM, True),
        (b'{"elicitation":{}}', ELICIT, PAGE, False),
        (b'{"elicitation":{"form":{}}}', ELICIT, FORM, True),
        (b'{"elicitation":{"url":{}}}', ELICIT, PAGE, True),
        (b'{"elicitation":{"url":{}}}', ELICIT, FORM, False),
        (b'{"elicitation":null}', ELICIT, FORM, False),
        (b'{"sampling":{}}', SAMPLE, b"{}", True),
        (b'{"sampling":{}}', ROOTS, None, False),
        (b'{"roots":{"listChanged":true}}', ROOTS, None, True),
        (b'{"roots":{}}', "other/method", None, False),
        (b"[]", ROOTS, None, False),
        (b'{"roots":{}}', ROOTS, b"[]", True),
    ],
)
def test_a_client_may_be_asked_what_it_declared(
    capabilities: bytes, method: str, params: bytes | None, *, may: bool
) -> None:
    assert may_be_asked(capabilities, method, params) is may


def test_only_who_declares_urls_opens_pages() -> None:
    assert opens_pages(b'{"elicitation":{"url":{}}}')
    assert not opens_pages(b'{"elicitation":{"form":{}}}')
    assert not opens_pages(b"{}")
