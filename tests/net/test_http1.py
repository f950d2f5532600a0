"""What a server may say for an answer, what it may not, and what that means for the connection."""

from __future__ import annotations

import asyncio

import pytest

from tests.net.calls import Got, call, failed, streamed
from tests.net.raw import OK, Peer, answer, chunked, connections_to, once, serve, serving, turns
from tests.support.waiting import until
from vmcp.net.client import HttpClient
from vmcp.net.errors import BodyTooLarge, NetError
from vmcp.net.http1 import Response
from vmcp.net.tls import SYSTEM

CHUNKED = b"Transfer-Encoding: chunked\r\n"
HEAD_LIMIT = 64 * 2**10

# Each with its status and its body; the connection stays open.
KEPT = [
    pytest.param(answer(b"body"), 200, b"body", id="length"),
    pytest.param(answer(), 200, b"", id="length 0"),
    pytest.param(answer(b"no", status=404), 404, b"no", id="404"),
    pytest.param(answer(b"", status=202), 202, b"", id="202"),
    pytest.param(OK + CHUNKED + b"\r\n" + chunked(b"bo", b"d", b"y"), 200, b"body", id="chunked"),
    pytest.param(OK + CHUNKED + b"\r\n" + chunked(), 200, b"", id="chunked and empty"),
    pytest.param(
        OK + CHUNKED + b'\r\n4;a=b;c="d"\r\nbody\r\n000;x\r\n\r\n', 200, b"body", id="extensions"
    ),
    pytest.param(
        OK + CHUNKED + b"\r\n4\r\nbody\r\n0\r\nContent-Encoding: gzip\r\nX: y\r\n\r\n",
        200,
        b"body",
        id="trailer",
    ),
    pytest.param(OK + CHUNKED * 2 + b"\r\n" + chunked(b"body"), 200, b"body", id="chunked twice"),
    pytest.param(
        OK + b"transfer-encoding: Chunked \r\n\r\n" + chunked(b"body"), 200, b"body", id="Chunked"
    ),
    pytest.param(b"HTTP/1.1 204 No Content\r\n\r\n", 204, b"", id="204"),
    pytest.param(b"HTTP/1.1 204\r\nContent-Length: 4\r\n\r\n", 204, b"", id="204 with a length"),
    pytest.param(b"HTTP/1.1 304 Same\r\nContent-Length: 4\r\n\r\n", 304, b"", id="304"),
    pytest.param(b"HTTP/1.1 100 Continue\r\n\r\n" + answer(b"body"), 200, b"body", id="100"),
    pytest.param(
        b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\nContent-Encoding: gzip\r\n\r\n" * 3
        + answer(b"body"),
        200,
        b"body",
        id="103 thrice",
    ),
    pytest.param(
        b"HTTP/1.1 102 P\r\nContent-Length: 4\r\n\r\n" + answer(b"body"), 200, b"body", id="102"
    ),
    pytest.param(
        b"HTTP/1.1 104 New\r\nContent-Length: 3\r\n\r\nnew" + answer(b"body"),
        200,
        b"body",
        id="unknown 1xx with a body",
    ),
    pytest.param(
        b"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 4\r\n\r\nbody",
        200,
        b"body",
        id="1.0 kept alive",
    ),
    pytest.param(
        OK + b"Upgrade: h2c\r\nConnection: Upgrade\r\nContent-Length: 4\r\n\r\nbody",
        200,
        b"body",
        id="an upgrade offered",
    ),
    pytest.param(OK + b"X:\r\nContent-Length:  4 \t\r\n\r\nbody", 200, b"body", id="space"),
    pytest.param(answer(b"body") + b"\r\n", 200, b"body", id="a line end too many"),
]

