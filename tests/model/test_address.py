"""An address is the machine's own however it is written."""

from __future__ import annotations

import pytest

from vmcp.model.address import is_loopback


@pytest.mark.parametrize(
    "host",
    [
        "localhost",
        "LocalHost",
        "127.0.0.1",
        "127.255.0.9",
        "::1",
        "0:0:0:0:0:0:0:1",
        "::ffff:127.0.0.1",
    ],
)
def test_these_are_reached_from_this_machine_alone(host: str) -> None:
    assert is_loopback(host)


@pytest.mark.parametrize(
    "host",
    [
        "0.0.0.0",
        "::",
        "127.evil.example",
        "localhost.example",
        "::ffff:10.0.0.1",
        "10.0.0.1",
        "127.1",
        "",
    ],
)
def test_these_are_not(host: str) -> None:
    assert not is_loopback(host)
