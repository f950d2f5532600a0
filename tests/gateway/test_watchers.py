from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping

import pytest

from tests.gateway.builders import FakeClient, backend, inventory, key
from tests.support.virtual_time import HandClock, in_virtual_time
from tests.support.waiting import until
from vmcp.gateway.inventories import Inventories
from vmcp.gateway.views import Views
from vmcp.gateway.watchers import PROMPTS, RESOURCES, TOOLS, Watchers, digests
from vmcp.latest import Latest
from vmcp.model.identity import ANONYMOUS, Caller
from vmcp.model.keys import ObjectKey
from vmcp.model.snapshot import Snapshot
from vmcp.model.view import WHOLE, OneBackend, View
from vmcp.protocol.failures import BackendFailed

URI = "x://1"


class Hearer:
    """A watcher that keeps what it heard."""

    def __init__(self, view: View = WHOLE) -> None:
        self._view = view
        self.is_lost = False
        self.catalogs: list[Mapping[str, bytes]] = []
        self.updates: list[bytes] = []

    @property
    def caller(self) -> Caller:
        return ANONYMOUS

    @property
    def view(self) -> View:
        return self._view

    def lost(self) -> None:
        self.is_lost = True

    def changed(self, now: Mapping[str, bytes]) -> None:
        self.catalogs.append(now)

    def updated(self, params: bytes) -> None:
        self.updates.append(params)


class SlowClient(FakeClient):
    """A backend that answers subscriptions when the test says so."""

    def __init__(self) -> None:
        super().__init__(backend("a"))
        self.gate = asyncio.Event()
        self.asked = 0

    async def subscribe(self, uri: str) -> None:
        self.asked += 1
        await self.gate.wait()
        await super().subscribe(uri)


@pytest.fixture
def inventories() -> Inventories:
    return Inventories(HandClock())


@pytest.fixture
def views(inventories: Inventories) -> Views:
    return Views(Latest(Snapshot((backend("a"),))), inventories.known)


@pytest.fixture
def watchers(views: Views) -> Watchers:
    return Watchers(views)


def joining(watchers: Watchers, number: int) -> list[Hearer]:
    made = [Hearer() for _ in range(number)]
    for each in made:
        watchers.add(each)
    return made


def kept(watchers: Watchers) -> int:
    held = watchers._resources, watchers._served, watchers._turns, watchers._joined
    return sum(map(len, held))


@pytest.fixture
def clients() -> dict[ObjectKey, FakeClient]:
    return {}


@pytest.fixture
async def running(
    views: Views, watchers: Watchers, clients: dict[ObjectKey, FakeClient]
) -> AsyncIterator[None]:
    async with asyncio.TaskGroup() as tasks:
        watching = watchers.run(clients.get)
        works = [tasks.create_task(views.run()), tasks.create_task(watching)]
        yield
        for work in works:
            work.cancel()


@pytest.mark.usefixtures("running")
async def test_a_new_catalog_is_told_to_all_until_they_are_removed(
    watchers: Watchers, inventories: Inventories
) -> None:
    one, two = joining(watchers, 2)
    inventories.listed(inventory("a", "one"))
    await until(lambda: one.catalogs and two.catalogs)
    watchers.remove(two)
    before = len(two.catalogs)

    inventories.listed(inventory("a", "two"))

    await until(lambda: len({each[TOOLS] for each in one.catalogs}) >= 2)
    assert len(two.catalogs) == before


@pytest.mark.parametrize(
    ("changed", "kinds"),
    [
        ({"tools": ("t", "u")}, {TOOLS}),
        ({"prompts": ("p", "q")}, {PROMPTS}),
        ({"resources": ("x://1", "x://2")}, {RESOURCES}),
        ({"templates": ("x://{a}", "x://{b}")}, {RESOURCES}),
        ({}, set()),
    ],
)
@pytest.mark.usefixtures("running")
async def test_the_digest_of_a_list_changes_with_it_alone(
    views: Views, inventories: Inventories, changed: dict[str, tuple[str, ...]], kinds: set[str]
) -> None:
    plain = {"prompts": ("p",), "resources": ("x://1",), "templates": ("x://{a}",)}
    inventories.listed(inventory("a", "t", **plain))
    await until(lambda: views.catalog.value.tools.names)
    before = views.catalog.value

    tools = changed.pop("tools", ("t",))
    inventories.listed(inventory("a", *tools, description="", **{**plain, **changed}))
    inventories.listed(inventory("b"))
    await until(lambda: views.catalog.value is not before)

    now, then = digests(views.catalog.value), digests(before)
    assert {kind for kind in now if now[kind] != then[kind]} == kinds


