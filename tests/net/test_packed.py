"""Bodies that are packed although nobody asked for it: whole, broken, and far larger than they look."""

from __future__ import annotations

import gzip
import tracemalloc
import zlib
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.net.calls import call, streamed
from tests.net.raw import OK, Peer, answer, chunked, once, serve, serving
from vmcp.net.client import HttpClient
from vmcp.net.errors import BodyTooLarge, NetError
from vmcp.net.packed import unpacked, unpacker
from vmcp.net.tls import SYSTEM

MEGABYTE = 2**20
TEXT = "für alle 日本 ".encode() * 2000


def bare(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-15)
    return packer.compress(data) + packer.flush()


def named(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=31)
    packed = packer.compress(data) + packer.flush()
    return packed[:3] + b"\x08" + packed[4:10] + b"name\0" + packed[10:]


WAYS = [
    pytest.param("gzip", gzip.compress, id="gzip"),
    pytest.param("GZip", named, id="gzip with a name"),
    pytest.param("x-gzip", gzip.compress, id="x-gzip"),
    pytest.param("deflate", zlib.compress, id="deflate"),
    pytest.param("deflate", bare, id="deflate without its head"),
    pytest.param("deflate", lambda data: zlib.compress(data, 0), id="deflate that packs nothing"),
    pytest.param("deflate", gzip.compress, id="gzip that is called deflate"),
]


def pieces(data: bytes, size: int) -> list[bytes]:
    return [data[at : at + size] for at in range(0, len(data), size)]


@pytest.mark.parametrize(("coding", "pack"), WAYS)
@pytest.mark.parametrize("size", [1, 7, MEGABYTE])
async def test_a_packed_body_is_unpacked(
    client: HttpClient, coding: str, pack: Callable[[bytes], bytes], size: int
) -> None:
    packed = pack(TEXT[:300] if size == 1 else TEXT)
    head = OK + b"Content-Encoding: %b\r\nTransfer-Encoding: chunked\r\n\r\n" % coding.encode()
    raw = head + chunked(*pieces(packed, size))

    async with serving(serve(raw)) as site:
        for _ in range(2):
            assert (await call(client, site)).body == TEXT[: 300 if size == 1 else None]
            assert await streamed(client, site) == TEXT[: 300 if size == 1 else None]

        assert len(site.peers) == 1


@pytest.mark.parametrize("coding", ["gzip", "deflate"])
async def test_no_body_at_all_is_an_empty_one_however_it_is_called(
    client: HttpClient, coding: str
) -> None:
    async with serving(serve(answer(b"", b"Content-Encoding: " + coding.encode()))) as site:
        assert (await call(client, site)).body == b""
        assert await streamed(client, site) == b""


@pytest.mark.parametrize("coding", ["identity", "utf-8", "none", ""])
async def test_other_words_for_a_coding_change_nothing(client: HttpClient, coding: str) -> None:
    async with serving(serve(answer(b"body", b"Content-Encoding: " + coding.encode()))) as site:
        assert (await call(client, site)).body == b"body"


@pytest.mark.parametrize("coding", ["br", "zstd", "Compress"])
async def test_a_coding_that_nobody_asked_for_is_named(client: HttpClient, coding: str) -> None:
    async with serving(serve(answer(b"body", b"Content-Encoding: " + coding.encode()))) as site:
        for read in (call, streamed):
            with pytest.raises(NetError, match=f"packed as {coding.lower()}, which nobody"):
                await read(client, site)


