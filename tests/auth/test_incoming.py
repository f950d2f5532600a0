"""Headers lead to a caller, or to a refusal that says nothing."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from vmcp.auth.incoming import Anonymous, Unauthenticated, authenticate, by_api_key, lost
from vmcp.model.apikey import ApiKey, digest
from vmcp.model.identity import ANONYMOUS, Caller

KEY, OTHER = "a" * 40, "o" * 40
ADA, BOB = Caller("api_key", "ada"), Caller("api_key", "bob")
KEYS = (ApiKey("ada", digest(KEY)), ApiKey("bob", digest(OTHER)))
AUTH = by_api_key(KEYS)


@pytest.mark.parametrize(
    "headers",
    [
        {"authorization": f"Bearer {KEY}"},
        {"authorization": f"bearer  {KEY} "},
        {"x-api-key": KEY},
        {"authorization": "Basic of-a-proxy", "x-api-key": KEY},
        {"authorization": f"Bearer {KEY}", "x-api-key": "whatever"},
    ],
)
def test_a_key_comes_in_either_header(headers: Mapping[str, str]) -> None:
    assert authenticate(AUTH, headers) == ADA


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"authorization": KEY},
        {"authorization": "Bearer"},
        {"authorization": "Bearer "},
        {"authorization": f"Bearer {KEY}, Bearer {KEY}"},
        {"authorization": f"Basic {KEY}"},
        {"authorization": "Bearer wrong", "x-api-key": KEY},
        {"x-api-key": ""},
        {"x-api-key": "x" * 60_000},
        {"cookie": f"key={KEY}"},
    ],
)
def test_all_else_is_refused(headers: Mapping[str, str]) -> None:
    with pytest.raises(Unauthenticated):
        authenticate(AUTH, headers)


def test_without_authentication_everybody_is_nobody_in_particular() -> None:
    assert authenticate(Anonymous(), {"authorization": f"Bearer {KEY}"}) == ANONYMOUS


@pytest.mark.parametrize(
    ("before", "now", "gone"),
    [
        (AUTH, by_api_key(KEYS), set()),
        (AUTH, by_api_key(KEYS[:1]), {BOB}),
        (AUTH, by_api_key((*KEYS, ApiKey("cleo", digest("c")))), set()),
        (AUTH, by_api_key((ApiKey("ada", digest("new")), KEYS[1])), {ADA}),
        (AUTH, Anonymous(), {ADA, BOB}),
        (Anonymous(), AUTH, {ANONYMOUS}),
        (Anonymous(), Anonymous(), set()),
    ],
    ids=["same", "removed", "added", "exchanged", "opened", "closed", "open"],
)
def test_who_came_in_by_what_is_gone_is_lost(
    before: Anonymous, now: Anonymous, gone: set[Caller]
) -> None:
    assert lost(before, now) == gone
