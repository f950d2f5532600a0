from __future__ import annotations

import json
from typing import Any

import pytest

from tests.gateway.builders import document, peer
from vmcp.gateway.capabilities import SERVER_INFO, capabilities, takes_subscriptions
from vmcp.model.document import Document
from vmcp.model.inventory import Era, Peer

LISTS = {
    "tools": {"listChanged": True},
    "prompts": {"listChanged": True},
    "resources": {"listChanged": True},
}


TASKS = "io.modelcontextprotocol/tasks"


def offered(*declared: dict[str, Any]) -> Any:
    peers = tuple(peer(capabilities=each) for each in declared)
    return json.loads(capabilities(peers, Era.SESSIONED))


def offered_to(era: Era, **declared: dict[str, Any]) -> Any:
    """Return what is offered where a backend of each era declares something."""
    peers = tuple(Peer(each, "", document(declared[each.value]), b"{}") for each in Era)
    return {
        member: value
        for member, value in json.loads(capabilities(peers, era)).items()
        if member not in LISTS
    }


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


@pytest.mark.parametrize(
    ("era", "expected"),
    [
        (Era.SESSIONED, {"tasks": {"cancel": {}}, "experimental": {"x": {}}}),
        (Era.STATELESS, {"extensions": {TASKS: {}, "org/ui": {"a": 1}}}),
    ],
    ids=["sessioned", "stateless"],
)
def test_tasks_and_extensions_are_offered_in_the_era_that_has_them(
    era: Era, expected: dict[str, Any]
) -> None:
    found = offered_to(
        era,
        sessioned={
            "tasks": {"cancel": {}},
            "experimental": {"x": {}},
            "extensions": {TASKS: {}},
        },
        stateless={"extensions": {TASKS: {}, "org/ui": {"a": 1}}, "tasks": {"list": {}}},
    )

    assert found == expected


def test_an_extension_has_the_settings_of_the_first_backend() -> None:
    found = offered({"extensions": {"org/a": {"x": 1}}}, {"extensions": {"org/a": {"y": 2}}})

    assert found == LISTS | {"extensions": {"org/a": {"x": 1}}}


def test_tasks_are_offered_as_far_as_any_backend_goes() -> None:
    found = offered(
        {"tasks": {"requests": {"tools": {"call": {}}}}},
        {"tasks": {"list": {}, "requests": {"tools": {"call": {}, "other": {}}}}},
        {"tasks": True, "extensions": []},
    )

    calls = {"call": {}, "other": {}}
    assert found["tasks"] == {"requests": {"tools": calls}, "list": {}}
    assert "extensions" not in found


def test_we_tell_our_name_and_version() -> None:
    assert set(json.loads(SERVER_INFO)) == {"name", "title", "version"}
