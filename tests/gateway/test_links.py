from __future__ import annotations

import json

import pytest

from tests.gateway.builders import key
from vmcp.gateway.links import Links


def result(*uris: str) -> bytes:
    blocks = [{"type": "resource_link", "uri": uri, "name": "x"} for uri in uris]
    return json.dumps({"content": [{"type": "text", "text": "see"}, *blocks]}).encode()


def test_a_link_leads_its_holder_to_the_backend_that_gave_it() -> None:
    links = Links()

    links.learn("one", key("a"), result("x://1", "x://2"))

    assert links.giver("one", "x://1") == key("a")
    assert links.giver("one", "x://2") == key("a")
    assert links.giver("two", "x://1") is None
    assert links.giver("one", "x://3") is None


def test_the_backend_that_gave_a_link_last_has_it() -> None:
    links = Links()
    links.learn("one", key("a"), result("x://1"))

    links.learn("one", key("b"), result("x://1"))

    assert links.giver("one", "x://1") == key("b")


def test_the_oldest_links_are_forgotten_first() -> None:
    links = Links()
    links.learn("one", key("a"), result("old://1", "old://2"))
    for number in range(9_999):
        links.learn("one", key("a"), result(f"new://{number}"))

    assert links.giver("one", "old://1") is None
    assert links.giver("one", "old://2") == key("a")


@pytest.mark.parametrize(
    "raw",
    [
        b'{"content":[]}',
        b"null",
        b'"resource_link"',
        b'{"content":"resource_link"}',
        b'{"content":["resource_link"]}',
        b'{"content":[{"type":"resource_link","uri":7}]}',
        b'{"structuredContent":{"type":"resource_link","uri":"x://1"}}',
    ],
)
def test_results_without_links_and_broken_ones_teach_nothing(raw: bytes) -> None:
    links = Links()

    links.learn("one", key("a"), raw)

    assert links.giver("one", "x://1") is None
