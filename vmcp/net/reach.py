"""Reach a host: its name is resolved in threads of our own, its addresses are tried one soon after the other."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain, zip_longest

from vmcp.net.errors import NetError, not_resolved, unreached

# RFC 8305: how long an address may try before the next one does as well.
_HEAD_START_SECONDS = 0.25
# A resolver that hangs holds a thread for each name, and nobody else waits for those.
_MOST_LOOKUPS = 128


@dataclass(frozen=True, slots=True)
class Address:
    """Where a socket of a family connects to."""

    family: int
    place: tuple[str | int | bytes, ...]


Lookup = Callable[[str, int], Sequence[Address]]


def system_lookup(host: str, port: int) -> Sequence[Address]:
    """Ask the operating system for the addresses of a host; this blocks; raise OSError."""
    rows = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [Address(family, place) for family, _, _, _, place in rows]


class Resolver:
    """Resolve names, each at most once at a time, in threads that nobody waits for when the process ends."""

    def __init__(self, lookup: Lookup) -> None:
        self._lookup = lookup
        self._running: dict[tuple[str, int], asyncio.Future[Sequence[Address] | NetError]] = {}

    async def addresses(self, host: str, port: int) -> Sequence[Address]:
        """Return the addresses of a host, the families in turns; raise NetError."""
        if (literal := _literal(host, port)) is not None:
            return (literal,)
        found = await asyncio.shield(self._asked(host, port))
        if isinstance(found, NetError):
            raise found
        return _in_turns(found)

    def _asked(self, host: str, port: int) -> asyncio.Future[Sequence[Address] | NetError]:
        key = (host, port)
        running = self._running.get(key)
        if running is not None:
            return running
        if len(self._running) >= _MOST_LOOKUPS:
            raise NetError("connect", "too many host names wait for the resolver", sent=False)
        loop = asyncio.get_running_loop()
        told = self._running[key] = loop.create_future()

        def tell(found: Sequence[Address] | NetError) -> None:
            del self._running[key]
            if not told.done():
                told.set_result(found)

        def work() -> None:
            found = _found(self._lookup, host, port)
            # Nobody listens any more where the loop was closed meanwhile.
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(tell, found)

        threading.Thread(target=work, name="resolver", daemon=True).start()
        return told


def _found(lookup: Lookup, host: str, port: int) -> Sequence[Address] | NetError:
    try:
        return lookup(host, port)
    except OSError as error:
        return not_resolved(error)
    except UnicodeError:
        return NetError("connect", "the host name is none", sent=False)


def _literal(host: str, port: int) -> Address | None:
    try:
        row = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST | socket.AI_NUMERICSERV
        )[0]
    except (OSError, UnicodeError):
        return None
    return Address(row[0], row[4])


def _in_turns(addresses: Sequence[Address]) -> Sequence[Address]:
    """Return addresses so that the families take turns, the first one's first (RFC 8305, 4)."""
    first = [each for each in addresses if each.family == addresses[0].family]
    others = [each for each in addresses if each.family != addresses[0].family]
    turns = chain.from_iterable(zip_longest(first, others))
    return [each for each in turns if each is not None]


async def connected(addresses: Sequence[Address]) -> socket.socket:
    """Return a socket that is connected to one of the addresses; raise NetError."""
    if len(addresses) == 1:
        try:
            return await _one(addresses[0])
        except OSError as error:
            raise unreached([error]) from None
    return await _Race().run(addresses)


async def _one(address: Address) -> socket.socket:
    made = socket.socket(address.family, socket.SOCK_STREAM)
    try:
        made.settimeout(0)
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        await asyncio.get_running_loop().sock_connect(made, address.place)
    except BaseException:
        made.close()
        raise
    return made


class _Race:
    """Several addresses that try; the first that is connected wins."""

    def __init__(self) -> None:
        self._winner: socket.socket | None = None
        self._failures: list[OSError] = []
        self._bell = asyncio.Event()

    async def run(self, addresses: Sequence[Address]) -> socket.socket:
        async with asyncio.TaskGroup() as tasks:
            runners = []
            try:
                for address in addresses:
                    runners.append(tasks.create_task(self._try(address)))
                    await self._heard(_HEAD_START_SECONDS)
                    if self._winner is not None:
                        break
                while self._winner is None and len(self._failures) < len(addresses):
                    await self._heard(None)
            except BaseException:
                self._close()
                raise
            finally:
                for runner in runners:
                    runner.cancel()
        if self._winner is None:
            raise unreached(self._failures)
        return self._winner

    async def _heard(self, seconds: float | None) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._bell.wait()
        self._bell.clear()

    async def _try(self, address: Address) -> None:
        try:
            made = await _one(address)
        except OSError as error:
            self._failures.append(error)
        else:
            if self._winner is None:
                self._winner = made
            else:
                made.close()
        self._bell.set()

    def _close(self) -> None:
        if self._winner is not None:
            self._winner.close()
