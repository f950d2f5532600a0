"""What a backend wants of the client during a call, in all pairs of eras."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.eras.pairs import ABLE, STDIO, Pair, Question
from tests.eras.tools import FORM, PAGE, ROOTS, SAMPLING, asking
from tests.support.shelf import Invocation, Json, text

ACCEPTED = {"action": "accept", "content": {"name": "Ann"}}
SAMPLED = {"role": "assistant", "model": "m", "content": {"type": "text", "text": "Paris"}}
ROOTED = {"roots": [{"uri": "file:///x", "name": "x"}]}


def answer(question: Question) -> Json:
    """Answer as a willing client does."""
    return {"elicitation/create": ACCEPTED, "roots/list": ROOTED}.get(question.method, SAMPLED)


@pytest.mark.parametrize(
    ("question", "said"),
    [
        (FORM, ACCEPTED),
        (FORM, {"action": "decline"}),
        (FORM, {"action": "cancel"}),
        (PAGE, {"action": "accept"}),
        (PAGE, {"action": "decline"}),
        (SAMPLING, SAMPLED),
        (ROOTS, ROOTED),
    ],
    ids=["form", "declined", "dismissed", "page", "page declined", "sampling", "roots"],
)
async def test_a_question_reaches_the_client_and_its_answer_the_backend(
    pair: Pair, question: tuple[str, Json], said: Json
) -> None:
    fake = pair.fake(asks=asking([question]))
    async with pair.gateway(fake) as served, pair.client(served, **ABLE) as caller:
        call = pair.dialogue(caller)
        (asked,) = await call.asked()
        await call.say([asked], lambda _: said)

        assert await call.said() == [said]

        method, params = question
        assert asked.method == method
        # Only the sessioned era knows an id of a page.
        assert {key: asked.params[key] for key in asked.params if key != "elicitationId"} == params
        assert ("elicitationId" in asked.params) == (
            params.get("mode") == "url" and (pair.front, pair.back) == ("sessioned", "stateless")
        )


async def test_a_call_may_ask_in_several_rounds_and_many_things_at_once(pair: Pair) -> None:
    fake = pair.fake(asks=asking([FORM, SAMPLING], [ROOTS], [FORM]))
    async with pair.gateway(fake) as served, pair.client(served, **ABLE) as caller:
        said = await pair.dialogue(caller).said(answer)

        assert said == [ACCEPTED, SAMPLED, ROOTED, ACCEPTED]


async def test_many_calls_are_asked_at_once_and_none_gets_the_answer_of_another(pair: Pair) -> None:
    if (pair.back, pair.transport) == ("sessioned", STDIO):
        pytest.skip("a process of that era gives no hint which of its calls asks")
    fake = pair.fake(asks=asking([FORM], [FORM]))
    async with pair.gateway(fake) as served, pair.client(served, **ABLE) as caller:
        calls = [pair.dialogue(caller) for _ in range(10)]
        for _ in range(2):
            asked = [await call.asked() for call in calls]
            for number, (call, each) in enumerate(zip(calls, asked, strict=True)):
                await call.say(each, lambda _, n=number: {"action": "accept", "n": n})  # type: ignore[misc]

        said = [[each["n"] for each in await call.said()] for call in calls]

        assert said == [[number] * 2 for number in range(10)]


@pytest.mark.parametrize("declared", [{}, {"roots": {}}, ABLE, {"elicitation": {}}], ids="+".join)
async def test_a_backend_sees_the_capabilities_that_the_client_declared(
    pair: Pair, declared: Json
) -> None:
    async def tells(invocation: Invocation) -> Json:
        return text(json.dumps(invocation.capabilities))

    if (pair.back, pair.transport) == ("sessioned", STDIO):
        pytest.skip("a process has one session for all clients, opened with the widest")
    fake = pair.fake(tells=tells)
    async with pair.gateway(fake) as served, pair.client(served, **declared) as caller:
        assert await pair.dialogue(caller, "tells").said() == declared


@pytest.mark.parametrize(
    ("declared", "question"),
    [({"roots": {}}, FORM), ({"elicitation": {"form": {}}}, PAGE)],
    ids=["elicitation", "page"],
)
async def test_a_client_is_not_asked_what_it_did_not_declare(
    pair: Pair, declared: Json, question: tuple[str, Json]
) -> None:
    if pair.front == pair.back:
        pytest.skip("in its own era a client hears what the backend says, and refuses it itself")
    fake = pair.fake(asks=asking([question]))
    async with pair.gateway(fake) as served, pair.client(served, **declared) as caller:
        (told,) = await pair.dialogue(caller).said()

        assert told == {"action": "cancel"} or told["code"] == -32601


async def test_progress_and_log_messages_of_each_part_reach_the_request_that_stands_for_it(
    pair: Pair,
) -> None:
    async def works(invocation: Invocation) -> Json:
        invocation.progress(1)
        invocation.log("error", "at work")
        result = await asking([FORM])(invocation)
        invocation.progress(2)
        invocation.log("error", "at work again")
        return result

    fake = pair.fake(works=works)
    level = {"io.modelcontextprotocol/logLevel": "info"}
    async with pair.gateway(fake) as served, pair.client(served, **ABLE) as caller:
        call = pair.dialogue(caller, "works", progressToken="first", **level)
        asked = await call.asked()
        before = tokens(call.notes)
        call.notes.clear()
        await call.say(asked, answer, _meta={"progressToken": "second", **level})
        assert await call.said() == [ACCEPTED]

        assert before[:1] == ["first"]
        own = "first" if pair.front == "sessioned" else "second"
        assert set(tokens(call.notes)) == {own}
        assert "at work again" in [note["params"].get("data") for note in call.notes]


def tokens(notes: list[Json]) -> list[Any]:
    """Return the progress tokens of notifications."""
    found = [note["params"].get("progressToken") for note in notes]
    return [token for token in found if token is not None]
