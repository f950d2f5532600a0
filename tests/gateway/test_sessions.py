from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from tests.gateway.builders import FakeClient, backend, session_client
from tests.support.virtual_time import HandClock, in_virtual_time
from tests.support.waiting import until
from vmcp.gateway.deadline import Deadline
from vmcp.gateway.inventories import Inventories
from vmcp.gateway.outbox import Outbox
from vmcp.gateway.pool import Pool
from vmcp.gateway.sessions import Session, Sessions
from vmcp.gateway.views import Views
from vmcp.gateway.watchers import PROMPTS, RESOURCES, TOOLS, Watchers
from vmcp.latest import Latest
from vmcp.model.identity import ANONYMOUS, Caller
from vmcp.model.snapshot import Snapshot
from vmcp.model.view import WHOLE, NamedView, OneBackend
from vmcp.protocol import jsonrpc
from vmcp.protocol.failures import SessionUnknown

SEEN = {TOOLS: b"1", PROMPTS: b"1", RESOURCES: b"1"}


class World:
    """Sessions with one backend behind them."""

    def __init__(self) -> None:
        self.clock = HandClock()
        self.pool = Pool(FakeClient, Inventories(self.clock))
        self.watchers = Watchers(Views(Latest(Snapshot()), Latest({})))
        self.sessions = Sessions(self.clock, self.pool, self.watchers)

    @property
    def backend(self) -> FakeClient:
        (member,) = self.pool.members.values()
        assert isinstance(member.client, FakeClient)
        return member.client

    def create(self, caller: Caller = ANONYMOUS) -> Session:
        return self.sessions.create(session_client(caller=caller), dict(SEEN))


@asynccontextmanager
async def world() -> AsyncIterator[World]:
    made = World()
    async with asyncio.TaskGroup() as tasks:
        works = [
            tasks.create_task(made.pool.run(Latest(Snapshot((backend("a"),))))),
            tasks.create_task(made.sessions.run()),
        ]
        await until(lambda: made.pool.members)
        yield made
        for work in works:
            work.cancel()


def said(outbox: Outbox) -> list[bytes]:
    """Return what waits in an outbox."""
    return list(outbox._messages)


def changed(kind: str) -> bytes:
    return jsonrpc.notification(b'"notifications/%b/list_changed"' % kind.encode(), None)


async def test_a_session_is_found_by_its_id_and_its_caller_alone() -> None:
    async with world() as here:
        mine = here.create(Caller("issuer", "me"))

        assert here.sessions.find(mine.id, Caller("issuer", "me"), WHOLE) is mine
        for caller in (Caller("issuer", "you"), Caller("other", "me"), ANONYMOUS):
            with pytest.raises(SessionUnknown):
                here.sessions.find(mine.id, caller, WHOLE)
        with pytest.raises(SessionUnknown):
            here.sessions.find(mine.id + "x", Caller("issuer", "me"), WHOLE)


async def test_a_session_is_found_in_its_view_alone_and_ends_with_it() -> None:
    async with world() as here:
        client = session_client(view=OneBackend("a"))
        mine = here.sessions.create(client, dict(SEEN))

        assert here.sessions.find(mine.id, ANONYMOUS, OneBackend("a")) is mine
        for view in (WHOLE, OneBackend("b"), NamedView("a")):
            with pytest.raises(SessionUnknown):
                here.sessions.find(mine.id, ANONYMOUS, view)
        mine.lost()
        with pytest.raises(SessionUnknown):
            here.sessions.find(mine.id, ANONYMOUS, OneBackend("a"))
        assert client.has_ended


async def test_ids_are_long_and_never_alike() -> None:
    async with world() as here:
        ids = {here.create().id for _ in range(100)}

    assert len(ids) == 100
    assert all(len(each) >= 32 and each.isascii() and each.isprintable() for each in ids)


async def test_a_session_that_ends_is_unknown_and_the_backends_are_told() -> None:
    async with world() as here:
        session = here.create()
        await here.watchers.join(session, "x://1", here.backend)
        session.uris = frozenset({"x://1"})

        here.sessions.end(session)

        with pytest.raises(SessionUnknown):
            here.sessions.find(session.id, ANONYMOUS, WHOLE)
        assert session.client.has_ended
        await until(lambda: here.backend.released == [session.client])
        assert here.backend.subscribed == []
        assert len(here.sessions) == 0
        here.sessions.end(session)


async def test_the_end_of_a_session_ends_its_calls_streams_and_questions() -> None:
    async with world() as here:
        session, deadline, stream = here.create(), Deadline(), Outbox()
        session.begin(b"1", deadline)
        session.open(stream, SEEN)
        _, answer = session.ask()

        here.sessions.end(session)

        assert deadline.is_cancelled
        assert stream.is_closed
        assert (await answer).is_error


