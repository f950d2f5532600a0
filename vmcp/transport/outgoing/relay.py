"""Follow the event stream of one call at a sessioned backend: notes, asks and the end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable

from vmcp.gateway.ports import Reply
from vmcp.protocol import jsonrpc
from vmcp.protocol.call import Answer, Ask, Call, Done, Live, Request
from vmcp.protocol.failures import METHOD_NOT_FOUND, BackendFailed
from vmcp.protocol.methods import ASKS
from vmcp.transport.outgoing import answers

CANCELLED = "notifications/cancelled"

SendAnswer = Callable[[bytes, Answer], Awaitable[None]]

NO_ROOTS = Answer(b'{"roots":[]}')
PONG = Answer(b"{}")
NOT_ASKED = Answer(
    b'{"code":%d,"message":"No client is there to be asked."}' % METHOD_NOT_FOUND, is_error=True
)


async def follow(
    messages: AsyncIterator[jsonrpc.Message],
    identity: bytes,
    call: Call,
    reply: Reply,
    send: SendAnswer,
) -> Done | None:
    """Relay a call's messages until its response; None if the stream ends without one.

    `send` takes the id of a backend's request and its answer.
    """
    asks: dict[bytes, asyncio.Task[None]] = {}
    failure: BackendFailed | None = None
    done: Done | None = None
    async with asyncio.TaskGroup() as tasks:
        try:
            async for message in messages:
                if isinstance(message, jsonrpc.Request):
                    asks[message.id] = tasks.create_task(ask(message, reply, send))
                elif isinstance(message, jsonrpc.Notification):
                    await _notified(message, call, reply, asks)
                elif answers.is_for(message, identity):
                    done = answers.end(message)
                    break
        except BackendFailed as error:
            failure = error
        _drop(asks)
    if failure is not None:
        raise failure
    return done


async def _notified(
    message: jsonrpc.Notification, call: Call, reply: Reply, asks: dict[bytes, asyncio.Task[None]]
) -> None:
    if message.method == CANCELLED:
        if (identity := message.params.get(b'"requestId"')) is not None:
            _drop(asks, identity)
    elif (note := answers.note(call, message)) is not None:
        await reply.note(note)


def _drop(asks: dict[bytes, asyncio.Task[None]], only: bytes | None = None) -> None:
    for identity, task in asks.items():
        if only is None or identity == only:
            task.cancel()


async def ask(asked: jsonrpc.Request, reply: Reply, send: SendAnswer) -> None:
    """Put a backend's request to the client of a call, and send what it answers."""
    answer = await _answer(asked, reply)
    try:
        await send(asked.id, answer)
    except BackendFailed:
        # The stream tells the call's fate; an answer that found no ear changes nothing.
        return


async def _answer(asked: jsonrpc.Request, reply: Reply) -> Answer:
    if asked.method not in ASKS:
        return PONG if asked.method == "ping" else NOT_ASKED
    params = jsonrpc.params_json(asked.params)
    wanted = Ask((Request(asked.id.decode(), asked.method, params),), Live())
    reply.deadline.pause()
    try:
        (answer,) = await reply.ask(wanted)
    finally:
        reply.deadline.resume()
    return answer


def own_answer(method: str) -> Answer:
    """Return what we answer for ourselves where no client's call is concerned."""
    return {"ping": PONG, "roots/list": NO_ROOTS}.get(method, NOT_ASKED)
