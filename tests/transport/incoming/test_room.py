"""How many requests, and how much of their bodies, there is room for."""

from __future__ import annotations

import pytest

from vmcp.transport.incoming.limits import Refused
from vmcp.transport.incoming.room import Room

LARGE = str(4 * 2**20)


def test_past_the_most_requests_one_is_told_to_come_back() -> None:
    room = Room()
    room.enter(1, "2")

    with pytest.raises(Refused) as refused:
        room.enter(1, "2")

    assert refused.value.status == 503
    assert refused.value.headers == ((b"retry-after", b"1"),)


def test_a_place_that_is_left_twice_is_free_once() -> None:
    room = Room()
    place, _ = room.enter(9, LARGE), room.enter(9, LARGE)

    place.leave()
    place.leave()

    assert (room.requests, room.body_bytes) == (1, 4 * 2**20)


@pytest.mark.parametrize("announced", [LARGE, "", "1x"], ids=["large", "not told", "wrong"])
def test_large_bodies_share_a_room_of_their_own(announced: str) -> None:
    room = Room()
    for _ in range(64):
        room.enter(999, announced)

    with pytest.raises(Refused, match="large requests"):
        room.enter(999, announced)

    assert room.enter(999, "65536").size == 0


def test_a_body_of_unknown_length_takes_what_it_turns_out_to_be() -> None:
    room = Room()

    room.enter(9, "").hold(100)
    room.enter(9, "").hold(100_000)

    assert room.body_bytes == 100_000


def test_a_body_that_is_refused_anyway_takes_nothing() -> None:
    room = Room()

    room.enter(9, str(5 * 2**20))

    assert room.body_bytes == 0
