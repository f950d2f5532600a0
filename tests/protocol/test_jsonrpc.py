"""Envelopes are read in only one way, or refused with the error that fits."""

from __future__ import annotations

import json
from contextlib import suppress

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.protocol.raw_json import VALUES
from vmcp.protocol import jsonrpc
from vmcp.protocol.document import EMPTY, split
from vmcp.protocol.failures import Failure, InvalidRequest, Unparsable
from vmcp.protocol.jsonrpc import Notification, Request, Response

IDS = [b"1", b"-1", b"0", b"1.0", b"9007199254740993", b'"a"', b'""', b'"1"', b'"\\u00e9"']


@pytest.mark.parametrize("identity", IDS)
def test_a_request_keeps_its_id_and_its_params_to_the_byte(identity: bytes) -> None:
    body = b'{"jsonrpc":"2.0","id":%b,"method":"tools/call","params":{"a":1.0,"b": [ ]}}' % identity

    found = jsonrpc.read(body)

    assert found == Request(identity, "tools/call", split(b'{"a":1.0,"b":[ ]}'))


def test_the_order_of_members_white_space_and_unknown_members_change_nothing() -> None:
    body = b'\n{ "vendor" : {} , "params":{} ,"method":"ping", "id" : 7 ,"jsonrpc":"2.0" } \r\n'

    assert jsonrpc.read(body) == Request(b"7", "ping", EMPTY)


def test_escapes_in_names_of_members_and_methods_are_read() -> None:
    body = b'{"jsonrpc":"2.0","\\u0069d":1,"method":"p\\u0069ng"}'

    assert jsonrpc.read(body) == Request(b"1", "ping", EMPTY)


def test_a_message_without_an_id_is_a_notification() -> None:
    body = b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3}}'

    found = jsonrpc.read(body)

    assert found == Notification("notifications/cancelled", split(b'{"requestId":3}'))


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        pytest.param(
            b'{"jsonrpc":"2.0","id":1,"result":{"a":1.0}}',
            Response(b"1", b'{"a":1.0}', is_error=False),
            id="result",
        ),
        pytest.param(
            b'{"jsonrpc":"2.0","id":"x","error":{"code":-1}}',
            Response(b'"x"', b'{"code":-1}', is_error=True),
            id="error",
        ),
        pytest.param(
            b'{"jsonrpc":"2.0","id":null,"error":{"code":-1}}',
            Response(None, b'{"code":-1}', is_error=True),
            id="error of an unreadable request",
        ),
        pytest.param(
            b'{"jsonrpc":"2.0","error":{"code":-1}}',
            Response(None, b'{"code":-1}', is_error=True),
            id="error without an id",
        ),
        pytest.param(
            b'{"jsonrpc":"2.0","id":1,"result":{},"error":null}',
            Response(b"1", b"{}", is_error=False),
            id="result beside an empty error",
        ),
    ],
)
def test_responses_are_read(body: bytes, expected: Response) -> None:
    assert jsonrpc.read(body) == expected
    assert jsonrpc.read_peer(body) == expected


PING = b'"jsonrpc":"2.0","method":"ping"'