async def test_the_backend_is_asked_by_the_first_and_left_by_the_last(watchers: Watchers) -> None:
    client = FakeClient(backend("a"))
    one, two = joining(watchers, 2)

    await watchers.join(one, URI, client)
    await watchers.join(two, URI, client)
    assert client.subscribed == [URI]
    await watchers.leave(one, URI)
    assert client.subscribed == [URI]
    await watchers.leave(two, URI)

    assert client.subscribed == []
    assert kept(watchers) == 0


async def test_only_those_who_subscribed_hear_of_an_update(watchers: Watchers) -> None:
    client = FakeClient(backend("a"))
    one, two = joining(watchers, 2)
    await watchers.join(one, URI, client)
    await watchers.join(two, "x://2", client)

    watchers.updated(key("a"), URI, b"1")
    watchers.updated(key("a"), "x://3", b"3")

    assert (one.updates, two.updates) == ([b"1"], [])


@pytest.mark.parametrize(
    ("watched", "uri", "tells"),
    [
        ("file:///docs", "file:///docs/a/b", True),
        ("file:///docs/", "file:///docs/a", True),
        ("db://table", "db://table?row=1", True),
        ("db://table", "db://table#1", True),
        ("file:///docs", "file:///docs2", False),
        ("file:///docs/a", "file:///docs", False),
    ],
)
async def test_an_update_of_a_part_is_told_to_those_who_watch_the_whole(
    watchers: Watchers,
    watched: str,
    uri: str,
    tells: bool,  # noqa: FBT001
) -> None:
    (one,) = joining(watchers, 1)
    await watchers.join(one, watched, FakeClient(backend("a")))

    watchers.updated(key("a"), uri, b"part")
    watchers.updated(key("b"), uri, b"of another backend")

    assert one.updates == ([b"part"] if tells else [])


async def test_an_update_is_told_once_to_who_watches_the_whole_and_the_part(
    watchers: Watchers,
) -> None:
    (one,) = joining(watchers, 1)
    for uri in ("file:///docs", "file:///docs/a"):
        await watchers.join(one, uri, FakeClient(backend("a")))

    watchers.updated(key("a"), "file:///docs/a", b"1")

    assert one.updates == [b"1"]


async def test_who_subscribes_twice_leaves_once(watchers: Watchers) -> None:
    client = FakeClient(backend("a"))
    (one,) = joining(watchers, 1)
    await watchers.join(one, URI, client)
    await watchers.join(one, URI, client)

    await watchers.leave(one, URI)
    await watchers.leave(one, URI)

    assert client.subscribed == []
    assert kept(watchers) == 0


async def test_the_failure_of_the_first_is_told_and_leaves_nothing(watchers: Watchers) -> None:
    client = FakeClient(backend("a"))
    client.failure = BackendFailed("a", "Unreachable", "gone.")
    (one,) = joining(watchers, 1)

    with pytest.raises(BackendFailed):
        await watchers.join(one, URI, client)

    watchers.updated(key("a"), URI, b"1")
    assert one.updates == []
    assert kept(watchers) == 0


async def test_the_second_asks_for_itself_when_the_first_failed(watchers: Watchers) -> None:
    client = SlowClient()
    client.failure = BackendFailed("a", "Unreachable", "gone.")
    one, two = joining(watchers, 2)
    async with asyncio.TaskGroup() as tasks:
        joins = [tasks.create_task(tried(watchers, each, client)) for each in (one, two)]
        await until(lambda: client.asked == 1)
        client.gate.set()

    assert [join.result() for join in joins] == [False, False]
    assert client.asked == 2
    assert kept(watchers) == 0


async def tried(watchers: Watchers, watcher: Hearer, client: FakeClient) -> bool:
    try:
        await watchers.join(watcher, URI, client)
    except BackendFailed:
        return False
    return True


async def test_who_leaves_while_the_backend_is_asked_leaves_no_subscription(
    watchers: Watchers,
) -> None:
    client = SlowClient()
    (one,) = joining(watchers, 1)
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(watchers.join(one, URI, client))
        await until(lambda: client.asked == 1)
        tasks.create_task(watchers.leave(one, URI))
        await asyncio.sleep(0)
        client.gate.set()

    assert client.subscribed == []
    assert kept(watchers) == 0


async def test_who_has_gone_before_its_turn_does_not_subscribe(watchers: Watchers) -> None:
    client = SlowClient()
    one, two = joining(watchers, 2)
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(watchers.join(one, URI, client))
        await until(lambda: client.asked == 1)
        tasks.create_task(watchers.join(two, URI, client))
        await asyncio.sleep(0)
        watchers.remove(two)
        await watchers.leave_all(two, [URI])
        client.gate.set()
    await watchers.leave(one, URI)

    assert kept(watchers) == 0


