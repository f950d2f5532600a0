"""Arguments reach the backend, and results the client, byte for byte."""

import pytest

from tests.fidelity import crossing
from tests.fidelity.conftest import Pair
from tests.fidelity.documents import each
from tests.support.raw_json import member, members
from tests.support.raw_server import Era, How, Prepared

each_way = pytest.mark.parametrize("how", How, ids=lambda how: how.value)
CRLF = b'{"content" : [ ] ,\r\n\t"x":\r\n1.0 }'


def call(pair: Pair, arguments: bytes = b"{}") -> bytes:
    name = b'"name":"' + pair.prefix + b'echo"'
    return pair.client.request("tools/call", name + b',"arguments":' + arguments).result


def assert_came_as(pair: Pair, found: bytes, result: bytes) -> None:
    if pair.is_crossed:
        assert members(found) == crossing.result(result, "tools/call", pair.client.era)
    else:
        assert found == result


@each("arguments", "arguments")
def test_arguments_reach_the_backend_untouched(pair: Pair, arguments: bytes) -> None:
    pair.backend.answer = Prepared(b'{"content":[]}')

    call(pair, arguments)

    params = pair.backend.last("tools/call").params
    assert member(params, "name") == b'"echo"'
    assert member(params, "arguments") == arguments


@each_way
@each("result", "results")
def test_results_reach_the_client_untouched(pair: Pair, result: bytes, how: How) -> None:
    pair.backend.answer = Prepared(result, how=how)

    assert_came_as(pair, call(pair), result)


@pytest.mark.parametrize("how", [How.JSON, How.LOOSE], ids=lambda how: how.value)
def test_carriage_returns_in_a_result_stay(pair: Pair, how: How) -> None:
    pair.backend.answer = Prepared(CRLF, how=how)

    assert_came_as(pair, call(pair), CRLF)


@each_way
@each("result", "results_stateless")
@pytest.mark.parametrize("client_era", Era, ids=lambda era: f"to {era.value}")
def test_stateless_results_reach_the_client_as_their_era_knows_them(
    pairs: dict[tuple[Era, Era], Pair], client_era: Era, result: bytes, how: How
) -> None:
    pair = pairs[client_era, Era.STATELESS]
    pair.backend.answer = Prepared(result, how=how)

    assert_came_as(pair, call(pair), result)


@each("arguments", "arguments")
def test_of_a_renamed_tool_the_backend_gets_its_own_name_and_the_same_arguments(
    renamed_pair: Pair, arguments: bytes
) -> None:
    renamed_pair.backend.answer = Prepared(b'{"content":[]}')

    call(renamed_pair, arguments)

    params = renamed_pair.backend.last("tools/call").params
    assert member(params, "name") == b'"echo"'
    assert member(params, "arguments") == arguments


@each("result", "results")
def test_results_of_a_renamed_tool_are_untouched(renamed_pair: Pair, result: bytes) -> None:
    renamed_pair.backend.answer = Prepared(result)

    assert_came_as(renamed_pair, call(renamed_pair), result)


def test_unknown_members_of_the_params_reach_the_backend(pair: Pair) -> None:
    pair.backend.answer = Prepared(b'{"content":[]}')
    more = b'"future":{"b":1.0,"a":[ ]},"caf\\u00e9":1E+5,"caf\xc3\xa9":2,"x":1,"x":2,"\\ud800":{}'

    pair.client.request("tools/call", b'"name":"echo",' + more + b',"arguments" : { }')

    sent = members(pair.backend.last("tools/call").params)
    kept = [each for each in sent if each[0] not in (b'"name"', b'"_meta"', b'"arguments"')]
    assert tuple(kept) == members(b"{" + more + b"}")


def test_absent_arguments_stay_absent_and_null_stays_null(pair: Pair) -> None:
    pair.backend.answer = Prepared(b'{"content":[]}')

    pair.client.request("tools/call", b'"name":"echo"')
    absent = pair.backend.last("tools/call").params
    pair.client.request("tools/call", b'"name":"echo","arguments":null')
    null = pair.backend.last("tools/call").params

    assert b'"arguments"' not in absent
    assert member(null, "arguments") == b"null"
