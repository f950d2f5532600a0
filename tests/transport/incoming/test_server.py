"""The socket that clients connect to, and the server on it."""

from __future__ import annotations

import socket

import pytest

from vmcp.errors import CannotListen
from vmcp.transport.incoming.server import listening


def test_an_answer_is_never_held_back_to_be_sent_with_the_next() -> None:
    with (
        listening("127.0.0.1", 0) as listener,
        socket.create_connection(listener.getsockname()),
        listener.accept()[0] as accepted,
    ):
        assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def test_a_port_that_is_taken_is_an_error_that_says_so() -> None:
    with listening("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]

        with pytest.raises(CannotListen, match=str(port)):
            listening("127.0.0.1", port)


def test_an_address_that_is_not_ours_is_an_error() -> None:
    with pytest.raises(CannotListen, match=r"192\.0\.2\.1"):
        listening("192.0.2.1", 0)
