"""Log lines never stop who writes them: a full disk, a reader that is gone, one that does not read."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from tests.support.waiting import until
from vmcp.telemetry.setup import JsonLines
from vmcp.telemetry.sink import Sink

FULL = Path("/dev/full")


@contextmanager
def piped() -> Iterator[tuple[Sink, int]]:
    """Give a sink into a pipe, and the end that is read."""
    reading, writing = os.pipe()
    with os.fdopen(writing, "w") as stream:
        sink = Sink(stream)
        sink.setFormatter(JsonLines())
        try:
            yield sink, reading
        finally:
            sink.close()
            os.close(reading)


def line(text: str) -> logging.LogRecord:
    return logging.makeLogRecord({"name": "vmcp", "levelname": "INFO", "msg": text})


def messages(read: bytes) -> list[str]:
    return [json.loads(each)["message"] for each in read.splitlines()]


def test_lines_come_whole_and_in_their_order() -> None:
    with piped() as (sink, reading):
        for number in range(100):
            sink.emit(line(f"line {number}"))
        sink.flush()

        assert messages(os.read(reading, 2**20)) == [f"line {number}" for number in range(100)]
        assert sink.dropped == 0


def test_a_line_longer_than_a_pipe_takes_at_once_comes_whole() -> None:
    long = "x" * 50_000
    with piped() as (sink, reading):
        sink.emit(line(long))
        sink.flush()

        assert messages(os.read(reading, 2**20)) == [long]


def test_a_reader_that_does_not_read_holds_nobody_up_and_memory_is_bounded() -> None:
    with piped() as (sink, reading):
        os.set_blocking(reading, False)
        for _ in range(20_000):
            sink.emit(line("x" * 1000))

        assert sink.dropped > 10_000
        assert sink._bytes <= 4 * 2**20
        while sink._bytes:
            try:
                os.read(reading, 2**20)
            except BlockingIOError:
                continue


async def test_a_reader_that_comes_back_is_told_how_many_lines_are_missing() -> None:
    with piped() as (sink, reading):
        os.set_blocking(reading, False)
        for _ in range(20_000):
            sink.emit(line("x" * 1000))
        read = bytearray()

        def is_told() -> bool:
            with suppress(BlockingIOError):
                read.extend(os.read(reading, 2**20))
            return b"log lines were dropped" in read

        await until(is_told)

    told = [json.loads(each) for each in read.splitlines() if b"dropped" in each]
    assert told[0]["count"] > 0


def test_a_reader_that_is_gone_stops_nobody() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w") as stream:
        sink = Sink(stream)
        for number in range(50):
            sink.emit(line(f"line {number}"))
        sink.flush()

        assert sink.dropped == 50
        sink.close()


@pytest.mark.skipif(not FULL.exists(), reason="there is no /dev/full")
def test_a_full_disk_stops_nobody() -> None:
    descriptor = os.open(FULL, os.O_WRONLY)
    with os.fdopen(descriptor, "w") as stream:
        sink = Sink(stream)
        for number in range(50):
            sink.emit(line(f"line {number}"))
        sink.flush()

        assert sink.dropped == 50
        sink.close()


def test_a_line_that_cannot_be_shown_is_dropped() -> None:
    class Unshowable:
        def __str__(self) -> str:
            raise RuntimeError

    with piped() as (sink, _):
        sink.emit(logging.makeLogRecord({"msg": "%s", "args": (Unshowable(),)}))

        assert sink.dropped == 1


def test_what_comes_after_the_end_is_dropped() -> None:
    with piped() as (sink, reading):
        sink.emit(line("before"))
        sink.close()
        sink.emit(line("after"))

        assert messages(os.read(reading, 2**20)) == ["before"]
        assert sink.dropped == 1