@in_virtual_time
async def test_a_session_that_is_idle_for_half_an_hour_ends() -> None:
    async with world() as here:
        idle, used, busy, listening = (here.create() for _ in range(4))
        busy.begin(b"1", Deadline())
        listening.open(Outbox(), SEEN)
        here.clock.move(20 * 60)
        here.sessions.find(used.id, ANONYMOUS, WHOLE)
        here.clock.move(11 * 60)

        await asyncio.sleep(16)

        assert len(here.sessions) == 3
        assert here.backend.released == [idle.client]


async def test_the_longest_idle_session_makes_room_when_there_are_too_many() -> None:
    async with world() as here:
        busy, idle, used = (here.create() for _ in range(3))
        busy.begin(b"1", Deadline())
        here.clock.move(60)
        here.sessions.find(used.id, ANONYMOUS, WHOLE)
        while len(here.sessions) < 20_000:
            here.create()

        new = here.create()

        assert len(here.sessions) == 20_000
        with pytest.raises(SessionUnknown):
            here.sessions.find(idle.id, ANONYMOUS, WHOLE)
        for kept in (busy, used, new):
            assert here.sessions.find(kept.id, ANONYMOUS, WHOLE) is kept


async def test_all_sessions_end_with_the_process_and_the_backends_were_told() -> None:
    async with world() as here:
        clients = {here.create().client for _ in range(5)}

        await here.sessions.end_all()

        assert set(here.backend.released) == clients
        assert len(here.sessions) == 0


async def test_a_call_is_cancelled_by_its_own_id_while_it_lasts() -> None:
    async with world() as here:
        session = here.create()
        one, text, ended = Deadline(), Deadline(), Deadline()
        session.begin(b"1", one)
        session.begin(b'"1"', text)
        session.begin(b"2", ended)
        session.finish(b"2", ended)

        for identity in (b'"1"', b"2", b"3"):
            session.cancel(identity)

        assert [each.is_cancelled for each in (one, text, ended)] == [False, True, False]


async def test_an_id_that_is_used_again_belongs_to_the_later_call() -> None:
    async with world() as here:
        session, first, second = here.create(), Deadline(), Deadline()
        session.begin(b"1", first)
        session.begin(b"1", second)
        session.finish(b"1", first)

        session.cancel(b"1")

        assert (first.is_cancelled, second.is_cancelled) == (False, True)


async def test_an_answer_goes_to_its_question_and_only_once() -> None:
    async with world() as here:
        session = here.create()
        (one, first), (two, second) = session.ask(), session.ask()

        for identity, payload in ((two, b'"2"'), (one, b'"1"'), (one, b'"again"'), (b"9", b"{}")):
            session.answer(jsonrpc.Response(identity, payload, is_error=False))

        assert one != two
        assert ((await first).payload, (await second).payload) == (b'"1"', b'"2"')


async def test_a_change_is_told_once_on_the_newest_stream() -> None:
    async with world() as here:
        session, older, newer = here.create(), Outbox(), Outbox()
        session.open(older, SEEN)
        session.open(newer, SEEN)

        for _ in range(2):
            session.changed({**SEEN, TOOLS: b"2"})

        assert (said(older), said(newer)) == ([], [changed(TOOLS)])


async def test_a_change_without_a_stream_is_told_when_one_opens() -> None:
    async with world() as here:
        session, stream = here.create(), Outbox()
        session.changed({**SEEN, PROMPTS: b"2"})

        session.open(stream, {**SEEN, PROMPTS: b"2"})

        assert said(stream) == [changed(PROMPTS)]


async def test_a_change_that_was_taken_back_unseen_is_not_told() -> None:
    async with world() as here:
        session, stream = here.create(), Outbox()
        session.changed({**SEEN, PROMPTS: b"2"})

        session.open(stream, SEEN)

        assert said(stream) == []


async def test_a_list_that_the_client_was_given_is_seen() -> None:
    async with world() as here:
        session, stream = here.create(), Outbox()
        session.saw(TOOLS, b"2")

        session.open(stream, {**SEEN, TOOLS: b"2", RESOURCES: b"2"})

        assert said(stream) == [changed(RESOURCES)]


async def test_a_full_stream_is_closed_and_the_next_one_hears() -> None:
    async with world() as here:
        session, older, newer = here.create(), Outbox(), Outbox()
        session.open(older, SEEN)
        session.open(newer, SEEN)
        for number in range(257):
            session.updated(b"%d" % number)

        assert newer.is_closed
        assert len(said(older)) == 1


async def test_a_closed_stream_hears_no_more() -> None:
    async with world() as here:
        session, stream = here.create(), Outbox()
        session.open(stream, SEEN)
        session.close(stream)

        session.changed({**SEEN, TOOLS: b"2"})

        assert said(stream) == []
        assert not session.is_busy
