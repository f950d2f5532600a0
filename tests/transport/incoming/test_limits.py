"""A body is the same however it is cut into chunks, and its bound holds for all of them together."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from vmcp.transport.incoming.asgi import Message, Receive
from vmcp.transport.incoming.limits import BODY_LIMIT, ClientLeft, Refused, body

WHOLE = b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":"\xc3\xa9"}}'


def coming(chunks: Sequence[bytes], *, is_whole: bool = True) -> Receive:
    """Return what gives the chunks of a body; one that is not whole breaks off after them."""
    messages: list[Message] = [
        {"type": "http.request", "body": chunk, "more_body": not is_whole or at < len(chunks)}
        for at, chunk in enumerate(chunks, 1)
    ]

    async def receive() -> Message:
        return messages.pop(0) if messages else {"type": "http.disconnect"}

    return receive


@pytest.mark.parametrize("place", range(len(WHOLE) + 1))
async def test_a_body_may_be_cut_at_every_byte(place: int) -> None:
    assert await body(coming([WHOLE[:place], b"", WHOLE[place:]]), {}) == WHOLE


async def test_a_body_may_come_byte_by_byte() -> None:
    assert await body(coming([bytes([each]) for each in WHOLE]), {}) == WHOLE


@pytest.mark.parametrize("place", [0, 1, len(WHOLE)])
async def test_a_body_that_breaks_off_is_none(place: int) -> None:
    with pytest.raises(ClientLeft):
        await body(coming([WHOLE[:place]], is_whole=False), {})


@pytest.mark.parametrize("more", [0, 1])
async def test_the_bound_holds_for_all_chunks_together(more: int) -> None:
    chunks = [b"x" * (BODY_LIMIT // 2), b"x" * (BODY_LIMIT // 2 + more)]
    if not more:
        assert len(await body(coming(chunks), {})) == BODY_LIMIT
        return
    with pytest.raises(Refused) as refused:
        await body(coming(chunks), {})
    assert refused.value.status == 413
