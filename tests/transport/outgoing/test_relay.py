from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from tests.gateway.builders import FakeReply, call_of
from tests.support.waiting import until
from vmcp.protocol import jsonrpc
from vmcp.protocol.call import Answer, Ask, Done
from vmcp.protocol.document import EMPTY, split
from vmcp.protocol.failures import BackendFailed
from vmcp.transport.outgoing.relay import follow

END = jsonrpc.Response(b"1", b'{"content":[]}', is_error=False)


def ask(identity: bytes, method: str = "elicitation/create") -> jsonrpc.Request:
    return jsonrpc.Request(identity, method, EMPTY)


def cancelled(identity: bytes) -> jsonrpc.Notification:
    params = split(b'{"requestId":' + identity + b"}")
    return jsonrpc.Notification("notifications/cancelled", params)


class Stream:
    """Messages that the test lets come; and the answers that were sent."""

    def __init__(self, *messages: jsonrpc.Message) -> None:
        self.queue: asyncio.Queue[jsonrpc.Message | None] = asyncio.Queue()
        for message in messages:
            self.queue.put_nowait(message)
        self.sent: list[tuple[bytes, Answer]] = []
        self.refuses = False
        self.refused = 0

    async def __aiter__(self) -> AsyncIterator[jsonrpc.Message]:
        while (message := await self.queue.get()) is not None:
            yield message

    async def send(self, identity: bytes, answer: Answer) -> None:
        if self.refuses:
            self.refused += 1
            raise BackendFailed("a", "Unreachable", "gone.")
        self.sent.append((identity, answer))


class Person(FakeReply):
    """A client that is asked, and answers when the test says so."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[str] = []
        self.taken_back = 0
        self.gate = asyncio.Event()

    async def ask(self, ask: Ask) -> tuple[Answer, ...]:
        self.asked.extend(each.method for each in ask.requests)
        try:
            await self.gate.wait()
        except asyncio.CancelledError:
            self.taken_back += 1
            raise
        return tuple(Answer(b'{"action":"accept"}') for _ in ask.requests)


async def followed(stream: Stream, reply: FakeReply) -> Done | None:
    async with reply.deadline.start(5):
        return await follow(aiter(stream), b"1", call_of("tools/call"), reply, stream.send)
    raise AssertionError


async def test_the_response_to_the_call_is_its_end() -> None:
    other = jsonrpc.Response(b"2", b"{}", is_error=False)

    assert await followed(Stream(other, END), FakeReply()) == Done(b'{"content":[]}')


async def test_a_stream_that_ends_early_has_no_end() -> None:
    stream = Stream()
    stream.queue.put_nowait(None)

    assert await followed(stream, FakeReply()) is None


async def test_several_questions_are_put_at_once() -> None:
    stream, person = Stream(ask(b'"q1"'), ask(b'"q2"', "roots/list")), Person()
    async with asyncio.TaskGroup() as tasks:
        following = tasks.create_task(followed(stream, person))
        await until(lambda: len(person.asked) == 2)
        person.gate.set()
        await until(lambda: len(stream.sent) == 2)
        stream.queue.put_nowait(END)

    assert sorted(identity for identity, _ in stream.sent) == [b'"q1"', b'"q2"']
    assert following.result() == Done(b'{"content":[]}')


async def test_a_question_that_is_taken_back_ends_alone() -> None:
    stream, person = Stream(ask(b'"q1"'), ask(b'"q2"')), Person()
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(followed(stream, person))
        await until(lambda: len(person.asked) == 2)
        stream.queue.put_nowait(cancelled(b'"q1"'))
        await until(lambda: person.taken_back)
        person.gate.set()
        await until(lambda: stream.sent)
        stream.queue.put_nowait(END)

    assert [identity for identity, _ in stream.sent] == [b'"q2"']


async def test_a_call_that_ends_takes_its_questions_back() -> None:
    stream, person = Stream(ask(b'"q1"')), Person()
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(followed(stream, person))
        await until(lambda: person.asked)
        stream.queue.put_nowait(END)

    assert person.taken_back == 1
    assert stream.sent == []


@pytest.mark.parametrize("method", ["ping", "elicitation/create", "unheard/of"])
async def test_an_answer_that_finds_no_ear_does_not_end_the_call(method: str) -> None:
    stream, person = Stream(ask(b'"q1"', method)), Person()
    stream.refuses = True
    person.gate.set()
    async with asyncio.TaskGroup() as tasks:
        following = tasks.create_task(followed(stream, person))
        await until(lambda: stream.refused)
        stream.queue.put_nowait(END)

    assert following.result() == Done(b'{"content":[]}')


async def test_what_only_the_gateway_can_answer_is_answered_by_it() -> None:
    stream, person = Stream(ask(b"7", "ping"), ask(b"8", "unheard/of")), Person()
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(followed(stream, person))
        await until(lambda: len(stream.sent) == 2)
        stream.queue.put_nowait(END)

    assert person.asked == []
    assert {identity: answer.is_error for identity, answer in stream.sent} == {
        b"7": False,
        b"8": True,
    }


class Broken(Stream):
    """A stream whose connection breaks."""

    async def __aiter__(self) -> AsyncIterator[jsonrpc.Message]:
        yield ask(b'"q1"')
        await self.queue.get()
        raise BackendFailed("a", "ConnectionLost", "it broke.")


async def test_a_connection_that_breaks_is_the_failure_of_the_call_and_nothing_else() -> None:
    stream, person = Broken(), Person()
    async with asyncio.TaskGroup() as tasks:
        following = tasks.create_task(caught(stream, person))
        await until(lambda: person.asked)
        stream.queue.put_nowait(None)

    assert following.result().reason == "ConnectionLost"
    assert person.taken_back == 1


async def caught(stream: Stream, reply: FakeReply) -> BackendFailed:
    with pytest.raises(BackendFailed) as failure:
        await followed(stream, reply)
    return failure.value
