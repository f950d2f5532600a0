"""What a backend wants of the client during a call: relayed where both speak the same era."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.support.backends import serving
from tests.support.clients import SessionedClient, named, sessioned, stateless, words
from tests.support.gateways import config, gateway_of
from tests.support.sessioned_backend import SessionedFake
from tests.support.shelf import Invocation, Json, text
from tests.support.stateless_backend import StatelessFake
from tests.support.virtual_time import HandClock
from tests.support.waiting import until

CAPABILITIES = {"elicitation": {"form": {}}, "sampling": {}, "roots": {"listChanged": True}}
QUESTION = {"message": "Who?", "requestedSchema": {"type": "object", "properties": {}}}


async def asks(invocation: Invocation) -> Json:
    """A tool that asks what its arguments say, and tells what was answered."""
    method = invocation.arguments.get("method", "elicitation/create")
    answer = await invocation.ask(method, invocation.arguments.get("params", QUESTION))
    return text(str(answer.get("result", answer.get("error"))))


@pytest.mark.parametrize(
    ("method", "params", "member"),
    [
        ("elicitation/create", QUESTION, {"result": {"action": "accept", "content": {"a": 1}}}),
        ("elicitation/create", QUESTION, {"result": {"action": "decline"}}),
        ("elicitation/create", QUESTION, {"result": {"action": "cancel"}}),
        ("sampling/createMessage", {"messages": [], "maxTokens": 9}, {"result": {"model": "m"}}),
        ("roots/list", {}, {"result": {"roots": [{"uri": "file:///x"}]}}),
        ("elicitation/create", QUESTION, {"error": {"code": -1, "message": "no user is here"}}),
    ],
    ids=["accepted", "declined", "dismissed", "sampling", "roots", "error"],
)
async def test_a_question_reaches_the_client_and_its_answer_the_backend(
    method: str, params: Json, member: Json
) -> None:
    fake = SessionedFake(asks=asks)
    async with serving(fake), gateway_of(config(fake)) as served:
        async with sessioned(served.url, CAPABILITIES) as caller:
            wanted = {"method": method, "params": params}
            answer = await caller.begin("tools/call", {"name": "asks", "arguments": wanted})
            asked = await answer.heard(method)
            await caller.answer(asked["id"], **member)

            end = await answer.end()

            assert words(end["result"]) == str(next(iter(member.values())))
            assert asked.get("params", {}) == params
            assert not str(asked["id"]).startswith("ask-")
        await served.is_idle()


async def test_questions_of_two_backends_with_the_same_id_are_told_apart() -> None:
    a, b = SessionedFake(asks=asks), SessionedFake(asks=asks)
    async with serving(a, b), gateway_of(config(a, b)) as served:
        async with sessioned(served.url, CAPABILITIES) as caller:
            answers = [await caller.call(name) for name in ("a_asks", "b_asks")]
            asked = [await answer.heard("elicitation/create") for answer in answers]
            for number, each in enumerate(asked):
                await caller.answer(each["id"], result={"action": "accept", "n": number})

            ends = [await answer.end() for answer in answers]

            assert asked[0]["id"] != asked[1]["id"]
            assert ["'n': 0" in words(ends[0]["result"]), "'n': 1" in words(ends[1]["result"])] == [
                True,
                True,
            ]
        await served.is_idle()


async def test_an_answer_from_another_session_is_not_taken() -> None:
    fake = SessionedFake(asks=asks)
    async with (
        serving(fake),
        gateway_of(config(fake)) as served,
        sessioned(served.url, CAPABILITIES) as caller,
        sessioned(served.url, CAPABILITIES) as stranger,
    ):
        answer = await caller.call("asks")
        asked = await answer.heard("elicitation/create")
        await stranger.answer(asked["id"], result={"action": "accept", "who": "stranger"})
        await caller.answer(asked["id"], result={"action": "decline"})

        assert words((await answer.end())["result"]) == str({"action": "decline"})


async def test_a_client_that_does_not_come_back_gives_an_error_and_the_call_goes_on() -> None:
    def has_ended() -> bool:
        clock.move(60)
        return bool(fake.finished)

    fake, clock = SessionedFake(asks=asks), HandClock()
    async with serving(fake), gateway_of(config(fake), clock) as served:
        async with sessioned(served.url, CAPABILITIES) as caller:
            answer = await caller.call("asks")
            await answer.heard("elicitation/create")

            answer.close()

            await until(has_ended)
            assert fake.finished.all == ["asks"]
            told = await fake.heard.first(lambda heard: "error" in heard.message)
            assert told.message["error"]["code"] == -32603
        await served.is_idle()


async def test_a_client_that_takes_no_stream_is_not_asked() -> None:
    fake = SessionedFake(asks=asks)
    async with (
        serving(fake),
        gateway_of(config(fake)) as served,
        sessioned(served.url, CAPABILITIES) as caller,
    ):
        answer = await caller.request("tools/call", named("asks"), Accept="application/json")

        assert "cannot be asked" in words((await answer.end())["result"])


async def test_a_question_that_the_backend_takes_back_is_taken_back_from_the_client() -> None:
    async def hesitates(invocation: Invocation) -> Json:
        question = asyncio.ensure_future(invocation.ask("elicitation/create", QUESTION))
        await taken_back.wait()
        question.cancel()
        return text("never mind")

    taken_back = asyncio.Event()
    fake = SessionedFake(hesitates=hesitates)
    async with serving(fake), gateway_of(config(fake)) as served:
        async with sessioned(served.url, CAPABILITIES) as caller:
            answer = await caller.call("hesitates")
            asked = await answer.heard("elicitation/create")
            taken_back.set()

            told = await answer.heard("notifications/cancelled")

            assert told["params"]["requestId"] == asked["id"]
            assert words((await answer.end())["result"]) == "never mind"
        await served.is_idle()


async def test_a_call_that_is_cancelled_takes_its_question_back() -> None:
    fake = SessionedFake(asks=asks)
    async with serving(fake), gateway_of(config(fake)) as served:
        async with sessioned(served.url, CAPABILITIES) as caller:
            answer = await caller.call("asks", identity="mine")
            asked = await answer.heard("elicitation/create")
            await caller.notify("notifications/cancelled", requestId="mine")

            told = await answer.heard("notifications/cancelled")

            assert told["params"]["requestId"] == asked["id"]
            assert await answer.next() is None
            assert await fake.cancelled.first(bool) == "asks"
        await served.is_idle()


async def test_the_clock_of_a_call_stands_still_while_a_person_answers() -> None:
    async def never(_: Invocation) -> Json:
        return await asyncio.get_running_loop().create_future()

    fake = SessionedFake(asks=asks, never=never)
    limit = {"timeouts": {"default": "1s"}}
    async with serving(fake), gateway_of(config(fake, operational=limit)) as served:
        async with sessioned(served.url, CAPABILITIES) as caller:
            answer = await caller.call("asks")
            asked = await answer.heard("elicitation/create")
            # A call that began later and asks nobody runs into the limit: so much time has passed.
            assert (await (await caller.call("never")).end())["error"]

            await caller.answer(asked["id"], result={"action": "accept"})

            assert words((await answer.end())["result"]) == str({"action": "accept"})
        await served.is_idle()


async def test_a_ping_of_the_backend_on_the_calls_stream_is_answered_by_the_gateway() -> None:
    async def pings(invocation: Invocation) -> Json:
        return text(str((await invocation.ask("ping", {}))["result"]))

    fake = SessionedFake(pings=pings)
    async with (
        serving(fake),
        gateway_of(config(fake)) as served,
        sessioned(served.url) as caller,
    ):
        answer = await caller.call("pings")

        assert words((await answer.end())["result"]) == "{}"
        assert answer.notes == []


def choosing(invocation: Invocation) -> Json:
    """Ask in the stateless way, and say what was answered."""
    if "inputResponses" in invocation.params:
        return text(str([invocation.params["inputResponses"], invocation.params["requestState"]]))
    question = {"method": "elicitation/create", "params": QUESTION}
    return {
        "resultType": "input_required",
        "inputRequests": {"who": question},
        "requestState": "the backend's own",
    }


async def stateless_asks(invocation: Invocation) -> Json:
    return choosing(invocation)


async def test_input_required_is_relayed_and_its_retry_reaches_the_backend() -> None:
    fake = StatelessFake(asks=stateless_asks)
    async with serving(fake), gateway_of(config(fake)) as served:
        async with stateless(served.url, CAPABILITIES) as caller:
            first = await caller.ask("tools/call", named("asks"))
            answers = {"who": {"action": "accept"}}
            again = {
                **named("asks"),
                "inputResponses": answers,
                "requestState": first["requestState"],
            }

            result = await caller.ask("tools/call", again)

            assert words(result) == str([answers, "the backend's own"])
            assert first["inputRequests"]["who"]["params"] == QUESTION
            # The backend sees one credential for all: its state does not go out as it is.
            assert "backend" not in first["requestState"]
        await served.is_idle()


@pytest.mark.parametrize(
    "change",
    [
        {"requestState": "the backend's own"},
        {"requestState": "vmcp1.AAAA"},
        {"arguments": {"other": 1}},
        {"name": "echo"},
        {"requestState": 7},
    ],
    ids=["the raw state", "a forged one", "other arguments", "another tool", "no text"],
)
async def test_a_state_that_was_not_given_for_this_very_request_is_refused(change: Any) -> None:
    fake = StatelessFake(asks=stateless_asks)
    async with (
        serving(fake),
        gateway_of(config(fake)) as served,
        stateless(served.url, CAPABILITIES) as caller,
    ):
        state = (await caller.ask("tools/call", named("asks")))["requestState"]
        again = {**named("asks"), "inputResponses": {}, "requestState": state, **change}
        before = len(fake.asked("tools/call"))

        error = await caller.refused("tools/call", again)

        assert error["code"] == -32602
        assert len(fake.asked("tools/call")) == before


async def test_a_backend_hears_the_capabilities_of_each_request() -> None:
    async def tells(invocation: Invocation) -> Json:
        return text(str(invocation.capabilities))

    fake = StatelessFake(tells=tells)
    async with (
        serving(fake),
        gateway_of(config(fake)) as served,
        stateless(served.url, CAPABILITIES) as caller,
    ):
        with_all = await caller.ask("tools/call", named("tells"))
        caller.capabilities = {}
        with_none = await caller.ask("tools/call", named("tells"))

    assert [words(with_all), words(with_none)] == [str(CAPABILITIES), "{}"]


async def test_a_client_of_the_other_era_is_declared_as_it_declared_itself() -> None:
    a, b = SessionedFake(), StatelessFake()
    async with (
        serving(a, b),
        gateway_of(config(a, b)) as served,
        sessioned(served.url, CAPABILITIES) as old,
        stateless(served.url, CAPABILITIES) as new,
    ):
        await old.ask("tools/call", named("b_echo"))
        await new.ask("tools/call", named("a_echo"))

    told = (await b.first("tools/call")).params["_meta"]
    assert told["io.modelcontextprotocol/clientCapabilities"] == CAPABILITIES
    assert a.asked("initialize")[-1].params["capabilities"] == CAPABILITIES


async def _asked(caller: SessionedClient) -> Any:
    answer = await caller.call("asks")
    return await answer.heard("elicitation/create")


async def test_the_session_may_end_while_the_client_is_asked() -> None:
    fake = SessionedFake(asks=asks)
    async with serving(fake), gateway_of(config(fake)) as served:
        async with sessioned(served.url, CAPABILITIES) as caller:
            await _asked(caller)

            await caller.end()

            assert await fake.cancelled.first(bool) == "asks"
        await served.is_idle()