@pytest.mark.parametrize(
    ("body", "error"),
    [
        pytest.param(b"", Unparsable, id="nothing"),
        pytest.param(b"hello", Unparsable, id="text"),
        pytest.param(b"null", Unparsable, id="null"),
        pytest.param(b'"ping"', Unparsable, id="string"),
        pytest.param(b'{"jsonrpc":"2.0","id":1,"method":"ping"', Unparsable, id="not closed"),
        pytest.param(b'{"jsonrpc":"2.0","id":1,"method":"ping"}{}', Unparsable, id="two messages"),
        pytest.param(b'{"id":NaN,%b}' % PING, Unparsable, id="NaN"),
        pytest.param(b'{"id":1,%b,"params":{"a":"\xff"}}' % PING, Unparsable, id="no UTF-8"),
        pytest.param(
            b'{"id":1,%b,"params":{"a":"\xed\xa0\x80"}}' % PING, Unparsable, id="raw surrogate"
        ),
        pytest.param(b'\xef\xbb\xbf{"id":1,%b}' % PING, Unparsable, id="byte order mark"),
        pytest.param('{"id":1}'.encode("utf-16"), Unparsable, id="UTF-16"),
        pytest.param(b'{"a":' * 100_000, Unparsable, id="nested without end"),
        pytest.param(b"[]", InvalidRequest, id="empty array"),
        pytest.param(b' [{"id":1,%b}]' % PING, InvalidRequest, id="array of messages"),
        pytest.param(b"{}", InvalidRequest, id="empty object"),
        pytest.param(b'{"id":1,"method":"ping"}', InvalidRequest, id="no version"),
        pytest.param(b'{"jsonrpc":"1.0","id":1,"method":"ping"}', InvalidRequest, id="old version"),
        pytest.param(b'{"jsonrpc":2.0,"id":1,"method":"ping"}', InvalidRequest, id="number"),
        pytest.param(b'{"id":null,%b}' % PING, InvalidRequest, id="id null"),
        pytest.param(b'{"id":true,%b}' % PING, InvalidRequest, id="id true"),
        pytest.param(b'{"id":{},%b}' % PING, InvalidRequest, id="id object"),
        pytest.param(b'{"id":[1],%b}' % PING, InvalidRequest, id="id array"),
        pytest.param(b'{"jsonrpc":"2.0","id":1}', InvalidRequest, id="no method"),
        pytest.param(b'{"jsonrpc":"2.0","id":1,"method":1}', InvalidRequest, id="method number"),
        pytest.param(b'{"jsonrpc":"2.0","id":1,"method":null}', InvalidRequest, id="method null"),
        pytest.param(b'{"id":1,"id":1,%b}' % PING, InvalidRequest, id="id twice"),
        pytest.param(b'{"id":1,%b,"method":"x"}' % PING, InvalidRequest, id="method twice"),
        pytest.param(
            b'{"id":1,%b,"m\\u0065thod":"x"}' % PING,
            InvalidRequest,
            id="method twice, once escaped",
        ),
        pytest.param(b'{"id":1,%b,"x":1,"x":2}' % PING, InvalidRequest, id="unknown member twice"),
        pytest.param(
            b'{"id":1,%b,"params":{},"params":{}}' % PING, InvalidRequest, id="params twice"
        ),
    ],
)
def test_what_is_no_message_is_refused(body: bytes, error: type[Failure]) -> None:
    with pytest.raises(error) as caught:
        jsonrpc.read(body)

    assert caught.value.status == 400


@pytest.mark.parametrize("params", [b"[]", b"1", b'"a"', b"true"])
def test_params_that_are_no_object_are_refused(params: bytes) -> None:
    with pytest.raises(InvalidRequest):
        jsonrpc.read(b'{"id":1,%b,"params":%b}' % (PING, params))


def test_params_that_are_null_are_absent() -> None:
    assert jsonrpc.read(b'{"id":1,%b,"params":null}' % PING) == Request(b"1", "ping", EMPTY)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        pytest.param(b'{"id":7,"method":1}', b"7", id="number"),
        pytest.param(b'{"jsonrpc":"2.0","params":[],"id": "a" ,"method":"m"}', b'"a"', id="string"),
        pytest.param(b'{"id":7,"id":7,"method":"m"}', None, id="two ids"),
        pytest.param(b'{"id":null,"method":"m"}', None, id="null"),
        pytest.param(b'{"id":[1],"method":"m"}', None, id="array"),
        pytest.param(b'{"id":7,"result":{},"result":{}}', None, id="a response"),
        pytest.param(b'[{"id":7,"method":"m"}]', None, id="messages in an array"),
        pytest.param(b'{"id":7,"method":"m"', None, id="no JSON"),
    ],
)
def test_a_refused_request_is_told_by_its_id_where_it_has_one(
    body: bytes, expected: bytes | None
) -> None:
    assert jsonrpc.identity(body) == expected


@pytest.mark.parametrize("member", ["name", "uri", "_meta", "ref", "taskId", "requestState"])
def test_a_second_member_that_says_where_a_request_goes_is_refused(member: str) -> None:
    escaped = f"\\u{ord(member[0]):04x}{member[1:]}"
    for second in (member, escaped):
        body = (
            f'{{"jsonrpc":"2.0","id":1,"method":"m","params":{{"{member}":{{}},"{second}":{{}}}}}}'
        )
        with pytest.raises(InvalidRequest):
            jsonrpc.read(body.encode())