# Each with its body, once the server has closed the connection, or says that it will.
CLOSED = [
    pytest.param(answer(b"body", b"Connection: close"), b"body", id="close"),
    pytest.param(answer(b"body", b"Connection: x, Close"), b"body", id="close among others"),
    pytest.param(
        OK + CHUNKED + b"Connection: close\r\n\r\n" + chunked(b"body"), b"body", id="chunked"
    ),
    pytest.param(b"HTTP/1.0 200 OK\r\nContent-Length: 4\r\n\r\nbody", b"body", id="1.0"),
]
UNTIL_CLOSE = [
    pytest.param(OK + b"\r\nbody", b"body", id="1.1"),
    pytest.param(OK + b"\r\n", b"", id="empty"),
    pytest.param(OK + b"Connection: keep-alive\r\n\r\nbody", b"body", id="that says keep-alive"),
    pytest.param(b"HTTP/1.0 200 OK\r\n\r\nbody", b"body", id="1.0"),
    pytest.param(b"HTTP/1.1 100 C\r\n\r\n" + OK + b"\r\nbody", b"body", id="after 100"),
]

# What is wrong while the connection stays open.
WRONG = [
    pytest.param(b"hello\r\n\r\n", id="no HTTP"),
    pytest.param(b"GET / HTTP/1.1\r\n\r\n", id="a request"),
    pytest.param(b"\x16\x03\x01\x02\x00\x01", id="TLS"),
    pytest.param(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", id="HTTP/2"),
    pytest.param(b"HTTP/3.7 200 OK\r\n\r\n", id="another version"),
    pytest.param(b"HTTP/1.1 20 OK\r\n\r\n", id="two digits"),
    pytest.param(b"HTTP/1.1 2000 OK\r\n\r\n", id="four digits"),
    pytest.param(b"HTTP/1.1 101 S\r\n\r\n" + answer(b"body"), id="101"),
    pytest.param(
        b"HTTP/1.1 101 S\r\nUpgrade: ws\r\nConnection: upgrade\r\n\r\n\x81\x00", id="upgrade"
    ),
    pytest.param(OK + b"Content-Length: 4\r\nContent-Length: 4\r\n\r\nbody", id="length twice"),
    pytest.param(OK + b"Content-Length: 4\r\nContent-Length: 5\r\n\r\nbody", id="two lengths"),
    pytest.param(OK + b"Content-Length: 4, 4\r\n\r\nbody", id="a list of lengths"),
    pytest.param(OK + b"Content-Length: -4\r\n\r\nbody", id="negative length"),
    pytest.param(OK + b"Content-Length: +4\r\n\r\nbody", id="length with a sign"),
    pytest.param(OK + b"Content-Length: 0x4\r\n\r\nbody", id="hexadecimal length"),
    pytest.param(OK + b"Content-Length:\r\n\r\nbody", id="empty length"),
    pytest.param(OK + b"Content-Length: %d\r\n\r\nbody" % 2**64, id="length beyond 64 bits"),
    pytest.param(OK + b"Content-Length: 4\r\n" + CHUNKED + b"\r\n", id="length and chunked"),
    pytest.param(OK + CHUNKED + b"Content-Length: 4\r\n\r\n", id="chunked and length"),
    pytest.param(OK + b"Transfer-Encoding: gzip, chunked\r\n\r\n", id="gzip, chunked"),
    pytest.param(OK + b"Transfer-Encoding: gzip\r\n\r\n", id="gzip as transfer coding"),
    pytest.param(OK + b"Transfer-Encoding: xchunked\r\n\r\n", id="xchunked"),
    pytest.param(OK + b"Transfer-Encoding: chunked, identity\r\n\r\n", id="chunked, identity"),
    pytest.param(OK + CHUNKED + b"Transfer-Encoding: gzip\r\n\r\n", id="chunked, then gzip"),
    pytest.param(OK + b"Transfer-Encoding: chunked\t\r\n\r\n", id="chunked and a tab"),
    pytest.param(OK + b"X: a\r\n b\r\nContent-Length: 0\r\n\r\n", id="a folded header"),
    pytest.param(OK + b"X: a\0b\r\nContent-Length: 0\r\n\r\n", id="NUL in a value"),
    pytest.param(OK + b"X\0: a\r\nContent-Length: 0\r\n\r\n", id="NUL in a name"),
    pytest.param(OK + b"X : a\r\nContent-Length: 0\r\n\r\n", id="space before the colon"),
    pytest.param(OK + b"X: a\rb\r\nContent-Length: 0\r\n\r\n", id="a bare CR"),
    pytest.param(b"HTTP/1.1 200 OK\nContent-Length: 0\n\n", id="bare LFs"),
    pytest.param(OK + CHUNKED + b"\r\nbody\r\n", id="no size of a chunk"),
    pytest.param(OK + CHUNKED + b"\r\n-1\r\n", id="negative chunk"),
    pytest.param(OK + CHUNKED + b"\r\n%x\r\n" % 2**64, id="chunk beyond 64 bits"),
    pytest.param(OK + CHUNKED + b"\r\n2\r\nbody\r\n", id="chunk longer than its size"),
    pytest.param(OK + CHUNKED + b"\r\n4\r\nbody\r\n0\r\nX\r\n\r\n", id="half a trailer"),
    pytest.param(OK + b"X: " + b"x" * HEAD_LIMIT + b"\r\n\r\n", id="a huge header"),
    pytest.param(OK + b"X: 1\r\n" * (HEAD_LIMIT // 2) + b"\r\n", id="many headers"),
]

# What is wrong once the connection ends, and the stage that it is told of.
BROKEN_OFF = [
    pytest.param(b"", "send", id="nothing"),
    pytest.param(b"H", "send", id="a byte"),
    pytest.param(OK + b"Content", "send", id="half a head"),
    pytest.param(b"HTTP/1.1 100 Continue\r\n\r\n", "send", id="an interim answer"),
    pytest.param(OK + b"Content-Length: 5\r\n\r\nbody", "read", id="half a length"),
    pytest.param(OK + b"Content-Length: 5\r\n\r\n", "read", id="none of a length"),
    pytest.param(OK + CHUNKED + b"\r\n5\r\nbody", "read", id="half a chunk"),
    pytest.param(OK + CHUNKED + b"\r\n4\r\nbody\r\n", "read", id="no last chunk"),
    pytest.param(OK + CHUNKED + b"\r\n4\r\nbody\r\n0\r\n", "read", id="no end of the trailer"),
    pytest.param(
        OK + CHUNKED + b"\r\n4\r\nbody\r\n0\r\nX: y\r\n", "read", id="no end behind a trailer"
    ),
]


@pytest.mark.parametrize(("raw", "status", "body"), KEPT)
async def test_an_answer_is_read_and_its_connection_used_again(
    client: HttpClient, raw: bytes, status: int, body: bytes
) -> None:
    async with serving(serve(raw)) as site:
        for _ in range(3):
            assert await call(client, site) == Got(status, body)
        assert await streamed(client, site) == body

        assert len(site.peers) == 1


@pytest.mark.parametrize(("raw", "status", "body"), KEPT)
async def test_an_answer_may_be_split_anywhere(
    client: HttpClient, raw: bytes, status: int, body: bytes
) -> None:
    async def script(peer: Peer) -> None:
        for at in range(1, len(raw)):
            await peer.request()
            await peer.say(raw[:at], raw[at:])
        await peer.request()
        await peer.say(*(raw[at : at + 1] for at in range(len(raw))))
        await peer.gone()

    async with serving(script) as site:
        for _ in range(len(raw)):
            assert await call(client, site) == Got(status, body)


@pytest.mark.parametrize(("raw", "body"), CLOSED)
async def test_a_connection_that_is_to_be_closed_is_closed_at_once(
    client: HttpClient, raw: bytes, body: bytes
) -> None:
    async with serving(once(raw)) as site:
        for number in range(1, 4):
            assert await call(client, site) == Got(200, body)
            assert len(site.peers) == number


@pytest.mark.parametrize(("raw", "body"), [*CLOSED, *UNTIL_CLOSE])
async def test_an_answer_may_end_with_its_connection(
    client: HttpClient, raw: bytes, body: bytes
) -> None:
    async with serving(once(raw, then=Peer.close)) as site:
        assert await call(client, site) == Got(200, body)
        assert await streamed(client, site) == body

        assert len(site.peers) == 2


@pytest.mark.parametrize(("raw", "body"), UNTIL_CLOSE)
async def test_an_answer_that_ends_with_its_connection_may_be_split_anywhere(
    client: HttpClient, raw: bytes, body: bytes
) -> None:
    async def script(peer: Peer) -> None:
        await peer.request()
        at = peer.number + 1
        await peer.say(raw[:at], raw[at:])
        peer.close()

    async with serving(script) as site:
        for _ in range(len(raw)):
            assert await call(client, site) == Got(200, body)


async def test_a_body_without_an_end_comes_piece_by_piece(client: HttpClient) -> None:
    async def script(peer: Peer) -> None:
        await peer.request()
        await peer.say(OK + b"\r\none")
        await peer.reader.readexactly(1)

    async with serving(script) as site:
        response = await client.send("POST", site.url, {}, b"{}", SYSTEM)
        pieces = response.chunks()
        assert await anext(pieces) == b"one"
        response.close()


@pytest.mark.parametrize("raw", WRONG)
async def test_what_is_no_answer_is_an_error_at_once(client: HttpClient, raw: bytes) -> None:
    async with serving(once(raw), serve(answer(b"next"))) as site:
        error = await failed(client, site)

        assert (error.stage, error.sent) == ("read", True)
        assert await call(client, site) == Got(200, b"next")
        assert len(site.peers) == 2


@pytest.mark.parametrize(
    "raw", [pytest.param(each.values[0], id=each.id) for each in WRONG if len(each.values[0]) < 999]
)
async def test_what_is_no_answer_may_come_byte_by_byte(client: HttpClient, raw: bytes) -> None:
    async with serving(
        once(*(raw[at : at + 1] for at in range(len(raw)))), serve(answer(b"next"))
    ) as site:
        assert (await failed(client, site)).stage == "read"
        assert await call(client, site) == Got(200, b"next")


@pytest.mark.parametrize(("raw", "stage"), BROKEN_OFF)
@pytest.mark.parametrize("end", [Peer.close, Peer.reset])
async def test_half_an_answer_is_an_error(
    client: HttpClient, raw: bytes, stage: str, end: object
) -> None:
    assert callable(end)

    async with serving(once(raw, then=end), serve(answer(b"next"))) as site:
        error = await failed(client, site)

        assert (error.stage, error.sent) == (stage, True)
        assert await call(client, site) == Got(200, b"next")


@pytest.mark.parametrize(
    ("raw", "stage"), [each for each in BROKEN_OFF if b"chunked" in each.values[0]]
)
async def test_half_a_stream_gives_its_pieces_and_then_an_error(
    client: HttpClient, raw: bytes, stage: str
) -> None:
    found = bytearray()

    async with serving(once(raw, then=Peer.close)) as site:
        response = await client.send("POST", site.url, {}, b"{}", SYSTEM)
        with pytest.raises(NetError, match="the connection was closed") as error:
            await _collect(response, found)

    assert found == b"body"
    assert error.value.stage == stage


async def _collect(response: Response, found: bytearray) -> None:
    async for piece in response.chunks():
        found += piece


async def test_an_until_close_body_that_is_reset_is_an_error(client: HttpClient) -> None:
    async with serving(once(OK + b"\r\nhalf", then=Peer.reset)) as site:
        error = await failed(client, site)

    assert (error.stage, str(error)) == ("read", "the connection broke: Connection reset by peer")


async def test_a_body_that_the_client_cuts_itself_does_not_look_whole(client: HttpClient) -> None:
    async with serving(once(OK + b"\r\nhalf")) as site:
        response = await client.send("POST", site.url, {}, b"{}", SYSTEM)
        async with asyncio.TaskGroup() as tasks:
            reading = tasks.create_task(_read(response.read(99)))
            await turns()
            await client.close()

    assert isinstance(reading.result(), NetError)


async def _read(reading: object) -> object:
    assert asyncio.iscoroutine(reading)
    try:
        return await reading
    except NetError as error:
        return error


@pytest.mark.parametrize(
    "second",
    [
        pytest.param(answer(b"stray"), id="another answer"),
        pytest.param(answer(b"stray")[:9], id="half of one"),
        pytest.param(b"HTTP/1.1 100 Continue\r\n\r\n", id="an interim answer"),
        pytest.param(b"x", id="a byte"),
    ],
)
@pytest.mark.parametrize("packets", [1, 2])
async def test_what_was_not_asked_for_is_never_taken_for_the_next_answer(
    client: HttpClient, second: bytes, packets: int
) -> None:
    first = answer(b"first")
    said = (first + second,) if packets == 1 else (first, second)

    async with serving(once(*said), serve(answer(b"next"))) as site:
        assert await call(client, site) == Got(200, b"first")
        await until(lambda: not connections_to(site.port))
        assert await call(client, site) == Got(200, b"next")


async def test_an_answer_may_come_before_the_request_is_taken(client: HttpClient) -> None:
    async def hasty(peer: Peer) -> None:
        await peer.reader.readuntil(b"\r\n\r\n")
        peer.writer.transport.pause_reading()  # type: ignore[attr-defined]
        await peer.say(answer(b"too much", status=413))
        await peer.writer.wait_closed()

    async with serving(hasty, serve(answer(b"next"))) as site:
        assert await call(client, site, b"x" * 16 * 2**20) == Got(413, b"too much")
        assert await call(client, site) == Got(200, b"next")


@pytest.mark.parametrize("more", [(), (b"Connection: close",)], ids=["silently", "said"])
async def test_an_early_answer_counts_though_the_connection_ends_behind_it(
    client: HttpClient, more: tuple[bytes, ...]
) -> None:
    async def hasty(peer: Peer) -> None:
        await peer.reader.readuntil(b"\r\n\r\n")
        peer.writer.write(answer(b"too much", *more, status=413))
        peer.close()

    async with serving(hasty) as site:
        assert await call(client, site, b"x" * 16 * 2**20) == Got(413, b"too much")


async def test_an_early_answer_until_close_needs_no_end_of_the_request(client: HttpClient) -> None:
    async def hasty(peer: Peer) -> None:
        await peer.reader.readuntil(b"\r\n\r\n")
        peer.writer.transport.pause_reading()  # type: ignore[attr-defined]
        await peer.say(OK + b"\r\nenough")
        peer.writer.write_eof()
        await peer.writer.wait_closed()

    async with serving(hasty) as site:
        assert await call(client, site, b"x" * 16 * 2**20) == Got(200, b"enough")


async def test_an_answer_counts_though_the_connection_is_closed_right_behind_it(
    client: HttpClient,
) -> None:
    async def script(peer: Peer) -> None:
        await peer.request()
        peer.writer.write(answer(b"body"))
        peer.close()

    async with serving(script) as site:
        for number in range(1, 4):
            assert await call(client, site) == Got(200, b"body")
            await turns()
            assert len(site.peers) == number


ENDLESS = [
    pytest.param(b"HTTP/1.1 200 " + b"x" * 100, b"x" * 999, id="status line"),
    pytest.param(OK + b"X: ", b"x" * 999, id="header"),
    pytest.param(OK, b"X: 1\r\n" * 99, id="headers"),
    pytest.param(b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 9, id="interim answers"),
    pytest.param(b"", b"\r\n" * 99, id="line ends"),
    pytest.param(OK + CHUNKED + b"\r\n1;", b"x" * 999, id="extension of a chunk"),
    pytest.param(OK + CHUNKED + b"\r\n", b"0" * 999, id="size of a chunk"),
    pytest.param(OK + CHUNKED + b"\r\n1\r\nx\r\n0\r\nX: ", b"x" * 999, id="trailer"),
    pytest.param(OK + CHUNKED + b"\r\n1\r\nx\r\n0\r\n", b"X: 1\r\n" * 99, id="trailers"),
]


@pytest.mark.parametrize(("begin", "more"), ENDLESS)
async def test_what_never_ends_beside_a_body_is_an_error(
    client: HttpClient, begin: bytes, more: bytes
) -> None:
    said = 0

    async def endless(peer: Peer) -> None:
        nonlocal said
        await peer.request()
        peer.writer.write(begin)
        while True:
            await peer.say(more)
            await peer.writer.drain()
            said += len(more)

    async with serving(endless) as site:
        error = await failed(client, site)

    assert error.stage == "read"
    assert said <= 2 * HEAD_LIMIT


async def test_many_small_chunks_are_no_endless_head(client: HttpClient) -> None:
    small = [b"%x;%b\r\n%b\r\n" % (1, b"x" * 999, b"y")] * 200

    async with serving(once(OK + CHUNKED + b"\r\n", *small, b"0\r\n\r\n")) as site:
        assert await streamed(client, site) == b"y" * 200


@pytest.mark.parametrize("pieces", [1, 7])
async def test_a_head_just_below_its_limit_is_taken(client: HttpClient, pieces: int) -> None:
    raw = answer(b"body", b"X: " + b"x" * (HEAD_LIMIT - 100))
    size = len(raw) // pieces + 1

    async with serving(once(*(raw[at : at + size] for at in range(0, len(raw), size)))) as site:
        assert await call(client, site) == Got(200, b"body")


@pytest.mark.parametrize("raw", [answer(b"12345"), OK + CHUNKED + b"\r\n" + chunked(b"12", b"345")])
async def test_a_body_may_have_just_as_many_bytes_as_its_limit(
    client: HttpClient, raw: bytes
) -> None:
    async with serving(serve(raw)) as site:
        assert (await call(client, site, limit=5)).body == b"12345"
        with pytest.raises(BodyTooLarge, match="larger than 4 bytes"):
            await call(client, site, limit=4)


async def test_a_length_above_the_limit_fails_before_the_body_comes(client: HttpClient) -> None:
    async with serving(once(OK + b"Content-Length: 6\r\n\r\n")) as site:
        with pytest.raises(BodyTooLarge):
            await call(client, site, limit=5)
        await until(lambda: not connections_to(site.port))


async def test_chunks_beyond_the_limit_end_the_connection(client: HttpClient) -> None:
    async def endless(peer: Peer) -> None:
        await peer.request()
        await peer.say(OK + CHUNKED + b"\r\n")
        while True:
            await peer.say(b"10000\r\n" + b"x" * 0x10000 + b"\r\n")
            await peer.writer.drain()

    async with serving(endless, serve(answer(b"next"))) as site:
        with pytest.raises(BodyTooLarge):
            await call(client, site, limit=2**20)
        assert await call(client, site) == Got(200, b"next")


async def test_a_whole_body_that_is_too_large_leaves_the_connection_to_others(
    client: HttpClient,
) -> None:
    async def script(peer: Peer) -> None:
        await peer.request()
        await peer.say(answer(b"large"))
        await peer.request()
        await peer.say(OK + b"Content-Length: 4\r\n\r\nbo")
        await peer.reader.readexactly(1)

    async with serving(script) as site:
        first = await client.send("POST", site.url, {}, b"1", SYSTEM)
        second = await client.send("POST", site.url, {}, b"2", SYSTEM)
        with pytest.raises(BodyTooLarge):
            await first.read(4)
        first.close()

        async with asyncio.TaskGroup() as tasks:
            reading = tasks.create_task(second.read(4))
            await turns()
            site.peers.all[0].writer.write(b"dy")

        assert reading.result() == b"body"
        assert len(site.peers) == 1


async def test_of_several_headers_of_a_name_the_last_counts(client: HttpClient) -> None:
    raw = answer(b"", b"x: 1", b"X: 2", b"Content-Type: Text/Event-Stream ; charset=utf-8")

    async with serving(serve(raw)) as site:
        response = await client.send("GET", site.url, {}, None, SYSTEM)

    assert response.header("x") == response.header("X") == "2"
    assert response.header("Content-Type") == "Text/Event-Stream ; charset=utf-8"
    assert response.content_type == "text/event-stream"
    assert response.header("y") is None


async def test_the_bytes_of_a_header_are_not_shortened(client: HttpClient) -> None:
    value = "voil\u00e0 \u0085".encode()

    async with serving(serve(answer(b"", b"X:\t" + value + b"  "))) as site:
        response = await client.send("GET", site.url, {}, None, SYSTEM)

    assert response.header("X") == value.decode("latin-1")


async def test_a_trailer_says_nothing_of_the_head(client: HttpClient) -> None:
    raw = OK + CHUNKED + b"X: 1\r\n\r\n4\r\nbody\r\n0\r\nX: 2\r\nContent-Encoding: gzip\r\n\r\n"

    async with serving(serve(raw)) as site:
        response = await client.send("GET", site.url, {}, None, SYSTEM)

        assert await response.read(9) == b"body"
        assert response.header("X") == "1"
        assert response.header("Content-Encoding") is None
