"""The section `server.limits`."""

from __future__ import annotations

import pytest

from tests.config.refusals import refused
from vmcp.config.parse import parse


def limits(keys: str) -> str:
    return f"backends: []\nserver: {{limits: {{{keys}}}}}"


def test_limits_are_numbers() -> None:
    found = parse(limits("connections: 10, connectionsPerClient: 5, requests: 7")).server.limits

    assert (found.connections, found.connections_per_client, found.requests) == (10, 5, 7)


@pytest.mark.parametrize("key", ["connections", "connectionsPerClient", "requests"])
def test_nothing_is_no_limit(key: str) -> None:
    [error] = refused(limits(f"{key}: 0"))

    assert (error.path, error.message) == (f"server.limits.{key}", "Is out of range.")


def test_one_client_cannot_have_more_than_all() -> None:
    [error] = refused(limits("connections: 10, connectionsPerClient: 11"))

    assert error.path == "server.limits.connectionsPerClient"
    assert error.allowed == "at most 10"