def test_other_members_of_params_may_stand_twice() -> None:
    params = b'{"name":"t","arguments":{"a":1,"a":2},"vendor":1,"vendor":2}'

    found = jsonrpc.read(b'{"id":1,%b,"params":%b}' % (PING, params))

    assert isinstance(found, Request)
    assert found.params.join() == params


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b'{"id":1,"result":{"tools":[]}}', id="no version"),
        pytest.param(b'{"jsonrpc":"2.0","id":1,"id":1,"result":{}}', id="id twice"),
        pytest.param(b' {"result":{},\n"id":1,"jsonrpc":"2.0"}', id="white space"),
    ],
)
def test_what_backends_get_wrong_without_harm_is_forgiven(body: bytes) -> None:
    found = jsonrpc.read_peer(body)

    assert isinstance(found, Response)
    assert found.id == b"1"


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"<html></html>", id="HTML"),
        pytest.param(b"[]", id="array"),
        pytest.param(b"{}", id="empty object"),
        pytest.param(b'{"jsonrpc":"2.0","id":1}', id="no result"),
        pytest.param(b'{"jsonrpc":"2.0","id":1,"result":{"a":"\xff"}}', id="no UTF-8"),
        pytest.param(b'{"jsonrpc":"2.0","id":1,"result":{"a":NaN}}', id="NaN"),
        pytest.param(b'{"jsonrpc":"2.0","id":1,"result":' + b"[" * 50_000, id="nested without end"),
    ],
)
def test_what_no_client_could_read_is_refused_from_backends_too(body: bytes) -> None:
    with pytest.raises((Unparsable, InvalidRequest)):
        jsonrpc.read_peer(body)


@given(st.binary(max_size=40))
@example(b'{"jsonrpc":"2.0","method":"\\ud800"}')
@example(b'{"jsonrpc":"2.0","method":"m","params":{"\\ud800":1,"\\ud800":2}}')
def test_reading_raises_nothing_but_failures(body: bytes) -> None:
    for read in (jsonrpc.read, jsonrpc.read_peer):
        with suppress(Failure):
            read(body)


@given(st.dictionaries(st.sampled_from(["jsonrpc", "id", "method", "params", "result"]), VALUES))
def test_any_members_are_read_or_refused(members: dict[str, str]) -> None:
    body = "{" + ",".join(f'"{name}":{value}' for name, value in members.items()) + "}"

    with suppress(Failure):
        assert jsonrpc.read(body.encode()) == jsonrpc.read_peer(body.encode())


@given(st.sampled_from(IDS), st.text(max_size=8), VALUES)
def test_what_is_written_is_read_back(identity: bytes, method: str, value: str) -> None:
    name, params = json.dumps(method).encode(), b'{"a":' + value.encode() + b"}"

    assert jsonrpc.read(jsonrpc.request(identity, name, params)) == Request(
        identity, method, split(params)
    )
    assert jsonrpc.read(jsonrpc.notification(name, params)) == Notification(method, split(params))
    for is_error in (True, False):
        written = jsonrpc.response(identity, params, is_error=is_error)
        assert jsonrpc.read(written) == Response(identity, params, is_error=is_error)


def test_absent_params_and_unknown_ids_are_left_out() -> None:
    assert jsonrpc.request(b"1", b'"m"', None) == b'{"jsonrpc":"2.0","id":1,"method":"m"}'
    assert jsonrpc.notification(b'"m"', None) == b'{"jsonrpc":"2.0","method":"m"}'
    assert jsonrpc.response(None, b"{}", is_error=True) == b'{"jsonrpc":"2.0","error":{}}'


WHOLE = b'{"jsonrpc":"2.0","id":"a\\u00e9","method":"m","params":{"_meta":{},"a":[1,"\xc3\xa9"]}}'


@pytest.mark.parametrize("place", range(len(WHOLE)))
def test_a_message_cut_off_at_any_byte_is_refused(place: int) -> None:
    for read in (jsonrpc.read, jsonrpc.read_peer):
        with pytest.raises((Unparsable, InvalidRequest)):
            read(WHOLE[:place])


@given(st.integers(0, len(WHOLE) - 1), st.binary(max_size=3))
def test_a_message_with_other_bytes_in_it_is_read_or_refused(place: int, other: bytes) -> None:
    body = WHOLE[:place] + other + WHOLE[place + 1 :]

    for read in (jsonrpc.read, jsonrpc.read_peer, jsonrpc.identity):
        with suppress(Failure):
            read(body)
