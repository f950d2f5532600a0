from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import pairwise

from tests.gateway.builders import (
    Act,
    FakeClient,
    backend,
    call_of,
    document,
    key,
    params_of,
    request_client,
)
from tests.support.virtual_time import HandClock, in_virtual_time
from tests.support.waiting import until
from vmcp.gateway.inventories import Inventories
from vmcp.gateway.pool import Pool
from vmcp.gateway.ports import Reply
from vmcp.gateway.tasks import Tasks
from vmcp.gateway.taskstreams import TaskStreams, Wish
from vmcp.latest import Latest
from vmcp.model.document import Document
from vmcp.model.snapshot import Snapshot
from vmcp.protocol.call import Call, Done, Note
from vmcp.protocol.failures import BackendFailed
from vmcp.protocol.tasks import Task

ACKNOWLEDGED = "notifications/subscriptions/acknowledged"


class World:
    """Two backends, a and b; the client has the task `1` at the first and `2` at the second."""

    def __init__(self) -> None:
        self.tasks = Tasks(HandClock())
        self.pool = Pool(FakeClient, Inventories(HandClock()))
        self.streams = TaskStreams(self.tasks, self.pool)
        self.client = request_client()
        self.told: list[Document] = []
        self.tasks.made(self.client, key("a"), Task("1", None))
        self.tasks.made(self.client, key("b"), Task("2", None))

    def at(self, name: str) -> FakeClient:
        found = self.pool.members[key(name)].client
        assert isinstance(found, FakeClient)
        return found

    def act(self, act: Act) -> None:
        for name in "ab":
            self.at(name).act = act

    def wish(self, *ids: str) -> Wish:
        call = call_of(
            "subscriptions/listen", self.client, notifications={"toolsListChanged": True}
        )
        return Wish(call, ids, self.told.append)


@asynccontextmanager
async def world() -> AsyncIterator[World]:
    here = World()
    snapshot = Latest(Snapshot((backend("a"), backend("b"))))
    async with asyncio.TaskGroup() as tasks:
        work = tasks.create_task(here.pool.run(snapshot))
        await until(lambda: len(here.pool.members) == 2)
        yield here
        work.cancel()


async def acknowledge(call: Call, reply: Reply) -> None:
    wanted = {"notifications": params_of(call)["notifications"]}
    await reply.note(Note(ACKNOWLEDGED, document(wanted).join()))


async def honours_all(call: Call, reply: Reply) -> Done:
    await acknowledge(call, reply)
    return await asyncio.get_running_loop().create_future()


async def test_each_backend_is_asked_for_its_own_tasks_and_for_nothing_else() -> None:
    async with world() as here:
        here.act(honours_all)

        async with here.streams.following(here.wish("1", "2", "unknown")) as honoured:
            asked = [params_of(here.at(name).calls[0])["notifications"] for name in "ab"]

        assert honoured == ("1", "2")
        assert asked == [{"taskIds": ["1"]}, {"taskIds": ["2"]}]


async def test_what_a_backend_tells_of_other_tasks_is_not_told() -> None:
    async def tells(call: Call, reply: Reply) -> Done:
        await acknowledge(call, reply)
        for identity in ("2", "1"):
            params = document({"taskId": identity, "ttlMs": None})
            await reply.note(Note("notifications/tasks", params.join()))
        await reply.note(Note("notifications/message", b"{}"))
        return await asyncio.get_running_loop().create_future()

    async with world() as here:
        here.at("a").act = tells

        async with here.streams.following(here.wish("1")):
            await until(lambda: bool(here.told))

        assert here.told == [document({"taskId": "1", "ttlMs": None})]


async def test_a_backend_that_takes_no_subscription_is_asked_once() -> None:
    async def refuses(_call: Call, _reply: Reply) -> Done:
        return Done(b'{"code":-32601,"message":"no"}', is_error=True)

    async with world() as here:
        here.act(refuses)

        async with here.streams.following(here.wish("1", "2")) as honoured:
            assert honoured == ()
        assert len(here.at("a").calls) == 1


async def test_an_acknowledgement_that_names_no_tasks_honours_none() -> None:
    async def honours_none(_call: Call, reply: Reply) -> Done:
        await reply.note(Note(ACKNOWLEDGED, b'{"notifications":{"taskIds":7}}'))
        return await asyncio.get_running_loop().create_future()

    async with world() as here:
        here.act(honours_none)

        async with here.streams.following(here.wish("1")) as honoured:
            assert honoured == ()


@in_virtual_time
async def test_a_lost_subscription_is_opened_anew_while_its_task_is_known() -> None:
    async def fails(_call: Call, _reply: Reply) -> Done:
        raise BackendFailed("a", "ConnectionLost", "gone.")

    async with world() as here:
        here.act(fails)

        async with here.streams.following(here.wish("1")) as honoured:
            assert honoured == ()
            await until(lambda: len(here.at("a").calls) == 3)
            here.tasks.forget(here.client, "1")
            await asyncio.sleep(1000)

        assert len(here.at("a").calls) == 3


@in_virtual_time
async def test_a_silent_backend_does_not_keep_the_client_waiting() -> None:
    async def silent(_call: Call, _reply: Reply) -> Done:
        return await asyncio.get_running_loop().create_future()

    async with world() as here:
        here.at("a").act = silent
        here.at("b").act = honours_all

        async with here.streams.following(here.wish("1", "2")) as honoured:
            assert honoured == ("2",)


async def test_there_is_a_bound_to_the_streams_at_backends() -> None:
    async with world() as here:
        here.act(honours_all)
        here.streams._open = 256

        async with here.streams.following(here.wish("1")) as honoured:
            assert honoured == ()
        here.streams._open = 0

        async with here.streams.following(here.wish("1")) as honoured:
            assert honoured == ("1",)


@in_virtual_time
async def test_a_subscription_that_was_good_is_opened_anew_soon() -> None:
    opened: list[float] = []

    async def ends(call: Call, reply: Reply) -> Done:
        opened.append(asyncio.get_running_loop().time())
        await acknowledge(call, reply)
        return Done(b'{"resultType":"complete"}')

    async with world() as here:
        here.act(ends)

        async with here.streams.following(here.wish("1")):
            await until(lambda: len(opened) == 5)

        assert [round(later - before) for before, later in pairwise(opened)] == [1, 1, 1, 1]


async def test_a_removed_backend_keeps_nobody_waiting() -> None:
    async with world() as here:
        here.tasks.made(here.client, key("gone"), Task("3", None))

        async with here.streams.following(here.wish("3")) as honoured:
            assert honoured == ()
