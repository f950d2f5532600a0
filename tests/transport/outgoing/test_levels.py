from __future__ import annotations

import pytest

from tests.support.stdio_servers.harness import sessioned_client, stateless_client
from vmcp.protocol.loglevels import wants
from vmcp.transport.outgoing.levels import Levels


def test_the_most_verbose_level_that_any_client_asked_for_counts() -> None:
    levels = Levels()

    levels.take(sessioned_client(log_level="error"))
    levels.take(sessioned_client(log_level="info"))
    levels.take(sessioned_client(log_level="warning"))

    assert levels.widest() == "info"


def test_a_client_that_has_left_or_asks_for_less_counts_no_more() -> None:
    levels = Levels()
    curious, changed = sessioned_client(log_level="debug"), sessioned_client(log_level="info")
    levels.take(curious)
    levels.take(changed)

    levels.forget(curious)
    changed.log_level = "error"
    levels.take(changed)

    assert levels.widest() == "error"


def test_what_a_client_without_a_session_asked_for_once_stays() -> None:
    levels = Levels()

    levels.take(stateless_client(log_level="info"))
    levels.take(stateless_client(log_level="error"))

    assert levels.widest() == "info"


@pytest.mark.parametrize("level", [None, "loud"])
def test_no_level_and_one_that_does_not_exist_ask_for_nothing(level: str | None) -> None:
    levels = Levels()

    levels.take(sessioned_client(log_level=level))

    assert levels.widest() is None


def test_a_session_that_has_ended_meanwhile_is_not_kept() -> None:
    levels, client = Levels(), sessioned_client(log_level="debug")
    client.has_ended = True

    levels.take(client)

    assert levels.widest() is None


@pytest.mark.parametrize(
    ("asked", "level"),
    [
        ("warning", b'"error"'),
        ("warning", b'"warning"'),
        ("warning", b'"custom"'),
        (None, b'"debug"'),
    ],
)
def test_a_session_gets_what_it_asked_for_of_the_log(asked: str | None, level: bytes) -> None:
    assert wants(sessioned_client(log_level=asked), level)


@pytest.mark.parametrize("level", [b'"notice"', b'"debug"', b"3", None])
def test_a_session_is_spared_what_another_one_asked_for(level: bytes | None) -> None:
    assert not wants(sessioned_client(log_level="warning"), level)


def test_a_request_that_named_no_level_gets_no_log() -> None:
    assert not wants(stateless_client(), b'"emergency"')
