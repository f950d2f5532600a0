"""What backends ask: sealed states for stateless clients, answers of sessioned ones for their backends."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.gateway.builders import FakeReply, Json, call_of, key, request_client, session_client
from tests.support.virtual_time import HandClock
from vmcp.gateway.parked import ParkedCalls
from vmcp.gateway.questions import Questions, answered
from vmcp.gateway.seal import Seal
from vmcp.model.identity import Caller
from vmcp.model.view import OneBackend
from vmcp.protocol.call import Answer, Ask, Call, Done, Request, Retry
from vmcp.protocol.document import MalformedJson, split
from vmcp.protocol.failures import CapabilityMissing, InvalidParams, StateExpired

ABLE = b'{"elicitation":{"form":{},"url":{}},"sampling":{},"roots":{}}'
PAGES = {"elicitations": [{"mode": "url", "url": "https://p.test/", "elicitationId": "e"}]}


def asked(state: bytes | None = b'"own"', **requests: Json) -> Ask:
    """Return what a stateless backend asks."""
    whole = {"resultType": "input_required", "extra": 1.0, "inputRequests": requests}
    found = tuple(
        Request(name, each["method"], json.dumps(each.get("params", {})).encode())
        for name, each in requests.items()
    )
    return Ask(found, Retry(state), split(json.dumps(whole).encode()))


FORM = {"method": "elicitation/create", "params": {"message": "Who?"}}
PAGE = {"method": "elicitation/create", "params": {"mode": "url", "url": "https://p.test/"}}
SAMPLING = {"method": "sampling/createMessage", "params": {"messages": []}}


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
def questions(clock: HandClock) -> Questions:
    return Questions(Seal(clock), ParkedCalls())


def request(subject: str = "ann", method: str = "tools/call", **params: Any) -> Call:
    client = request_client(capabilities=ABLE, caller=Caller("issuer", subject))
    return call_of(method, client, **{"name": "t", "arguments": {"a": 1}, **params})


def result(done: Done) -> Json:
    found: Json = json.loads(done.payload)
    return found


def test_a_state_is_sealed_and_comes_back_to_the_backend_as_it_was(questions: Questions) -> None:
    put = result(questions.put(asked(who=FORM), request(), key("a"), None))
    again = request(requestState=put["requestState"], inputResponses={"who": {}})

    assert questions.resumed(again, key("a")) is None

    assert again.params.get(b'"requestState"') == b'"own"'
    assert again.params.get(b'"inputResponses"') is not None
    assert put["inputRequests"] == {"who": FORM}
    assert put["extra"] == 1.0


def test_a_question_without_a_state_passes_as_it_came(questions: Questions) -> None:
    ask = asked(None, who=FORM)

    done = questions.put(ask, request(), key("a"), None)

    assert ask.result is not None
    assert done.payload == ask.result.join()


@pytest.mark.parametrize(
    "changed",
    [
        {"subject": "bob"},
        {"method": "prompts/get"},
        {"name": "other"},
        {"arguments": {"a": 2}},
        {"arguments": {}},
    ],
    ids=["another caller", "another method", "another name", "other arguments", "none"],
)
def test_a_state_serves_the_request_it_was_given_for(questions: Questions, changed: Json) -> None:
    state = result(questions.put(asked(who=FORM), request(), key("a"), None))["requestState"]

    with pytest.raises(StateExpired):
        questions.resumed(request(**{"requestState": state, **changed}), key("a"))


def test_a_state_serves_the_view_it_was_given_in(questions: Questions) -> None:
    state = result(questions.put(asked(who=FORM), request(), key("a"), None))["requestState"]
    elsewhere = request(requestState=state)
    elsewhere.client.view = OneBackend("a")

    with pytest.raises(StateExpired):
        questions.resumed(elsewhere, key("a"))


def test_a_state_serves_the_backend_it_came_from(questions: Questions) -> None:
    state = result(questions.put(asked(who=FORM), request(), key("a"), None))["requestState"]

    with pytest.raises(StateExpired):
        questions.resumed(request(requestState=state), key("b"))


def test_a_state_expires(questions: Questions, clock: HandClock) -> None:
    state = result(questions.put(asked(who=FORM), request(), key("a"), None))["requestState"]
    clock.move(601)

    with pytest.raises(StateExpired):
        questions.resumed(request(requestState=state), key("a"))


def test_a_state_that_is_no_text_is_refused(questions: Questions) -> None:
    with pytest.raises(InvalidParams):
        questions.resumed(request(requestState=7), key("a"))


def test_what_a_session_calls_its_state_is_left_alone(questions: Questions) -> None:
    call = call_of("tools/call", session_client(), name="t", requestState="mine")

    assert questions.resumed(call, key("a")) is None
    assert call.params.get(b'"requestState"') == b'"mine"'


def test_pages_to_visit_become_a_question_and_the_request_is_made_anew(
    questions: Questions,
) -> None:
    error = Done(json.dumps({"code": -32042, "message": "", "data": PAGES}).encode(), is_error=True)

    put = result(questions.visit(error, request(), key("a")))
    responses = {"page-1": {"action": "accept"}}
    again = request(requestState=put["requestState"], inputResponses=responses)
    questions.resumed(again, key("a"))

    page = {"mode": "url", "url": "https://p.test/"}
    assert put["inputRequests"] == {"page-1": {"method": "elicitation/create", "params": page}}
    assert json.loads(again.params.join()) == {"name": "t", "arguments": {"a": 1}}


def test_a_client_that_opens_no_pages_hears_what_it_lacks(questions: Questions) -> None:
    error = Done(json.dumps({"code": -32042, "data": PAGES}).encode(), is_error=True)
    call = call_of("tools/call", request_client(capabilities=b'{"elicitation":{"form":{}}}'))

    with pytest.raises(CapabilityMissing):
        questions.visit(error, call, key("a"))


def test_an_error_without_pages_is_no_question(questions: Questions) -> None:
    error = Done(b'{"code":-32042,"message":"","data":{"elicitations":[]}}', is_error=True)

    with pytest.raises(MalformedJson):
        questions.visit(error, request(), key("a"))


class Answering(FakeReply):
    """A client that answers, and keeps what it was asked."""

    def __init__(self, *answers: Answer) -> None:
        super().__init__()
        self.answers = answers
        self.asked: tuple[Request, ...] = ()

    async def ask(self, ask: Ask) -> tuple[Answer, ...]:
        self.asked = ask.requests
        return self.answers


def session_call(capabilities: bytes = ABLE) -> Call:
    return call_of("tools/call", session_client(capabilities=capabilities), name="t")


async def test_the_answers_of_a_session_go_into_the_params_with_the_state() -> None:
    call, reply = session_call(), Answering(Answer(b'{"action":"accept"}'), Answer(b'{"m":1.0}'))

    assert await answered(asked(a=FORM, b=SAMPLING), call, reply) is None

    assert json.loads(call.params.join()) == {
        "name": "t",
        "inputResponses": {"a": {"action": "accept"}, "b": {"m": 1.0}},
        "requestState": "own",
    }


async def test_a_second_round_replaces_what_the_first_one_brought() -> None:
    call, reply = session_call(), Answering(Answer(b"{}"))
    await answered(asked(a=FORM), call, reply)

    await answered(asked(None, b=FORM), call, reply)

    assert json.loads(call.params.join()) == {"name": "t", "inputResponses": {"b": {}}}


async def test_a_client_that_fails_at_an_elicitation_has_cancelled_it() -> None:
    call, reply = session_call(), Answering(Answer(b'{"code":-1}', is_error=True))

    assert await answered(asked(a=FORM), call, reply) is None

    responses = json.loads(call.params.join())["inputResponses"]
    assert responses == {"a": {"action": "cancel"}}


async def test_a_client_that_fails_at_anything_else_ends_the_call_with_its_error() -> None:
    error = b'{"code":-1,"message":"no model"}'

    end = await answered(asked(a=SAMPLING), session_call(), Answering(Answer(error, is_error=True)))

    assert end == Done(error, is_error=True)


async def test_a_client_is_not_asked_what_it_did_not_declare() -> None:
    reply = Answering()

    end = await answered(asked(a=SAMPLING), session_call(b'{"roots":{}}'), reply)

    assert end is not None
    assert end.is_error
    assert reply.asked == ()


async def test_a_state_without_a_question_goes_back_at_once() -> None:
    call, reply = session_call(), Answering()

    assert await answered(asked(), call, reply) is None

    assert json.loads(call.params.join()) == {"name": "t", "requestState": "own"}


async def test_a_page_gets_an_id_for_a_session() -> None:
    reply = Answering(Answer(b'{"action":"accept"}'))

    await answered(asked(a=PAGE), session_call(), reply)

    (page,) = reply.asked
    assert page.params is not None
    assert json.loads(page.params)["elicitationId"]
