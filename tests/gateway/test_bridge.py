from __future__ import annotations

import json
from typing import Any

import pytest

from tests.gateway.builders import document
from vmcp.gateway.bridge import crossed
from vmcp.model.inventory import Era
from vmcp.protocol.call import Done

SERVER = {"io.modelcontextprotocol/serverInfo": {"name": "x", "version": "1"}}
NOTHING = document({})


def seen(result: Any, to: Era, method: str = "tools/call", **params: Any) -> Any:
    """Return a result as a client of the other era sees it."""
    done = Done(json.dumps(result).encode())
    return json.loads(crossed(done, method, document(params), to).payload)


def seen_error(error: Any, to: Era, **params: Any) -> Any:
    done = Done(json.dumps(error).encode(), is_error=True)
    found = crossed(done, "resources/read", document(params), to)
    assert found.is_error
    return json.loads(found.payload)


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        ({"content": []}, {"content": [], "resultType": "complete"}),
        ({"resultType": "other", "a": 1}, {"resultType": "complete", "a": 1}),
        (
            {"content": [], "_meta": {"a": 1}},
            {"content": [], "_meta": {"a": 1}, "resultType": "complete"},
        ),
    ],
    ids=["added", "replaced", "meta stays"],
)
def test_a_sessioned_result_is_complete_to_a_stateless_client(result: Any, expected: Any) -> None:
    assert seen(result, Era.STATELESS) == expected


@pytest.mark.parametrize(
    ("hints", "expected"),
    [
        ({}, (0, "private")),
        ({"ttlMs": 500, "cacheScope": "public"}, (500, "public")),
        ({"ttlMs": -1, "cacheScope": "all"}, (0, "private")),
        ({"ttlMs": "7"}, (0, "private")),
    ],
    ids=["none", "its own", "bad ones", "no number"],
)
def test_what_is_read_is_not_cached_unless_the_backend_says_so(
    hints: Any, expected: tuple[int, str]
) -> None:
    result = seen({"contents": [], **hints}, Era.STATELESS, "resources/read")

    assert (result["ttlMs"], result["cacheScope"]) == expected


def test_a_resource_that_is_not_found_is_told_as_the_newer_era_does() -> None:
    error = {"code": -32002, "message": "Resource not found", "data": {"more": 1}}

    assert seen_error(error, Era.STATELESS, uri="x://1") == {
        "code": -32602,
        "message": "Resource not found",
        "data": {"more": 1, "uri": "x://1"},
    }


@pytest.mark.parametrize("to", list(Era))
def test_other_errors_pass_as_they_are(to: Era) -> None:
    error = {"code": -32603, "message": "no", "data": [1]}

    assert seen_error(error, to, uri="x://1") == error


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        (
            {"resultType": "complete", "ttlMs": 5, "cacheScope": "public", "content": []},
            {"content": []},
        ),
        ({"content": [], "_meta": SERVER}, {"content": []}),
        ({"content": [], "_meta": {**SERVER, "a": 1}}, {"content": [], "_meta": {"a": 1}}),
        ({"content": [], "structuredContent": [1]}, {"content": []}),
        ({"content": [], "structuredContent": None}, {"content": []}),
        (
            {"content": [], "structuredContent": {"a": 1}},
            {"content": [], "structuredContent": {"a": 1}},
        ),
        (
            {"content": [{"type": "text", "text": "x"}]},
            {"content": [{"type": "text", "text": "x"}]},
        ),
    ],
    ids=["hints", "server", "meta", "array", "null", "object", "nothing"],
)
def test_a_stateless_result_is_told_without_what_a_sessioned_client_does_not_know(
    result: Any, expected: Any
) -> None:
    assert seen(result, Era.SESSIONED) == expected


@pytest.mark.parametrize("to", list(Era))
@pytest.mark.parametrize("raw", [b"7", b'"text"', b"[1]", b"null"])
def test_a_result_that_is_no_object_passes_as_it_came(to: Era, raw: bytes) -> None:
    done = Done(raw)

    assert crossed(done, "tools/call", NOTHING, to) == done


def test_the_bytes_of_what_is_kept_are_not_written_anew() -> None:
    done = Done(b'{"content": [ 1.0 , 1e5],"n":9007199254740993,"resultType":"complete"}')

    assert crossed(done, "tools/call", NOTHING, Era.SESSIONED).payload == (
        b'{"content":[ 1.0 , 1e5],"n":9007199254740993}'
    )
