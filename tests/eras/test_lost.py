"""Calls that ask and do not end well: in all pairs of eras each request is answered once and nothing is kept."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.eras.pairs import ABLE, HTTP, SESSIONED, STATELESS, Pair, Question
from tests.eras.tools import FORM, asking
from tests.support.backends import serving
from tests.support.clients import Client, SessionedClient, named, words
from tests.support.shelf import Invocation, Json, text
from tests.support.waiting import until

ACCEPTED = {"action": "accept", "content": {"name": "Ann"}}


def accept(_: Question) -> Json:
    return ACCEPTED


async def never(_: Invocation) -> Json:
    """A tool that never ends."""
    return await asyncio.get_running_loop().create_future()


async def cancel(caller: Client, identity: str, answer: Any = None) -> None:
    """Cancel a call by the rule of the client's era."""
    if isinstance(caller, SessionedClient):
        await caller.notify("notifications/cancelled", requestId=identity)
    elif answer is not None:
        answer.close()


async def test_a_cancelled_call_is_cancelled_at_the_backend(pair: Pair) -> None:
    async def runs(invocation: Invocation) -> Json:
        invocation.progress(1)
        return await never(invocation)

    fake = pair.fake(runs=runs)
    async with pair.gateway(fake) as served, pair.client(served, **ABLE) as caller:
        answer = await caller.call("runs", identity="mine", progressToken="t")
        await answer.heard("notifications/progress")

        await cancel(caller, "mine", answer)

        assert await fake.cancelled.first(bool) == "runs"


async def test_a_client_that_leaves_after_it_answered_cancels_by_the_rule_of_its_era(
    pair: Pair,
) -> None:
    async def runs(invocation: Invocation) -> Json:
        result = await asking([FORM])(invocation)
        if "resultType" in result:
            return result
        invocation.progress(1)
        return await never(invocation)

    fake = pair.fake(runs=runs)
    async with pair.gateway(fake) as served, pair.client(served, **ABLE) as caller:
        params = {**named("runs", progressToken="t")}
        answer = await caller.begin("tools/call", params, "mine")
        if isinstance(caller, SessionedClient):
            asked = await answer.heard("elicitation/create")
            await caller.answer(asked["id"], result=ACCEPTED)
        else:
            first = (await answer.end())["result"]
            responses = dict.fromkeys(first["inputRequests"], ACCEPTED)
            again = {"inputResponses": responses, "requestState": first["requestState"]}
            answer = await caller.begin("tools/call", {**params, **again}, "again")
        await answer.heard("notifications/progress")

        await cancel(caller, "mine", answer)

        assert await fake.cancelled.first(bool) == "runs"


async def test_a_backend_that_dies_while_its_client_is_asked_ends_the_call_with_one_error(
    pair: Pair,
) -> None:
    fake = pair.fake(asks=asking([FORM]))
    async with pair.gateway(fake) as served, pair.client(served, **ABLE) as caller:
        call = pair.dialogue(caller)
        asked = await call.asked()

        await fake.stop()
        await until(lambda: not served.gateway.parked)
        if STATELESS in (pair.front, pair.back):
            await call.say(asked, accept)
        error = (await call.end())["error"]

        if pair.parks:
            assert error["code"] == -32602
            assert error["data"] == {"reason": "RequestStateExpired"}
            assert call.answer is not None
            assert call.answer.status == 200
        else:
            assert error["data"]["backend"] == "a"


async def test_the_clock_of_a_call_stands_still_while_its_client_is_asked(pair: Pair) -> None:
    fake = pair.fake(asks=asking([FORM]), never=never)
    limit = {"timeouts": {"default": "1s"}}
    async with (
        pair.gateway(fake, operational=limit) as served,
        pair.client(served, **ABLE) as caller,
    ):
        call = pair.dialogue(caller)
        asked = await call.asked()
        # A call that began later and asks nobody runs into the limit: so much time has passed.
        assert (await (await caller.call("never")).end())["error"]

        await call.say(asked, accept)

        assert await call.said() == [ACCEPTED]


async def test_the_clock_of_a_call_goes_on_once_its_client_has_answered(pair: Pair) -> None:
    async def stays(invocation: Invocation) -> Json:
        result = await asking([FORM])(invocation)
        return result if "resultType" in result else await never(invocation)

    fake = pair.fake(stays=stays)
    limit = {"timeouts": {"default": "1s"}}
    async with (
        pair.gateway(fake, operational=limit) as served,
        pair.client(served, **ABLE) as caller,
    ):
        error = (await pair.dialogue(caller, "stays").end(accept))["error"]

        assert error["data"]["reason"] == "TimedOut"
        assert await fake.cancelled.first(bool) == "stays"


