"""Streams of calls that break or end too early at a backend whose events have ids, through a whole gateway."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from contextlib import suppress

import pytest
from aiohttp import web

from tests.journeys.pairs import client, in_both_fronts
from tests.support.backends import Call, Heard, Messages, serving
from tests.support.clients import Answer, named, sessioned, words
from tests.support.gateways import config, gateway_of
from tests.support.sessioned_backend import BackendSession, SessionedFake
from tests.support.shelf import Invocation, Json, text
from tests.support.waiting import until

NOTE = "notifications/progress"
HURRY = {"progressToken": "p"}


class ResumableFake(SessionedFake):
    """Gives its one call's events ids, and ends the connection after so many of them, each time anew."""

    def __init__(self, *ends_after: int, **tools: Callable[[Invocation], Awaitable[Json]]) -> None:
        super().__init__(**tools)
        self.ends_after = list(ends_after)
        self.breaks = False
        self.retry = 1
        self.refusals: list[int] = []
        self._said: list[Json] = []
        self._calls: list[Call] = []

    def resumptions(self) -> list[Heard]:
        return self.heard.having(lambda heard: "last-event-id" in heard.headers)

    async def respond_with(self, request: web.Request, call: Call) -> web.StreamResponse:
        self._calls.append(call)
        return await self._events(request, call.messages, 0)

    async def _get(self, request: web.Request, session: BackendSession) -> web.StreamResponse:
        last = request.headers.get("Last-Event-ID")
        if last is None:
            return await super()._get(request, session)
        if self.refusals:
            return web.Response(status=self.refusals.pop(0))
        return await self._events(request, self._calls[0].messages, int(last))

    async def _events(
        self, request: web.Request, messages: Messages, number: int
    ) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        await response.write(b"id: %d\nretry: %d\ndata:\n\n" % (number, self.retry))
        last = number + self.ends_after.pop(0) if self.ends_after else 1000
        while number < last:
            if number == len(self._said):
                if (message := await messages.get()) is None:
                    break
                self._said.append(message)
            data = json.dumps(self._said[number]).encode()
            number += 1
            await response.write(b"id: %d\ndata: %b\n\n" % (number, data))
        if self.breaks and request.transport is not None:
            await asyncio.sleep(0)
            request.transport.close()
        with suppress(ConnectionResetError):
            await response.write_eof()
        return response


async def works(invocation: Invocation) -> Json:
    for part in (1, 2, 3):
        invocation.progress(part)
    return text("done")


def progress(answer: Answer) -> list[int]:
    return [note["params"]["progress"] for note in answer.notes]


@in_both_fronts
async def test_a_stream_that_breaks_is_gone_on_with(front: str) -> None:
    fake = ResumableFake(1, 0, 2, works=works)
    fake.breaks = True
    async with serving(fake), gateway_of(config(fake)) as served:
        async with client(front, served.url) as caller:
            call = await caller.call("works", **HURRY)
            end = await call.end()

            assert words(end["result"]) == "done"
            assert progress(call) == [1, 2, 3]
            assert [each.headers["last-event-id"] for each in fake.resumptions()] == ["1", "1", "3"]
            (asked,) = fake.asked("tools/call")
            assert {each.session for each in fake.resumptions()} == {asked.session}
            assert {each.headers["mcp-protocol-version"] for each in fake.resumptions()} == {
                asked.headers["mcp-protocol-version"]
            }
            assert not {"0", "1", "2", "3"}.intersection(call.ids)
        await served.is_idle()


@pytest.mark.parametrize("version", ["2025-06-18", "2024-11-05"])
async def test_a_backend_that_wants_to_be_polled_is_for_a_client_that_cannot_poll(
    version: str,
) -> None:
    fake = ResumableFake(1, 0, 0, works=works)
    async with serving(fake), gateway_of(config(fake)) as served:
        async with sessioned(served.url, version=version) as caller:
            call = await caller.call("works", **HURRY)

            assert words((await call.end())["result"]) == "done"
            assert progress(call) == [1, 2, 3]
        await served.is_idle()


async def test_a_client_that_can_poll_is_let_go_and_comes_back() -> None:
    fake = ResumableFake(1, works=works)
    fake.retry = 70
    async with serving(fake), gateway_of(config(fake)) as served:
        async with sessioned(served.url) as caller:
            call = await caller.call("works", identity="mine", **HURRY)
            await call.heard(NOTE)
            assert await call.next() is None
            assert b"retry: 70\n" in call.raw

            again = await caller.listen(call.ids[-1])
            end = await again.end()

            assert (end["id"], words(end["result"])) == ("mine", "done")
            assert progress(again) == [2, 3]
        await served.is_idle()


