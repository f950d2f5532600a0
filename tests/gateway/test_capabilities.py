from __future__ import annotations

import json
from typing import Any

import pytest

from tests.gateway.builders import backend, inventory, key
from vmcp.catalog.build import build
from vmcp.gateway.capabilities import SERVER_INFO, capabilities, takes_subscriptions
from vmcp.model.document import Document
from vmcp.model.inventory import Era, Peer
from vmcp.model.snapshot import Snapshot

LISTS = {
    "tools": {"listChanged": True},
    "prompts": {"listChanged": True},
    "resources": {"listChanged": True},
}


def offered(*declared: dict[str, Any]) -> Any:
    names = [chr(ord("a") + at) for at in range(len(declared))]
    known = {
        key(name): inventory(name, capabilities=each)
        for name, each in zip(names, declared, strict=True)
    }
    return json.loads(capabilities(build(Snapshot(tuple(map(backend, names))), known)))


@pytest.mark.parametrize(
    ("declared", "expected"),
    [
        ((), LISTS),
        (({"tools": {}},), LISTS),
        (({"logging": {}},), LISTS | {"logging": {}}),
        (({"logging": {}}, {"completions": {}}), LISTS | {"logging": {}, "completions": {}}),
        (
            ({"tools": {}}, {"resources": {"subscribe": True}}),
            LISTS | {"resources": {"subscribe": True, "listChanged": True}},
        ),
        (({"resources": {"subscribe": False}},), LISTS),
    ],
    ids=["nobody", "tools", "logging", "each its own", "subscribe", "no subscribe"],
)
def test_what_we_offer_is_ours_and_what_a_backend_can(
    declared: tuple[dict[str, Any], ...], expected: dict[str, Any]
) -> None:
    assert offered(*declared) == expected


@pytest.mark.parametrize(
    ("raw", "takes"),
    [
        (b'{"subscribe" : true}', True),
        (b'{"listChanged":false,\n"subscribe":\ttrue}', True),
        (b'{"subscribe":false}', False),
        (b'{"vendor":{"subscribe":true}}', False),
        (b"true", False),
        (b"null", False),
    ],
)
def test_subscriptions_are_offered_however_the_backend_writes_it(raw: bytes, takes: bool) -> None:  # noqa: FBT001
    told = Peer(Era.SESSIONED, "2025-11-25", Document(((b'"resources"', raw),)), b"{}")

    assert takes_subscriptions(told) is takes


def test_we_tell_our_name_and_version() -> None:
    assert set(json.loads(SERVER_INFO)) == {"name", "title", "version"}
