"""What a backend asks of a client, and what the client says to it, within one era."""

import pytest

from tests.fidelity.conftest import Pair
from tests.support.raw_json import Members, cases, member, members
from tests.support.raw_server import Era, How, Prepared

DONE = b'{"content":[]}'
ASKED = (
    b'{"message":"\\u00e9 \xc3\xa9 \xf0\x9f\x8e\x89 \\/","requestedSchema":{"type":"object","properties":'
    b'{"n":{"type":"number","default":1.0,"minimum":-0},"a":{},"a":{}}},"_meta":{"z":1,"a":2},'
    b'"mode":"form","caf\\u00e9":1E+5}'
)
SAID = b'{"action":"accept","content":{"n":1.0,"b":9007199254740993,"a":1,"a":2},"x\\/":"\\ud800"}'
REFUSED = b'{"code":-1,"message":"\\u00e9","data":{"z":1.0,"a":[ ]}}'
STATE = b'"\\u00e9 \xc3\xa9 \\/ \\ud800 1.0"'
REQUESTS = b'{"a\\u00e9":{"method":"elicitation/create","params":' + ASKED + b'},"b":{"x":1E+5}}'
NEEDED = (
    b'{"_meta":{"z":1.0,"a\\/":2},"resultType":"input_required","inputRequests":%b,'
    b'"requestState":%b,"caf\\u00e9":1}' % (REQUESTS, STATE)
)
RESPONSES = b'{"b":{},"a\\u00e9":' + SAID + b"}"


def without(found: Members, *keys: bytes) -> Members:
    return tuple(each for each in found if each[0] not in keys)


@pytest.mark.parametrize("said", [b'"result":' + SAID, b'"error":' + REFUSED], ids=["yes", "no"])
@pytest.mark.parametrize("identity", [b"0", b'"\\u00e9 \\/"', b"9007199254740993"])
def test_questions_and_answers_within_sessions_are_untouched(
    pairs: dict[tuple[Era, Era], Pair], identity: bytes, said: bytes
) -> None:
    pair = pairs[Era.SESSIONED, Era.SESSIONED]
    ask = b'{"jsonrpc":"2.0","id":%b,"method":"elicitation/create","params":%b}'
    pair.backend.answer = Prepared(DONE, how=How.STREAM, ask=ask % (identity, ASKED))

    answer = pair.client.request("tools/call", b'"name":"echo"', said=said)

    assert members(member(answer.notes[0], "params")) == members(ASKED)
    sent = pair.backend.last("").body
    assert member(sent, "id") == identity
    assert b"%b:%b" % members(sent)[-1] == said
    assert answer.result == DONE


def test_of_a_stateless_question_only_the_state_is_replaced(
    pairs: dict[tuple[Era, Era], Pair],
) -> None:
    pair = pairs[Era.STATELESS, Era.STATELESS]
    pair.backend.answer = Prepared(NEEDED)

    found = members(pair.client.request("tools/call", b'"name":"echo"').result)

    state = b'"requestState"'
    assert without(found, state) == without(members(NEEDED), state)
    assert [key for key, _ in found] == [key for key, _ in members(NEEDED)]


def test_a_stateless_answer_reaches_the_backend_with_the_state_that_it_gave(
    pairs: dict[tuple[Era, Era], Pair],
) -> None:
    pair = pairs[Era.STATELESS, Era.STATELESS]
    request = b'"name":"echo","arguments":{"a":1.0,"a":2}'
    pair.backend.answer = Prepared(NEEDED)
    sealed = member(pair.client.request("tools/call", request).result, "requestState")
    pair.backend.answer = Prepared(DONE)
    more = b',"inputResponses":%b,"requestState":%b' % (RESPONSES, sealed)

    result = pair.client.request("tools/call", request + more).result

    sent = cases(pair.backend.last("tools/call").params)
    assert sent["inputResponses"] == RESPONSES
    assert sent["requestState"] == STATE
    assert sent["arguments"] == b'{"a":1.0,"a":2}'
    assert result == DONE


def test_a_question_without_a_state_is_untouched(pairs: dict[tuple[Era, Era], Pair]) -> None:
    pair = pairs[Era.STATELESS, Era.STATELESS]
    needed = b'{"resultType":"input_required","inputRequests":%b,"x":1.0}' % REQUESTS
    pair.backend.answer = Prepared(needed)

    assert pair.client.request("tools/call", b'"name":"echo"').result == needed
