from __future__ import annotations

import gc
from weakref import ref

import pytest

from tests.gateway.builders import key, request_client, session_client
from tests.support.virtual_time import HandClock
from vmcp.gateway.tasks import Tasks
from vmcp.model.identity import Caller
from vmcp.model.view import NamedView, OneBackend
from vmcp.protocol.tasks import Task

ONE, TWO = Caller("issuer", "one"), Caller("issuer", "two")
A, B = key("a"), key("b")


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
def tasks(clock: HandClock) -> Tasks:
    return Tasks(clock)


def test_a_task_is_found_in_another_session_of_its_caller(tasks: Tasks) -> None:
    tasks.made(session_client(caller=ONE), A, Task("t", 60.0))

    assert tasks.maker(session_client(caller=ONE), "t") == A


def test_a_task_is_unknown_to_other_callers_and_in_the_other_era(tasks: Tasks) -> None:
    tasks.made(session_client(caller=ONE), A, Task("t", None))

    assert tasks.maker(session_client(caller=TWO), "t") is None
    assert tasks.maker(request_client(caller=ONE), "t") is None


def test_a_task_is_unknown_in_another_view(tasks: Tasks) -> None:
    one, whole = session_client(view=OneBackend("a")), session_client()
    tasks.made(one, A, Task("t", None))

    assert tasks.made(whole, B, Task("t", None))

    assert (tasks.maker(one, "t"), tasks.maker(whole, "t")) == (A, B)
    assert tasks.maker(session_client(view=NamedView("a")), "t") is None
    assert tasks.of(session_client(view=NamedView("a"))) == {}


def test_callers_may_have_tasks_of_one_id_at_different_backends(tasks: Tasks) -> None:
    one, two = session_client(caller=ONE), session_client(caller=TWO)

    assert tasks.made(one, A, Task("t", None))
    assert tasks.made(two, B, Task("t", None))

    assert (tasks.maker(one, "t"), tasks.maker(two, "t")) == (A, B)


def test_an_id_belongs_to_the_first_backend_while_its_task_lives(
    tasks: Tasks, clock: HandClock
) -> None:
    client = session_client()
    tasks.made(client, A, Task("t", 60.0))

    assert not tasks.made(client, B, Task("t", 60.0))
    assert tasks.maker(client, "t") == A
    clock.move(121.0)
    assert tasks.made(client, B, Task("t", 60.0))
    assert tasks.maker(client, "t") == B


@pytest.mark.parametrize(
    ("ttl", "after", "is_known"),
    [(60.0, 60.0, True), (60.0, 121.0, False), (None, 1e9, True)],
    ids=["alive", "expired", "kept for ever"],
)
def test_a_task_is_known_as_long_as_its_backend_keeps_it(
    tasks: Tasks, clock: HandClock, ttl: float | None, after: float, *, is_known: bool
) -> None:
    client = session_client()
    tasks.made(client, A, Task("t", ttl))

    clock.move(after)

    assert (tasks.maker(client, "t") is not None) is is_known
    assert len(tasks) == int(is_known)


def test_a_backend_may_keep_a_task_longer_than_it_said_first(
    tasks: Tasks, clock: HandClock
) -> None:
    client = session_client()
    tasks.made(client, A, Task("t", 60.0))
    tasks.told(client, Task("t", 600.0))
    tasks.told(client, Task("other", 600.0))

    clock.move(500.0)

    assert tasks.maker(client, "t") == A


def test_the_oldest_task_is_forgotten_where_there_are_too_many(tasks: Tasks) -> None:
    client = session_client()

    for number in range(10_001):
        tasks.made(client, A, Task(str(number), None))

    assert len(tasks) == 10_000
    assert tasks.maker(client, "0") is None
    assert tasks.maker(client, "10000") == A


def test_a_caller_lists_its_tasks_of_all_sessions_by_backend(tasks: Tasks) -> None:
    for backend, identity in ((B, "3"), (A, "1"), (A, "2")):
        tasks.made(session_client(caller=ONE), backend, Task(identity, None))
    tasks.made(session_client(caller=TWO), A, Task("4", None))

    found = tasks.of(session_client(caller=ONE))

    assert list(found.items()) == [(A, {"1", "2"}), (B, {"3"})]


def test_a_session_without_credentials_lists_what_it_made_or_named(tasks: Tasks) -> None:
    one, two = session_client(), session_client()
    for identity in ("1", "2"):
        tasks.made(one, A, Task(identity, None))

    tasks.maker(two, "2")

    assert (tasks.of(one), tasks.of(two)) == ({A: {"1"}}, {A: {"2"}})


def test_expired_tasks_are_not_listed(tasks: Tasks, clock: HandClock) -> None:
    client = session_client()
    tasks.made(client, A, Task("t", 1.0))

    clock.move(100.0)

    assert tasks.of(client) == {}


def test_a_task_can_be_forgotten(tasks: Tasks) -> None:
    client = session_client()
    tasks.made(client, A, Task("t", None))

    tasks.forget(client, "t")
    tasks.forget(client, "t")

    assert tasks.maker(client, "t") is None


def test_the_table_keeps_no_session_that_has_ended(tasks: Tasks) -> None:
    client = session_client()
    tasks.made(client, A, Task("t", None))
    alive = ref(client)

    del client
    gc.collect()

    assert alive() is None
    assert tasks.of(session_client()) == {}
