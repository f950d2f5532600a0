"""The answer to a call in a session, through which its client may be asked."""

from __future__ import annotations

import asyncio
import json

from tests.gateway.builders import session_client
from tests.support.virtual_time import HandClock, in_virtual_time
from tests.transport.incoming.wires import Wire
from vmcp.gateway.replay import Archive
from vmcp.gateway.sessions import Session
from vmcp.protocol.call import Ask, Live, Note, Request
from vmcp.protocol.sse import Parser
from vmcp.transport.incoming.keeper import Keeper
from vmcp.transport.incoming.streams import SessionedAnswer

ASK = Ask((Request("q1", "elicitation/create", b'{"message":"?"}'),), Live())


def made(wire: Wire, accept: str | None = None) -> SessionedAnswer:
    clock = HandClock()
    session = Session("s", session_client(), {}, 0.0, Archive(clock), lambda _: None)
    return SessionedAnswer(wire.request(accept), Keeper(clock), session, b"1")


def messages(wire: Wire) -> list[dict[str, object]]:
    return [json.loads(event.data) for event in Parser(2**20).feed(wire.body) if event.data]


@in_virtual_time
async def test_a_person_has_five_minutes_to_answer_and_is_told_when_they_are_over() -> None:
    wire = Wire()

    (answer,) = await made(wire).ask(ASK)

    assert asyncio.get_running_loop().time() == 300
    assert answer.is_error
    asked, taken_back = messages(wire)
    assert asked["method"] == "elicitation/create"
    assert taken_back["method"] == "notifications/cancelled"
    assert taken_back["params"] == {"requestId": asked["id"]}


@in_virtual_time
async def test_a_client_that_has_left_is_asked_nothing() -> None:
    wire = Wire()
    answer = made(wire)
    wire.leave()
    await answer.watch()

    (said,) = await answer.ask(ASK)
    await answer.note(Note("notifications/x", b"{}"))

    assert said.is_error
    assert len(wire.sent) == 0
    assert asyncio.get_running_loop().time() == 0


@in_virtual_time
async def test_a_client_that_takes_one_message_gets_no_notes_before_it() -> None:
    wire = Wire()
    answer = made(wire, "application/json")

    await answer.note(Note("notifications/x", b"{}"))
    await answer.finish(b"{}")

    assert wire.body == b"{}"


@in_virtual_time
async def test_a_note_waits_for_a_client_that_reads_slowly() -> None:
    wire = Wire()
    answer = made(wire)
    wire.hold()
    async with asyncio.TaskGroup() as tasks:
        noting = tasks.create_task(answer.note(Note("notifications/x", b"{}")))
        await asyncio.sleep(60)
        assert not noting.done()

        wire.release()

    assert messages(wire) == [{"jsonrpc": "2.0", "method": "notifications/x", "params": {}}]
