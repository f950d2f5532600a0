"""Calls through a whole gateway, in the four pairs of eras."""

from __future__ import annotations

import asyncio

from tests.journeys.pairs import at_both_backs, backend, client, in_both_fronts
from tests.support.backends import serving
from tests.support.clients import named, sessioned, stateless, words
from tests.support.gateways import config, gateway_of
from tests.support.sessioned_backend import SessionedFake
from tests.support.shelf import Invocation, Json, text


@in_both_fronts
@at_both_backs
async def test_a_call_is_answered_in_the_form_of_the_clients_era(front: str, back: str) -> None:
    fake = backend(back)

    async with (
        serving(fake),
        gateway_of(config(fake)) as served,
        client(front, served.url) as caller,
    ):
        result = await caller.ask("tools/call", {"name": "echo", "arguments": {"n": 1}})

    assert words(result) == '{"n": 1}'
    assert ("resultType" in result) == (front == "stateless")


@in_both_fronts
@at_both_backs
async def test_a_call_is_one_request_at_a_backend_that_knows_the_client(
    front: str, back: str
) -> None:
    fake = backend(back)
    async with (
        serving(fake),
        gateway_of(config(fake, each={"sessionScope": "shared"})) as served,
        client(front, served.url) as caller,
    ):
        await caller.ask("tools/call", named("echo"))
        before = len(fake.heard)

        await caller.ask("tools/call", named("echo"))

        assert [heard.method for heard in fake.heard.all[before:]] == ["tools/call"]


@in_both_fronts
@at_both_backs
async def test_progress_comes_back_under_the_clients_own_token(front: str, back: str) -> None:
    async def works(invocation: Invocation) -> Json:
        invocation.progress(0.5)
        return text("done")

    fake = backend(back, works=works)
    async with serving(fake), gateway_of(config(fake)) as served:
        async with client(front, served.url) as caller:
            for token in ("mine", 7, "7", 0):
                answer = await caller.call("works", progressToken=token)
                note = await answer.heard("notifications/progress")

                assert words((await answer.end())["result"]) == "done"
                assert note["params"] == {"progressToken": token, "progress": 0.5}
        await served.is_idle()
    sent = (await fake.first("tools/call")).message
    assert sent["params"]["_meta"]["progressToken"] == sent["id"]


async def test_progress_that_was_not_asked_for_does_not_reach_the_client() -> None:
    async def works(invocation: Invocation) -> Json:
        invocation.notify("notifications/progress", {"progressToken": 1, "progress": 1})
        return text("done")

    fake = SessionedFake(works=works)
    async with (
        serving(fake),
        gateway_of(config(fake)) as served,
        sessioned(served.url) as caller,
    ):
        answer = await caller.call("works")
        await answer.end()

    assert answer.notes == []


@in_both_fronts
@at_both_backs
async def test_clients_whose_ids_and_tokens_are_the_same_hear_each_its_own(
    front: str, back: str
) -> None:
    both = asyncio.Event()

    async def works(invocation: Invocation) -> Json:
        await both.wait()
        invocation.progress(invocation.arguments["who"])
        return text(str(invocation.arguments["who"]))

    fake = backend(back, works=works)
    async with serving(fake), gateway_of(config(fake)) as served:
        async with client(front, served.url) as one, client(front, served.url) as two:
            calls = [
                caller.begin(
                    "tools/call",
                    {"name": "works", "arguments": {"who": who}, "_meta": {"progressToken": "t"}},
                    1,
                )
                for who, caller in enumerate((one, two), 1)
            ]
            await fake.first("tools/call", 2)
            both.set()
            answers = [await call for call in calls]
            notes = [await answer.heard("notifications/progress") for answer in answers]
            ends = [await answer.end() for answer in answers]

            assert [note["params"]["progress"] for note in notes] == [1, 2]
            assert [words(end["result"]) for end in ends] == ["1", "2"]
            assert [end["id"] for end in ends] == [1, 1]
        await served.is_idle()


async def test_a_name_that_two_backends_share_leads_to_the_right_one() -> None:
    a, b = SessionedFake(), SessionedFake()
    async with (
        serving(a, b),
        gateway_of(config(a, b)) as served,
        stateless(served.url) as caller,
    ):
        await caller.ask("tools/call", named("b_echo"))

    assert (await b.first("tools/call")).params["name"] == "echo"
    assert not a.asked("tools/call")


@in_both_fronts
@at_both_backs
async def test_prompts_resources_and_completions_reach_their_backend(front: str, back: str) -> None:
    fake = backend(back)
    fake.shelf.prompts.append("greet")
    fake.shelf.resources["note://1"] = "a note"
    fake.shelf.templates.append("note://{id}")
    fake.shelf.more["completion/complete"] = lambda _: {"completion": {"values": ["x"]}}
    async with (
        serving(fake),
        gateway_of(config(fake)) as served,
        client(front, served.url) as caller,
    ):
        prompt = await caller.ask("prompts/get", named("greet"))
        resource = await caller.ask("resources/read", {"uri": "note://1"})
        reference = {"type": "ref/resource", "uri": "note://{id}"}
        argument = {"name": "id", "value": ""}
        completed = await caller.ask(
            "completion/complete", {"ref": reference, "argument": argument}
        )

    assert prompt["messages"][0]["content"]["text"] == "greet"
    assert resource["contents"][0]["text"] == "a note"
    assert completed["completion"] == {"values": ["x"]}
    assert ("ttlMs" in resource) == (front == "stateless")
