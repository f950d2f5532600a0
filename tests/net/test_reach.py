"""How the addresses of a host are found and tried."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Sequence
from contextlib import ExitStack

import pytest

from tests.net.raw import closed_port, deaf, turns
from tests.support.waiting import until
from vmcp.net.errors import NetError
from vmcp.net.reach import Address, Resolver, connected, system_lookup

FOUR, SIX = socket.AF_INET, socket.AF_INET6
HERE = Address(FOUR, ("127.0.0.1", 80))


def four(port: int, host: str = "127.0.0.1") -> Address:
    return Address(FOUR, (host, port))


class Names:
    """A resolver of which some names hang until they are let go."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.freed = threading.Event()

    def lookup(self, host: str, _port: int) -> Sequence[Address]:
        self.asked.append(host)
        if host.startswith("hangs"):
            self.freed.wait()
        if host.startswith("unknown"):
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return [HERE]


async def test_an_address_is_not_asked_for() -> None:
    names = Names()

    (four_,) = await Resolver(names.lookup).addresses("127.0.0.1", 80)
    (six,) = await Resolver(names.lookup).addresses("::1", 80)

    assert (four_.family, four_.place) == (FOUR, ("127.0.0.1", 80))
    assert (six.family, six.place[:2]) == (SIX, ("::1", 80))
    assert names.asked == []


async def test_names_that_hang_stop_no_other_one() -> None:
    names = Names()
    resolver = Resolver(names.lookup)

    async with asyncio.TaskGroup() as tasks:
        hanging = [tasks.create_task(resolver.addresses(f"hangs-{n}", 80)) for n in range(100)]
        await until(lambda: len(names.asked) == 100)

        assert await resolver.addresses("good", 80) == [HERE]
        assert await asyncio.get_running_loop().run_in_executor(None, int) == 0

        names.freed.set()

    assert [task.result() for task in hanging] == [[HERE]] * 100


async def test_a_name_is_asked_for_once_at_a_time() -> None:
    names = Names()
    resolver = Resolver(names.lookup)

    async with asyncio.TaskGroup() as tasks:
        both = [tasks.create_task(resolver.addresses("hangs", 80)) for _ in range(2)]
        await until(lambda: names.asked)
        await turns()
        both[0].cancel()
        await turns()
        names.freed.set()
    await resolver.addresses("hangs", 80)

    assert both[1].result() == [HERE]
    assert names.asked == ["hangs", "hangs"]


async def test_so_many_names_may_hang_and_no_more() -> None:
    names = Names()
    resolver = Resolver(names.lookup)

    async with asyncio.TaskGroup() as tasks:
        for number in range(128):
            tasks.create_task(resolver.addresses(f"hangs-{number}", 80))
        await until(lambda: len(names.asked) == 128)

        with pytest.raises(NetError, match="too many host names wait"):
            await resolver.addresses("good", 80)
        names.freed.set()

    assert await resolver.addresses("good", 80) == [HERE]


async def test_a_name_that_there_is_not_is_told() -> None:
    with pytest.raises(NetError, match="no such name") as error:
        await Resolver(Names().lookup).addresses("unknown", 80)

    assert (error.value.stage, error.value.sent) == ("connect", False)


async def test_the_system_knows_this_machine() -> None:
    found = await Resolver(system_lookup).addresses("localhost", 80)

    assert {each.place[0] for each in found} <= {"127.0.0.1", "::1"}


async def test_families_take_turns_and_the_first_stays_the_first() -> None:
    one, two = Address(SIX, ("fd00::1", 80, 0, 0)), Address(SIX, ("fd00::2", 80, 0, 0))

    found = await Resolver(lambda _host, _port: [one, two, HERE]).addresses("a", 80)

    assert found == [one, HERE, two]


@pytest.mark.parametrize("refused", [1, 3])
async def test_addresses_that_refuse_are_passed_over(refused: int) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]

        made = await connected([four(closed_port())] * refused + [four(port)])

        with made:
            assert made.getpeername()[1] == port
            assert made.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


async def test_an_address_that_says_nothing_does_not_keep_the_next_one_waiting() -> None:
    loop = asyncio.get_running_loop()
    with deaf() as silent, socket.create_server(("127.0.0.1", 0)) as server:
        port, began = server.getsockname()[1], loop.time()

        with await connected([four(silent.port)] * 2 + [four(port)]) as made:
            assert made.getpeername()[1] == port

        assert loop.time() - began < 3


async def test_a_race_that_is_given_up_leaves_nothing() -> None:
    with ExitStack() as places:
        silent = [four(places.enter_context(deaf()).port) for _ in range(2)]

        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.3):
                await connected(silent)


async def test_addresses_that_all_refuse_are_told_once() -> None:
    with pytest.raises(NetError, match="Connection refused") as error:
        await connected([four(closed_port()), four(closed_port())])

    assert error.value.stage == "connect"