async def test_a_client_that_is_let_go_before_anything_was_said_comes_back() -> None:
    fake = ResumableFake(0, works=works)
    async with serving(fake), gateway_of(config(fake)) as served:
        async with sessioned(served.url) as caller:
            call = await caller.call("works", **HURRY)
            assert await call.next() is None

            again = await caller.listen(call.ids[-1])

            assert words((await again.end())["result"]) == "done"
            assert progress(again) == [1, 2, 3]
        await served.is_idle()


async def test_a_client_that_is_let_go_can_still_be_asked() -> None:
    async def asks(invocation: Invocation) -> Json:
        invocation.progress(1)
        return text(str((await invocation.ask("roots/list", {}))["result"]))

    fake = ResumableFake(1, asks=asks)
    async with serving(fake), gateway_of(config(fake)) as served:
        async with sessioned(served.url, {"roots": {}}) as caller:
            call = await caller.call("asks", **HURRY)
            await call.heard(NOTE)
            assert await call.next() is None

            again = await caller.listen(call.ids[-1])
            asked = await again.heard("roots/list")
            await caller.answer(asked["id"], result={"roots": []})

            assert words((await again.end())["result"]) == str({"roots": []})
        await served.is_idle()


async def test_a_client_that_takes_a_single_answer_waits_for_it() -> None:
    fake = ResumableFake(1, works=works)
    async with (
        serving(fake),
        gateway_of(config(fake)) as served,
        sessioned(served.url) as caller,
    ):
        call = await caller.request(
            "tools/call", named("works", **HURRY), Accept="application/json"
        )

        assert words((await call.end())["result"]) == "done"


@in_both_fronts
@pytest.mark.parametrize("status", [404, 405, 400, 200])
async def test_a_stream_that_cannot_be_gone_on_with_is_an_error(front: str, status: int) -> None:
    fake = ResumableFake(1, works=works)
    fake.breaks = True
    fake.refusals = [status]
    async with serving(fake), gateway_of(config(fake)) as served:
        async with client(front, served.url) as caller:
            error = (await (await caller.call("works", **HURRY)).end())["error"]

            assert error["data"] == {"backend": "a", "reason": "Rejected"}
            assert len(fake.resumptions()) == len(fake.asked("tools/call")) == 1
        await served.is_idle()


async def test_a_backend_that_is_busy_is_asked_again() -> None:
    fake = ResumableFake(1, works=works)
    fake.breaks = True
    fake.refusals = [503, 429]
    async with serving(fake), gateway_of(config(fake)) as served:
        async with sessioned(served.url) as caller:
            call = await caller.call("works", **HURRY)

            assert words((await call.end())["result"]) == "done"
        await served.is_idle()


async def test_a_stream_that_breaks_again_and_again_is_given_up() -> None:
    fake = ResumableFake(1, *[0] * 10, works=works)
    fake.breaks = True
    async with serving(fake), gateway_of(config(fake)) as served:
        async with sessioned(served.url) as caller:
            error = (await (await caller.call("works", **HURRY)).end())["error"]

            assert error["data"] == {"backend": "a", "reason": "ConnectionLost"}
            assert len(fake.resumptions()) == 3
        await served.is_idle()


async def test_a_call_that_is_cancelled_between_two_connections_is_cancelled_at_the_backend() -> (
    None
):
    async def never(invocation: Invocation) -> Json:
        invocation.progress(1)
        return await asyncio.get_running_loop().create_future()

    fake = ResumableFake(1, never=never)
    fake.retry = 60_000
    async with serving(fake), gateway_of(config(fake)) as served:
        async with sessioned(served.url) as caller:
            call = await caller.call("never", identity="mine", **HURRY)
            await call.heard(NOTE)
            assert await call.next() is None

            await caller.notify("notifications/cancelled", requestId="mine")

            assert await fake.cancelled.first(bool) == "never"
            assert not fake.resumptions()
        await served.is_idle()


async def test_the_time_of_the_call_bounds_the_wait() -> None:
    async def never(invocation: Invocation) -> Json:
        invocation.progress(1)
        return await asyncio.get_running_loop().create_future()

    fake = ResumableFake(1, never=never)
    fake.retry = 60_000
    short = {"timeouts": {"default": "1s"}}
    async with serving(fake), gateway_of(config(fake, operational=short)) as served:
        async with sessioned(served.url, version="2025-06-18") as caller:
            call = await caller.call("never", **HURRY)

            assert (await call.end())["error"]["data"]["reason"] == "TimedOut"
            await until(lambda: fake.cancelled)
        await served.is_idle()
