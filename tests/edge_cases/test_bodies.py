"""A body is one message of bounded size that can be read in only one way; all else gets the error that fits."""

from __future__ import annotations

import json
from collections.abc import Mapping

import pytest

from tests.edge_cases.front import META, VERSION, Door, behind, door, request
from tests.support.scripted import STATELESS, Scripted, scripted

LIMIT = 4 * 2**20
STATELESS_HEADERS = {"mcp-protocol-version": VERSION, "mcp-method": "tools/call", "mcp-name": "a"}
ERAS = pytest.mark.parametrize("era", ["sessioned", "stateless"])


async def headers_of(gateway: Door, era: str) -> Mapping[str, str]:
    return STATELESS_HEADERS if era == STATELESS else await gateway.session()


@ERAS
@pytest.mark.parametrize(
    ("body", "code", "identity"),
    [
        pytest.param(b"", -32700, None, id="nothing"),
        pytest.param(b"hello", -32700, None, id="text"),
        pytest.param(b'{"jsonrpc":"2.0","id":5,"method":"ping"', -32700, None, id="half of it"),
        pytest.param(
            b'{"jsonrpc":"2.0","id":5,"method":"m","params":{"a":"\xff"}}', -32700, 5, id="no UTF-8"
        ),
        pytest.param(b'{"a":' * 200_000, -32700, None, id="nested without end"),
        pytest.param(b"[]", -32600, None, id="empty array"),
        pytest.param(b'[{"jsonrpc":"2.0","id":5,"method":"ping"}]', -32600, None, id="array"),
        pytest.param(b'{"jsonrpc":"1.0","id":5,"method":"ping"}', -32600, 5, id="old version"),
        pytest.param(b'{"jsonrpc":"2.0","id":null,"method":"m"}', -32600, None, id="id null"),
        pytest.param(b'{"jsonrpc":"2.0","id":5}', -32600, None, id="no method"),
        pytest.param(
            b'{"jsonrpc":"2.0","id":"x","method":"m","params":[]}', -32600, "x", id="params array"
        ),
        pytest.param(
            b'{"jsonrpc":"2.0","id":5,"method":"m","method":"n"}', -32600, 5, id="method twice"
        ),
        pytest.param(
            b'{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"a","name":"b"}}',
            -32600,
            5,
            id="name twice",
        ),
        pytest.param(
            b'{"jsonrpc":"2.0","id":5,"method":"resources/read","params":{"uri":"a","\\u0075ri":"b"}}',
            -32600,
            5,
            id="uri twice, once escaped",
        ),
        pytest.param(
            b'{"jsonrpc":"2.0","id":5,"method":"m","params":{"_meta":{},"_meta":{}}}',
            -32600,
            5,
            id="_meta twice",
        ),
    ],
)
async def test_what_is_no_message_gets_400_and_its_id_where_it_has_one(
    era: str, body: bytes, code: int, identity: object
) -> None:
    async with door(behind()) as gateway:
        seen = await gateway.post(body, await headers_of(gateway, era))

    assert seen.status == 400
    assert seen.kind == "application/json"
    assert seen.code == code
    assert seen.message.get("id") == identity
    assert ("id" in seen.message) == (identity is not None)


@pytest.mark.parametrize(("era", "status"), [("sessioned", 200), ("stateless", 400)])
async def test_meta_that_is_no_object_is_an_invalid_param(era: str, status: int) -> None:
    async with door(behind()) as gateway:
        body = request("tools/call", {"name": "a", "_meta": []})
        seen = await gateway.post(body, await headers_of(gateway, era))

    assert (seen.status, seen.code, seen.message["id"]) == (status, -32602, 1)


@ERAS
async def test_a_body_up_to_the_limit_is_read_and_one_byte_more_is_413(era: str) -> None:
    backend = Scripted(era)
    arguments = {"name": "a_echo", "arguments": {"pad": ""}}

    async with scripted(backend), door(behind(backend)) as gateway:
        headers = {**await headers_of(gateway, era)}
        if era == STATELESS:
            headers["mcp-name"] = "a_echo"
            arguments["_meta"] = META
        short = json.dumps(request("tools/call", arguments)).encode()
        whole = short.replace(b'"pad": ""', b'"pad": "%b"' % (b"x" * (LIMIT - len(short))))
        assert len(whole) == LIMIT

        assert (await gateway.post(whole, headers)).result
        for length in (None, str(LIMIT + 1)):
            seen = await gateway.post(whole + b" ", headers, content_length=length)

            assert seen.status == 413
            assert str(LIMIT).encode() in seen.body
            assert seen.headers["connection"] == "close"
        sent = backend.asked("tools/call")
    assert len(sent) == 1
    assert len(sent[0].body) > LIMIT - 1000


async def test_a_body_that_is_announced_too_large_is_refused_before_it_is_read() -> None:
    async with door(behind()) as gateway:
        seen = await gateway.post(b"{}", content_length=str(2**40))

    assert seen.status == 413


async def test_headers_up_to_the_limit_are_read_and_more_are_431() -> None:
    async with door(behind()) as gateway:
        fits = await gateway.stateless("server/discover", x_pad="x" * 65_000)
        exceeds = await gateway.stateless("server/discover", x_pad="x" * 66_000)

    assert fits.status == 200
    assert exceeds.status == 431
    assert b"65536" in exceeds.body


@pytest.mark.parametrize(
    "name", ["mcp-protocol-version", "mcp-method", "mcp-name", "mcp-param-region"]
)
async def test_a_header_that_repeats_the_body_twice_is_a_mismatch(name: str) -> None:
    usual = {
        "host": "localhost",
        "content-type": "application/json",
        **STATELESS_HEADERS,
        "mcp-param-region": "eu",
    }
    async with door(behind()) as gateway:
        body = json.dumps(request("tools/call", {"name": "a", "_meta": META})).encode()
        seen = await gateway.send("POST", [*usual.items(), (name, usual[name])], body)

    assert (seen.status, seen.code) == (400, -32020)


@pytest.mark.parametrize("name", ["host", "origin", "content-type", "mcp-session-id"])
async def test_a_header_that_leads_the_way_twice_is_refused(name: str) -> None:
    usual = {
        "host": "localhost",
        "origin": "http://localhost",
        "content-type": "application/json",
        "mcp-session-id": "x",
    }
    async with door(behind()) as gateway:
        seen = await gateway.send("POST", [*usual.items(), (name, "other")], b"{}")

    assert seen.status == 400
    assert name.encode() in seen.body
