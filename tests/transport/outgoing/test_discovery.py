"""What a server says when it is asked who it is."""

from __future__ import annotations

import pytest

from vmcp.protocol import jsonrpc
from vmcp.transport.outgoing.discovery import is_welcome


@pytest.mark.parametrize(
    ("error", "welcome"),
    [
        (b'{"code":-32022,"message":"","data":{"supported":["2026-07-28"]}}', True),
        (b'{"code":-32022,"message":"","data":{"supported":["2025-11-25"]}}', False),
        (b'{"code":-32022,"message":"","data":{"supported":7}}', False),
        (b'{"code":-32022,"message":""}', False),
        (b'{"code":-32601,"message":"","data":{"supported":["2026-07-28"]}}', False),
    ],
    ids=["listed", "another one", "no list", "nothing", "another code"],
)
def test_a_server_that_refuses_a_version_and_lists_it_is_asked_again(
    error: bytes, *, welcome: bool
) -> None:
    found = jsonrpc.read_peer(b'{"jsonrpc":"2.0","id":1,"error":' + error + b"}")

    assert isinstance(found, jsonrpc.Response)
    assert is_welcome(found) is welcome
