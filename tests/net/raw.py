"""A server of which a test says every byte: what it sends in which packet, and how it goes."""

from __future__ import annotations

import asyncio
import re
import socket
import ssl
import struct
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from tests.support.ports import lasting_port
from tests.support.waiting import SECONDS, Journal
from vmcp.net.url import Url, parse

OK = b"HTTP/1.1 200 OK\r\n"
# How often the loop turns until a packet that was sent has been received for sure.
_TURNS = 5


async def turns() -> None:
    """Let the loop turn until what was sent has been received."""
    for _ in range(_TURNS):
        await asyncio.sleep(0)


def answer(body: bytes = b"", *more: bytes, status: int = 200) -> bytes:
    """Return a plain answer with a length."""
    lines = [b"Content-Length: %d" % len(body), *more]
    return b"HTTP/1.1 %d OK\r\n" % status + b"\r\n".join(lines) + b"\r\n\r\n" + body


def chunked(*pieces: bytes) -> bytes:
    """Return pieces as the chunks of a body, with its end."""
    return b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in (*pieces, b""))


@dataclass(eq=False)
class Peer:
    """The server's end of one connection."""

    number: int
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    requests: list[bytes] = field(default_factory=list)

    async def request(self) -> bytes:
        """Wait for a whole request."""
        head = await self.reader.readuntil(b"\r\n\r\n")
        length = re.search(rb"\r\nContent-Length: (\d+)\r\n", head)
        body = await self.reader.readexactly(int(length[1])) if length else b""
        self.requests.append(head + body)
        return head + body

    async def say(self, *packets: bytes) -> None:
        """Send each of these in a packet of its own, as long as there is somebody to take them."""
        for packet in packets:
            if self.writer.is_closing():
                return
            self.writer.write(packet)
            await turns()

    async def serve(self, *answers: bytes) -> None:
        """Give one answer to each request, the last of them for ever."""
        for one in answers:
            await self.request()
            await self.say(one)
        while True:
            await self.request()
            await self.say(answers[-1])

    def close(self) -> None:
        """End the connection as one should."""
        self.writer.close()

    def cut(self) -> None:
        """End the connection without a word of TLS."""
        with suppress(AttributeError):
            # A transport of asyncio forgets its loop once it is closed.
            self.writer.transport.abort()

    def reset(self) -> None:
        """Break the connection."""
        own: socket.socket = self.writer.get_extra_info("socket")
        own.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.cut()

    async def gone(self) -> None:
        """Wait until the client has ended the connection."""
        with suppress(ConnectionError):
            while await self.reader.read(2**16):
                pass


Script = Callable[[Peer], Awaitable[None]]


def serve(*answers: bytes) -> Script:
    """Return a script that gives these answers, the last of them for ever."""

    async def script(peer: Peer) -> None:
        await peer.serve(*answers)

    return script


def once(*packets: bytes, then: Callable[[Peer], None] | None = None) -> Script:
    """Return a script that takes a request, sends these packets, and then goes that way."""

    async def script(peer: Peer) -> None:
        await peer.request()
        await peer.say(*packets)
        if then is not None:
            then(peer)
        await peer.gone()

    return script


class Site:
    """A server whose connections follow scripts, one after the other and the last for ever."""

    def __init__(self, scripts: tuple[Script, ...], scheme: str) -> None:
        self._scripts = scripts
        self._scheme = scheme
        self._tasks: set[asyncio.Task[None]] = set()
        self._faults: list[BaseException] = []
        self.port = 0
        self.peers: Journal[Peer] = Journal()

    @property
    def url(self) -> Url:
        """Where it is."""
        return self.at("127.0.0.1")

    def at(self, host: str, path: str = "/mcp") -> Url:
        """Return where it is under another name."""
        return parse(f"{self._scheme}://{host}:{self.port}{path}")

    def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Begin with the script of a new connection."""
        peer = Peer(len(self.peers), reader, writer)
        self.peers.add(peer)
        script = self._scripts[min(peer.number, len(self._scripts) - 1)]
        task = asyncio.get_running_loop().create_task(self._run(script, peer))
        self._tasks.add(task)

    async def _run(self, script: Script, peer: Peer) -> None:
        try:
            await script(peer)
        except (OSError, asyncio.IncompleteReadError):
            pass
        except Exception as error:  # noqa: BLE001 - it is raised when the site closes
            self._faults.append(error)
        finally:
            peer.cut()

    async def close(self) -> None:
        """End all connections; raise what went wrong in a script."""
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)
        await turns()
        if self._faults:
            raise self._faults[0]


@asynccontextmanager
async def serving(
    *scripts: Script, tls: ssl.SSLContext | None = None, seconds: float | None = 2 * SECONDS
) -> AsyncIterator[Site]:
    """Run a site for the block, which may not take longer than so many seconds."""
    site = Site(scripts, "http" if tls is None else "https")
    server = await asyncio.start_server(site.accept, "127.0.0.1", 0, ssl=tls)
    site.port = server.sockets[0].getsockname()[1]
    try:
        async with asyncio.timeout(seconds):
            yield site
    finally:
        server.close()
        await site.close()


def sockets() -> frozenset[str]:
    """Return the sockets to other places that this process has open, by the names that the system gives them.

    Those within the machine are the event loop's own, of which uvloop makes new ones each time that it runs.
    """
    targets = {_target(each) for each in Path("/proc/self/fd").iterdir()}
    own = {f"socket:[{line.split()[6]}]" for line in _rows("unix")}
    return frozenset(each for each in targets - own if each.startswith("socket:"))


def _rows(table: str) -> list[str]:
    return Path("/proc/net", table).read_text().splitlines()[1:]


def addresses(names: frozenset[str]) -> list[str]:
    """Return what the system tells of sockets: their protocol, both addresses and their state."""
    found = []
    for table in ("tcp", "tcp6", "udp", "udp6", "unix"):
        for line in Path("/proc/net", table).read_text().splitlines():
            found += [f"{table} {line}" for name in names if name[8:-1] in line.split()]
    return found


def _target(link: Path) -> str:
    try:
        return str(link.readlink())
    except FileNotFoundError:
        return ""


@contextmanager
def deaf() -> Iterator[Url]:
    """Give a place that takes no connection and refuses none."""
    with socket.create_server(("127.0.0.1", 0), backlog=0) as server, ExitStack() as waiting:
        place = server.getsockname()
        for _ in range(4):
            # Once as many wait as may, nobody hears of the next one.
            one = waiting.enter_context(socket.socket())
            one.settimeout(0)
            one.connect_ex(place)
        yield parse(f"http://127.0.0.1:{place[1]}/mcp")


def closed_port() -> int:
    """Return a port where nobody listens."""
    return lasting_port()


def connections_to(port: int) -> int:
    """Return how many sockets somebody holds open to a port of this machine."""
    rows = [row.split() for row in _rows("tcp")]
    return sum(row[2].endswith(f":{port:04X}") and row[9] != "0" for row in rows)