BROKEN = [
    pytest.param("gzip", b"no gzip at all", "in another way", id="no gzip"),
    pytest.param("deflate", b"\xff" * 20, "in another way", id="no deflate"),
    pytest.param("gzip", gzip.compress(TEXT)[:-9], "before the end", id="half"),
    pytest.param("gzip", gzip.compress(TEXT)[:-1], "before the end", id="a byte short"),
    pytest.param("gzip", gzip.compress(TEXT)[:5], "before the end", id="half a head"),
    pytest.param("deflate", zlib.compress(TEXT)[:-1], "before the end", id="half of deflate"),
    pytest.param("deflate", bare(TEXT)[:-1], "before the end", id="half of bare deflate"),
    pytest.param("gzip", gzip.compress(TEXT) + b"x", "goes on", id="a byte more"),
    pytest.param("gzip", gzip.compress(TEXT) * 2, "goes on", id="twice"),
    pytest.param("gzip", gzip.compress(TEXT)[:-8] + b"\0" * 8, "in another way", id="wrong sum"),
]


@pytest.mark.parametrize(("coding", "body", "words"), BROKEN)
async def test_what_is_packed_badly_is_an_error(
    client: HttpClient, coding: str, body: bytes, words: str
) -> None:
    whole = answer(body, b"Content-Encoding: " + coding.encode())

    async with serving(serve(whole)) as site:
        for read in (call, streamed):
            with pytest.raises(NetError, match=words) as error:
                await read(client, site)
            assert (error.value.stage, error.value.sent) == ("read", True)


async def test_a_stream_shows_what_has_been_flushed(client: HttpClient) -> None:
    packer = zlib.compressobj(wbits=31)
    parts = [packer.compress(text) + packer.flush(zlib.Z_SYNC_FLUSH) for text in (b"one", b"two")]

    async def script(peer: Peer) -> None:
        await peer.request()
        await peer.say(OK + b"Content-Encoding: gzip\r\n\r\n" + parts[0])
        await peer.reader.readexactly(1)

    async with serving(script) as site:
        response = await client.send("GET", site.url, {}, None, SYSTEM)
        found = response.chunks()
        assert await anext(found) == b"one"
        site.peers.all[0].writer.write(parts[1])
        assert await anext(found) == b"two"
        response.close()


def bomb(size: int) -> bytes:
    packer = zlib.compressobj(9, wbits=31)
    block = bytes(MEGABYTE)
    packed = [packer.compress(block) for _ in range(size // MEGABYTE)]
    return b"".join(packed) + packer.flush()


async def test_a_limit_is_one_of_what_is_unpacked(client: HttpClient) -> None:
    async with serving(
        serve(answer(gzip.compress(bytes(1000)), b"Content-Encoding: gzip"))
    ) as site:
        assert (await call(client, site, limit=1000)).body == bytes(1000)
        with pytest.raises(BodyTooLarge, match="larger than 999 bytes"):
            await call(client, site, limit=999)

        assert len(site.peers) == 1


async def test_a_few_bytes_that_stand_for_many_do_not_fill_the_memory(client: HttpClient) -> None:
    raw = answer(bomb(300 * MEGABYTE), b"Content-Encoding: gzip")

    async with serving(once(raw)) as site:
        tracemalloc.start()
        with pytest.raises(BodyTooLarge):
            await call(client, site, limit=4 * MEGABYTE)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()

    assert peak < 16 * MEGABYTE


async def test_a_stream_of_many_comes_in_small_pieces(client: HttpClient) -> None:
    raw = answer(bomb(100 * MEGABYTE), b"Content-Encoding: gzip")
    size = largest = 0

    async with serving(once(raw)) as site:
        response = await client.send("GET", site.url, {}, None, SYSTEM)
        async for piece in response.chunks():
            size, largest = size + len(piece), max(largest, len(piece))

    assert size == 100 * MEGABYTE
    assert largest <= 2**18


@given(
    data=st.one_of(st.binary(max_size=2000), st.integers(0, 2**20).map(bytes)),
    pack=st.sampled_from([gzip.compress, zlib.compress, bare]),
    size=st.integers(1, 5000),
)
def test_however_it_is_cut_the_same_comes_out(
    data: bytes, pack: Callable[[bytes], bytes], size: int
) -> None:
    unpack = unpacker("gzip" if pack is gzip.compress else "deflate")
    assert unpack is not None

    assert unpacked(unpack, pieces(pack(data), size), MEGABYTE) == data