async def test_an_answer_counts_once(pair: Pair) -> None:
    fake = pair.fake(asks=asking([FORM], [FORM]))
    async with pair.gateway(fake) as served, pair.client(served, **ABLE) as caller:
        call = pair.dialogue(caller)
        (asked,) = await call.asked()
        state = call.state
        await call.say([asked], accept)
        (following,) = await call.asked()
        if isinstance(caller, SessionedClient):
            await caller.answer(asked.key, result={"action": "cancel"})
        elif pair.parks:
            late = {"requestState": state}
            twice = await (await call.again({asked.key: {"action": "cancel"}}, **late)).end()
            assert twice["error"]["data"] == {"reason": "RequestStateExpired"}

        await call.say([following], accept)

        assert await call.said() == [ACCEPTED, ACCEPTED]


@pytest.mark.parametrize(
    "changed",
    [
        {"arguments": {"other": 1}},
        {"name": "echo"},
        {"requestState": "vmcp1.AAAA"},
        {"requestState": "the backend's own"},
        {"requestState": 7},
    ],
    ids=["other arguments", "another tool", "a forged state", "a raw state", "no text"],
)
async def test_answers_go_to_the_very_request_that_was_asked(pair: Pair, changed: Json) -> None:
    if pair.front == SESSIONED:
        pytest.skip("a session's answers name what was asked")
    fake = pair.fake(asks=asking([FORM]))
    async with pair.gateway(fake) as served, pair.client(served, **ABLE) as caller:
        call = pair.dialogue(caller)
        (asked,) = await call.asked()
        before = len(fake.asked("tools/call"))

        refused = await call.again({asked.key: ACCEPTED}, **changed)
        error = (await refused.end())["error"]

        assert error["code"] == -32602
        # What is no state at all is a malformed request.
        assert refused.status == (400 if changed == {"requestState": 7} else 200)
        assert len(fake.asked("tools/call")) == before
        await call.say([asked], accept)
        assert await call.said() == [ACCEPTED]


async def test_an_answer_that_is_missing_is_asked_for_again(pair: Pair) -> None:
    if not pair.parks:
        pytest.skip("the backend itself sees what is missing")
    fake = pair.fake(asks=asking([FORM]))
    async with pair.gateway(fake) as served, pair.client(served, **ABLE) as caller:
        call = pair.dialogue(caller)
        (asked,) = await call.asked()

        await call.say([Question("other", "", {})], accept)
        again = await call.asked()

        assert again == [asked]
        await call.say(again, accept)
        assert await call.said() == [ACCEPTED]


async def test_a_question_taken_back_by_the_backend_leaves_nothing_behind(pair: Pair) -> None:
    async def hesitates(invocation: Invocation) -> Json:
        question = asyncio.ensure_future(invocation.ask(*FORM))
        await taken_back.wait()
        question.cancel()
        return text("never mind")

    if pair.back == STATELESS:
        pytest.skip("its call has ended with the question")
    taken_back = asyncio.Event()
    fake = pair.fake(hesitates=hesitates)
    async with pair.gateway(fake) as served, pair.client(served, **ABLE) as caller:
        call = pair.dialogue(caller, "hesitates")
        asked = await call.asked()
        taken_back.set()
        assert await fake.finished.first(bool) == "hesitates"
        if pair.front == STATELESS:
            await until(lambda: not served.gateway.parked)
            await call.say(asked, accept)
            assert (await call.end())["error"]["data"] == {"reason": "RequestStateExpired"}
        else:
            assert words((await call.end())["result"]) == "never mind"


async def test_a_parked_call_is_not_counted_among_those_under_way(pair: Pair) -> None:
    if not pair.parks:
        pytest.skip("only calls of stateless clients at sessioned backends are parked")
    fake = pair.fake(asks=asking([FORM]))
    async with pair.gateway(fake) as served, pair.client(served, **ABLE) as caller:
        number = 300 if pair.transport == HTTP else 1
        calls, asked = [], []
        for _ in range(number):
            calls.append(pair.dialogue(caller))
            asked.append(await calls[-1].asked())
        (member,) = served.gateway.pool.members.values()
        assert (len(served.gateway.parked), member.calls) == (number, 0)

        for call, each in zip(calls, asked, strict=True):
            await call.say(each, accept)
            assert await call.said() == [ACCEPTED]


async def test_a_gateway_that_ends_while_clients_are_asked_leaves_nothing_behind(
    pair: Pair,
) -> None:
    fake = pair.fake(asks=asking([FORM]))
    async with serving(fake), pair.unwatched(fake) as served, pair.client(served, **ABLE) as caller:
        call = pair.dialogue(caller)
        await call.asked()
        assert len(served.gateway.parked) == (1 if pair.parks else 0)
        caller.leave()
