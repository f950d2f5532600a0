"""Arrays of messages, with which servers of 2025-03-26 may answer."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from vmcp.protocol import jsonrpc
from vmcp.protocol.failures import BackendFailed
from vmcp.transport.outgoing import answers

LOG = b'{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info"}}'
OTHER = b'{"jsonrpc":"2.0","id":8,"result":{}}'
MINE = b'{"jsonrpc":"2.0","id":7,"result":{"x": 1.0}}'


@pytest.mark.parametrize(
    "raw", [MINE, b"[" + MINE + b"]", b" [ " + LOG + b" ,\n" + OTHER + b"," + MINE + b"]"]
)
def test_the_response_is_found_alone_and_in_an_array(raw: bytes) -> None:
    assert answers.response(raw, b"7", "a").payload == b'{"x": 1.0}'


@pytest.mark.parametrize("raw", [b"[]", b"[" + OTHER + b"]", b"[1]", b"[", b"[" + MINE, b"[[]]"])
def test_an_array_without_the_response_is_no_answer(raw: bytes) -> None:
    with pytest.raises(BackendFailed) as caught:
        answers.response(raw, b"7", "a")

    assert caught.value.reason == "InvalidAnswer"


async def test_each_message_of_an_array_on_a_stream_is_one_of_the_stream() -> None:
    async def chunks() -> AsyncIterator[bytes]:
        yield b"data: [" + LOG + b"," + MINE + b"]\n\ndata: " + OTHER + b"\n\n"

    found = [message async for message in answers.stream(chunks(), "a")]

    assert [type(message) for message in found] == [
        jsonrpc.Notification,
        jsonrpc.Response,
        jsonrpc.Response,
    ]