async def test_an_update_that_comes_before_the_backends_answer_is_told(watchers: Watchers) -> None:
    client = SlowClient()
    (one,) = joining(watchers, 1)
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(watchers.join(one, URI, client))
        await until(lambda: client.asked == 1)

        watchers.updated(key("a"), URI, b"1")
        client.gate.set()

    assert one.updates == [b"1"]


class Stubborn(FakeClient):
    """A backend that hangs when it is left."""

    async def unsubscribe(self, uri: str) -> None:  # noqa: ARG002
        await asyncio.get_running_loop().create_future()


@in_virtual_time
async def test_leaving_many_resources_of_a_hanging_backend_takes_five_seconds() -> None:
    watchers = Watchers(Views(Latest(Snapshot()), Latest({})))
    (one,) = joining(watchers, 1)
    uris = [f"x://{number}" for number in range(20)]
    for uri in uris:
        await watchers.join(one, uri, Stubborn(backend("a")))

    await watchers.leave_all(one, uris)

    assert asyncio.get_running_loop().time() == 5
    watchers.updated(key("a"), uris[0], b"1")
    assert one.updates == []


async def test_clients_of_two_views_watch_one_uri_at_two_backends(watchers: Watchers) -> None:
    one, two = joining(watchers, 2)
    a, b = FakeClient(backend("a")), FakeClient(backend("b"))
    await watchers.join(one, URI, a)
    await watchers.join(two, URI, b)

    watchers.updated(key("a"), URI, b"of a")
    watchers.updated(key("b"), URI, b"of b")
    assert (one.updates, two.updates) == ([b"of a"], [b"of b"])

    await watchers.leave(one, URI)
    assert (a.subscribed, b.subscribed) == ([], [URI])
    await watchers.leave(two, URI)
    assert kept(watchers) == 0


async def test_who_subscribes_again_hears_of_the_backend_that_serves_the_uri_now(
    watchers: Watchers,
) -> None:
    (one,) = joining(watchers, 1)
    a, b = FakeClient(backend("a")), FakeClient(backend("b"))
    await watchers.join(one, URI, a)

    await watchers.join(one, URI, b)

    watchers.updated(key("a"), URI, b"of a")
    watchers.updated(key("b"), URI, b"of b")
    assert one.updates == [b"of b"]
    assert (a.subscribed, b.subscribed) == ([], [URI])
    await watchers.leave(one, URI)
    assert kept(watchers) == 0


@pytest.mark.usefixtures("running")
async def test_a_client_whose_view_is_no_more_is_told_so_and_nothing_else(
    watchers: Watchers, inventories: Inventories
) -> None:
    whole, part = Hearer(), Hearer(OneBackend("gone"))
    watchers.add(whole)
    watchers.add(part)

    inventories.listed(inventory("a", "one"))

    await until(lambda: whole.catalogs)
    assert (whole.is_lost, part.is_lost) == (False, True)
    assert part.catalogs == []


@pytest.mark.usefixtures("running")
async def test_who_watches_goes_on_to_hear_of_a_backend_that_comes_back(
    watchers: Watchers, inventories: Inventories, clients: dict[ObjectKey, FakeClient]
) -> None:
    (one,) = joining(watchers, 1)
    old, new = FakeClient(backend("a")), FakeClient(backend("a", 5.0))
    clients[key("a")] = old
    inventories.listed(inventory("a", resources=(URI,)))
    await watchers.join(one, URI, old)

    clients[key("a")] = new
    inventories.listed(inventory("a", "more", resources=(URI,)))

    await until(lambda: new.subscribed == [URI])
    # Nobody knows what was missed.
    await until(lambda: one.updates == [b'{"uri":"x://1"}'])
    await watchers.leave(one, URI)
    assert new.subscribed == []
    assert kept(watchers) == 0


@pytest.mark.usefixtures("running")
async def test_a_backend_that_comes_back_and_refuses_at_first_is_asked_again(
    watchers: Watchers, inventories: Inventories, clients: dict[ObjectKey, FakeClient]
) -> None:
    (one,) = joining(watchers, 1)
    await watchers.join(one, URI, FakeClient(backend("a")))
    new = clients[key("a")] = SlowClient()
    new.failure = BackendFailed("a", "Unreachable", "not yet.")
    new.gate.set()
    inventories.listed(inventory("a", "one"))
    await until(lambda: new.asked >= 1)

    new.failure = None
    inventories.listed(inventory("a", "two"))

    await until(lambda: new.subscribed == [URI])


async def test_who_joins_a_backend_that_came_back_subscribes_there(watchers: Watchers) -> None:
    one, two = joining(watchers, 2)
    old, new = FakeClient(backend("a")), FakeClient(backend("a", 5.0))
    await watchers.join(one, URI, old)

    await watchers.join(two, URI, new)

    assert new.subscribed == [URI]
