"""What is sent in batches: nobody waits for it, and there is an end to what waits."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from time import monotonic

from vmcp.telemetry.batch import MOST_WAITING, Batches


def test_all_is_sent_in_its_order() -> None:
    sent: list[int] = []

    def send(batch: Sequence[int]) -> bool:
        sent.extend(batch)
        return True

    batches = Batches("test", send)
    for number in range(2000):
        batches.add(number)
    batches.close(5.0)

    assert sent == list(range(2000))
    assert (batches.sent, batches.lost) == (2000, 0)


def test_what_cannot_be_sent_is_lost_and_counted() -> None:
    batches: Batches[int] = Batches("test", lambda _: False)
    for number in range(10):
        batches.add(number)
    batches.close(5.0)

    assert (batches.sent, batches.lost) == (0, 10)


def test_a_receiver_that_hangs_costs_bounded_memory_and_a_bounded_end() -> None:
    gate = threading.Event()

    def hang(_: Sequence[int]) -> bool:
        return gate.wait(30)

    batches = Batches("test", hang)
    for number in range(MOST_WAITING * 2):
        batches.add(number)
    began = monotonic()
    batches.close(0.1)

    assert monotonic() - began < 15
    assert batches.lost >= MOST_WAITING - 512
    gate.set()


def test_what_comes_after_the_end_is_lost() -> None:
    batches: Batches[int] = Batches("test", lambda _: True)
    batches.close(5.0)
    batches.add(1)

    assert (batches.sent, batches.lost) == (0, 1)
