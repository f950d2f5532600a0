from __future__ import annotations

import asyncio

from tests.gateway.builders import peer, request_client, session_client
from tests.support.waiting import until
from vmcp.model.identity import Caller
from vmcp.protocol.call import Client
from vmcp.transport.outgoing.handshake import BackendSession
from vmcp.transport.outgoing.sessions import Sessions


class World:
    """A backend that opens sessions when the test says so."""

    def __init__(self) -> None:
        self.opened: list[Client] = []
        self.ended: list[BackendSession] = []
        self.gate = asyncio.Event()
        self.gate.set()
        self.fails = False
        self.sessions = Sessions(self.open, self.ended.append)

    async def open(self, client: Client) -> BackendSession:
        self.opened.append(client)
        await self.gate.wait()
        if self.fails:
            raise ConnectionError
        return BackendSession(f"s{len(self.opened)}", peer(), {})


async def test_a_client_keeps_its_session() -> None:
    world, client = World(), session_client()

    first, second = await world.sessions.of(client), await world.sessions.of(client)

    assert first is second
    assert world.sessions.known(client) is first
    assert world.opened == [client]


async def test_those_who_want_one_session_at_once_open_it_once() -> None:
    world, client = World(), session_client()
    world.gate.clear()
    async with asyncio.TaskGroup() as tasks:
        wanting = [tasks.create_task(world.sessions.of(client)) for _ in range(5)]
        other = tasks.create_task(world.sessions.of(session_client()))
        await until(lambda: len(world.opened) == 2)
        world.gate.set()

    assert len({id(task.result()) for task in wanting}) == 1
    assert other.result() is not wanting[0].result()
    assert len(world.opened) == 2


async def test_who_waited_opens_it_when_the_first_failed_or_gave_up() -> None:
    world, client = World(), session_client()
    world.gate.clear()
    async with asyncio.TaskGroup() as tasks:
        first = tasks.create_task(world.sessions.of(client))
        await until(lambda: world.opened)
        second = tasks.create_task(world.sessions.of(client))
        await asyncio.sleep(0)
        first.cancel()
        await until(lambda: len(world.opened) == 2)
        world.gate.set()

    assert second.result() is world.sessions.known(client)
    assert len(world.sessions._turns) == 0


async def test_requests_share_a_session_by_caller_and_capabilities() -> None:
    world = World()
    you = Caller("issuer", "you")

    plain, again = [await world.sessions.of(request_client()) for _ in range(2)]
    able = await world.sessions.of(request_client(capabilities=b'{"roots":{}}'))
    other = await world.sessions.of(request_client(caller=you))

    assert plain is again
    assert len({id(plain), id(able), id(other)}) == 3


async def test_a_lost_session_is_forgotten_unless_another_has_taken_its_place() -> None:
    world, client = World(), session_client()
    old = await world.sessions.of(client)
    world.sessions.lose(client, old)
    new = await world.sessions.of(client)

    world.sessions.lose(client, old)

    assert world.sessions.known(client) is new is not old


async def test_a_session_that_is_taken_is_kept_no_more() -> None:
    world, client = World(), session_client()
    session = await world.sessions.of(client)

    assert world.sessions.take(client) is session
    assert world.sessions.take(client) is None


async def test_a_session_that_opens_when_its_client_has_ended_is_ended() -> None:
    world, client = World(), session_client()
    world.gate.clear()
    async with asyncio.TaskGroup() as tasks:
        opening = tasks.create_task(world.sessions.of(client))
        await until(lambda: world.opened)
        client.has_ended = True
        world.gate.set()

    assert world.ended == [opening.result()]
    assert world.sessions.known(client) is None


async def test_the_oldest_shared_session_ends_when_there_are_too_many() -> None:
    world, lasting = World(), session_client()
    kept = await world.sessions.of(lasting)
    shared = [
        await world.sessions.of(request_client(capabilities=b'{"x":%d}' % number))
        for number in range(257)
    ]

    assert world.ended == [shared[0]]
    assert world.sessions.known(lasting) is kept
