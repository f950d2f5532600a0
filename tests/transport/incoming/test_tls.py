"""The TLS of the listener: versions, chains, and certificates that change under open connections."""

from __future__ import annotations

import asyncio
import hashlib
import socket
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.support.authority import Key, certificate, ec_key, plain, put, rsa_key
from tests.support.gateways import shut
from vmcp.config.load import TlsFiles
from vmcp.transport.incoming.asgi import Receive, Scope, Send, respond
from vmcp.transport.incoming.server import listening, server
from vmcp.transport.incoming.tls import Certificate

GET = b"GET / HTTP/1.1\r\nhost: x\r\n\r\n"


async def told(scope: Scope, _receive: Receive, send: Send) -> None:
    await respond(send, 200, scope["scheme"].encode(), [])


def files(folder: Path, chain: str, key: Key) -> TlsFiles:
    found = put(folder, chain, plain(key))
    digest = hashlib.sha256(chain.encode()).hexdigest()
    return TlsFiles(Path(found["certFile"]), Path(found["keyFile"]), digest)


@asynccontextmanager
async def serving(shown: Certificate) -> AsyncIterator[int]:
    with listening("127.0.0.1", 0) as bound:
        main = server(told, 1.0, shown.context)
        async with asyncio.TaskGroup() as tasks:
            running = tasks.create_task(main.serve([bound]))
            yield bound.getsockname()[1]
            running.cancel()
            await shut(main)


def trusting(*roots: str) -> ssl.SSLContext:
    return ssl.create_default_context(cadata="".join(roots))


class Wire:
    """A connection of a client, and what it was shown."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self.tls: ssl.SSLObject = writer.get_extra_info("ssl_object")

    @property
    def name(self) -> str:
        found = self.tls.getpeercert()
        assert found is not None
        return str(found["subject"][0][0][1])

    async def get(self) -> bytes:
        self._writer.write(GET)
        await self._reader.readuntil(b"\r\n\r\n")
        return await self._reader.readexactly(5)

    def close(self) -> None:
        self._writer.close()


async def connect(port: int, context: ssl.SSLContext, name: str | None = None) -> Wire:
    pair = await asyncio.open_connection("127.0.0.1", port, ssl=context, server_hostname=name)
    return Wire(*pair)


async def test_a_connection_that_is_open_outlives_its_certificate(tmp_path: Path) -> None:
    old, new = certificate("old", ec_key()), certificate("new", ec_key("new"))
    shown = Certificate(files(tmp_path, old, ec_key()))
    async with serving(shown) as port:
        first = await connect(port, trusting(old))
        shown.show(files(tmp_path, new, ec_key("new")))

        second = await connect(port, trusting(new))

        assert (first.name, second.name) == ("old", "new")
        assert (await first.get(), await second.get()) == (b"https", b"https")
        first.close()
        second.close()


@pytest.mark.parametrize("order", [1, -1], ids=["to RSA", "to a curve"])
async def test_a_key_of_another_kind_replaces_the_one_before(tmp_path: Path, order: int) -> None:
    kinds = [("curve", ec_key()), ("rsa", rsa_key())][::order]
    chains = [certificate(*kind) for kind in kinds]
    shown = Certificate(files(tmp_path, chains[0], kinds[0][1]))
    async with serving(shown) as port:
        shown.show(files(tmp_path, chains[1], kinds[1][1]))

        wire = await connect(port, trusting(*chains))

        assert wire.name == kinds[1][0]
        wire.close()


async def test_a_chain_leads_to_a_root_that_is_not_sent(tmp_path: Path) -> None:
    root, between = ("root", ec_key("root")), ("between", ec_key("between"))
    chain = certificate("leaf", ec_key(), between) + certificate(*between, root)
    async with serving(Certificate(files(tmp_path, chain, ec_key()))) as port:
        wire = await connect(port, trusting(certificate(*root)), "127.0.0.1")

        assert wire.name == "leaf"
        wire.close()


async def test_files_that_broke_meanwhile_leave_what_is_shown(tmp_path: Path) -> None:
    old = certificate("old", ec_key())
    shown = Certificate(files(tmp_path, old, ec_key()))
    broken = files(tmp_path, certificate("new", ec_key("new")), ec_key())
    async with serving(shown) as port:
        shown.show(broken)

        wire = await connect(port, trusting(old))

        assert wire.name == "old"
        wire.close()


async def test_http_1_is_agreed_on_and_nothing_below_tls_1_2(tmp_path: Path) -> None:
    own = certificate("own", ec_key())
    modern, older = trusting(own), trusting(own)
    modern.set_alpn_protocols(["h2", "http/1.1"])
    older.set_ciphers("ALL:@SECLEVEL=0")
    older.minimum_version = ssl.TLSVersion.MINIMUM_SUPPORTED
    with pytest.warns(DeprecationWarning, match="TLSv1_1"):
        older.maximum_version = ssl.TLSVersion.TLSv1_1
    async with serving(Certificate(files(tmp_path, own, ec_key()))) as port:
        wire = await connect(port, modern)
        with pytest.raises((ssl.SSLError, ConnectionResetError)):
            await connect(port, older)

        assert wire.tls.selected_alpn_protocol() == "http/1.1"
        assert wire.tls.version() == "TLSv1.3"
        wire.close()


async def test_who_speaks_plain_http_or_nothing_harms_nobody(tmp_path: Path) -> None:
    own = certificate("own", ec_key())
    async with serving(Certificate(files(tmp_path, own, ec_key()))) as port:
        with socket.create_connection(("127.0.0.1", port)):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(GET)
            assert b"HTTP/1.1 200" not in await reader.read()
            writer.close()

            wire = await connect(port, trusting(own))

            assert await wire.get() == b"https"
            wire.close()
