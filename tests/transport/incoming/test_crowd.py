"""Who is counted as one client, and who is turned away."""

from __future__ import annotations

import asyncio
import logging

import pytest

from tests.support.gateways import loaded
from tests.support.waiting import until
from vmcp.config.load import Loaded
from vmcp.latest import Latest
from vmcp.transport.incoming.arrival import proxies
from vmcp.transport.incoming.crowd import Bounds, Crowd, bounds, client_of, follow


def crowd(connections: int = 100, per_client: int = 2, *trusted: str) -> Crowd:
    return Crowd(Latest(Bounds(connections, per_client, proxies(trusted))), 999)


@pytest.mark.parametrize(
    ("peer", "client"),
    [
        ("192.0.2.1", "192.0.2.1"),
        ("::ffff:192.0.2.1", "192.0.2.1"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("", ""),
    ],
)
def test_a_client_is_an_address_or_a_network(peer: str, client: str) -> None:
    assert client_of(peer) == client


def test_one_client_has_so_many_connections_and_others_have_theirs() -> None:
    full = crowd()

    assert [full.enter("192.0.2.1", 0) for _ in range(3)] == ["192.0.2.1", "192.0.2.1", None]
    assert full.enter("192.0.2.2", 0) == "192.0.2.2"
    assert (full.count, full.turned_away) == (3, 1)


def test_a_connection_that_ends_makes_room() -> None:
    full = crowd(per_client=1)
    full.enter("192.0.2.1", 0)

    full.leave("192.0.2.1")

    assert full.enter("192.0.2.1", 0) == "192.0.2.1"
    assert full.count == 1


def test_all_together_have_so_many() -> None:
    full = crowd(2)

    assert [full.enter(f"192.0.2.{n}", 0) is None for n in range(3)] == [False, False, True]


def test_half_of_the_files_that_may_be_open_are_for_clients(
    caplog: pytest.LogCaptureFixture,
) -> None:
    full = Crowd(Latest(Bounds(9, 9, proxies(()))), 4)

    assert [full.enter("192.0.2.1", 0) is None for _ in range(3)] == [False, False, True]
    assert caplog.records[0].__dict__["limit"] == "open files"


def test_a_proxy_that_is_trusted_stands_for_many_clients() -> None:
    full = crowd(4, 1, "192.0.2.0/24")

    assert all(full.enter("192.0.2.1", 0) for _ in range(4))
    assert full.enter("192.0.2.1", 0) is None
    assert full.enter("198.51.100.1", 0) is None


def test_new_bounds_hold_for_those_who_come(caplog: pytest.LogCaptureFixture) -> None:
    cell = Latest(Bounds(1, 1, proxies(())))
    full = Crowd(cell, 999)
    full.enter("192.0.2.1", 0)

    cell.set(Bounds(2, 2, proxies(())))

    assert full.enter("192.0.2.1", 0) is not None
    assert not caplog.records


def test_that_clients_are_turned_away_is_said_once_a_minute(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.WARNING)
    full = crowd(per_client=0)

    for now in (0, 1, 59, 61):
        full.enter("192.0.2.1", now)

    said = [(record.message, record.__dict__["turned_away"]) for record in caplog.records]
    assert said == [("connections are turned away", 1), ("connections are turned away", 4)]
    assert caplog.records[0].__dict__["limit"] == "server.limits.connectionsPerClient"


def limited(connections: int, *trusted: str) -> Loaded:
    limits = {"connections": connections, "connectionsPerClient": 1}
    return loaded({"backends": [], "server": {"limits": limits, "trustedProxies": [*trusted]}})


async def test_the_bounds_are_those_of_the_config_that_is_in_force() -> None:
    config = Latest(limited(5))
    cell = Latest(bounds(config.value))

    async with asyncio.TaskGroup() as tasks:
        following = tasks.create_task(follow(config, cell))
        assert cell.value == Bounds(5, 1, proxies(()))
        config.set(limited(7, "192.0.2.0/24"))
        await until(lambda: cell.value == Bounds(7, 1, proxies(["192.0.2.0/24"])))
        following.cancel()
