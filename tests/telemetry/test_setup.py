"""What log lines look like, and which there are."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterator

import pytest

from tests.house.lines import fields
from vmcp.model.secret import Secret
from vmcp.telemetry.setup import RECORD_ATTRIBUTES, configure

LOGGERS = ("", "vmcp", "uvicorn.access")


class Terminal(io.StringIO):
    """A stream that a person reads."""

    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def _logging_as_it_was() -> Iterator[None]:
    loggers = [logging.getLogger(name) for name in LOGGERS]
    before = [(one, one.level, one.handlers[:], one.disabled) for one in loggers]
    yield
    for one, level, handlers, disabled in before:
        one.setLevel(level)
        one.handlers[:] = handlers
        one.disabled = disabled


@pytest.fixture
def log() -> logging.Logger:
    return logging.getLogger("vmcp.gateway.pool")


def test_json_is_an_object_a_line_with_the_fields(log: logging.Logger) -> None:
    stream = io.StringIO()
    configure("info", "json", stream)

    log.info("backend is ready", extra={"backend": "time", "seconds": 0.5})
    log.warning("second\nline")

    first, second = (json.loads(line) for line in stream.getvalue().splitlines())
    assert first.pop("timestamp").endswith("Z")
    assert first == {
        "level": "info",
        "logger": "vmcp.gateway.pool",
        "message": "backend is ready",
        "backend": "time",
        "seconds": 0.5,
    }
    assert second["message"] == "second\nline"


def test_text_is_a_line_for_people(log: logging.Logger) -> None:
    stream = io.StringIO()
    configure("info", "text", stream)

    log.info("backend is lost", extra={"backend": "time", "detail": 'no "way"', "empty": ""})

    (line,) = stream.getvalue().splitlines()
    assert line[2] == line[5] == ":"
    assert line[13:] == r'INFO    backend is lost backend=time detail="no \"way\"" empty=""'


@pytest.mark.parametrize(
    ("stream", "is_json"), [(Terminal(), False), (io.StringIO(), True)], ids=["terminal", "pipe"]
)
def test_auto_looks_at_who_reads(log: logging.Logger, stream: io.StringIO, is_json: bool) -> None:  # noqa: FBT001
    configure("info", "auto", stream)

    log.info("begun")

    assert stream.getvalue().startswith("{") is is_json


@pytest.mark.parametrize("shape", ["text", "json"])
def test_nothing_breaks_out_of_its_line(log: logging.Logger, shape: str) -> None:
    stream = io.StringIO()
    configure("info", shape, stream)

    log.info("a\nb\x1b[31m", extra={"backend": "c\nd\x1b[31m"})

    assert stream.getvalue().count("\n") == 1
    assert "\x1b" not in stream.getvalue()


@pytest.mark.parametrize("shape", ["text", "json"])
def test_an_exception_shows_its_stack_and_neither_its_text_nor_variables(
    log: logging.Logger, shape: str
) -> None:
    stream = io.StringIO()
    configure("info", shape, stream)

    def fail(body: str) -> None:
        try:
            {}[body]
        except KeyError as error:
            raise ExceptionGroup(body, [ValueError(body)]) from error

    try:
        fail("hunter2")
    except ExceptionGroup:
        log.exception("failed")

    text = stream.getvalue()
    for part in ("ExceptionGroup", "KeyError", "ValueError", "test_setup.py:", "fail"):
        assert part in text
    assert "hunter2" not in text


def test_an_error_of_the_system_says_what_the_system_said(log: logging.Logger) -> None:
    stream = io.StringIO()
    configure("info", "json", stream)

    try:
        raise FileNotFoundError(2, "No such file or directory", "/secret/path")
    except OSError:
        log.exception("failed")

    exception = json.loads(stream.getvalue())["exception"]
    assert exception["class"] == "FileNotFoundError: No such file or directory"


def test_a_chain_of_causes_that_loops_ends(log: logging.Logger) -> None:
    stream = io.StringIO()
    configure("info", "json", stream)
    one, other = ValueError(), TypeError()
    one.__cause__, other.__cause__ = other, one

    log.error("failed", exc_info=one)

    assert stream.getvalue().count("ValueError") == 3


def test_values_that_are_no_json_are_written_as_text(log: logging.Logger) -> None:
    stream = io.StringIO()
    configure("info", "json", stream)

    log.info("begun", extra={"token": Secret("hunter2"), "kinds": {1}})

    line = json.loads(stream.getvalue())
    assert (line["token"], line["kinds"]) == ("Secret(***)", "{1}")


def test_a_field_cannot_pose_as_the_level(log: logging.Logger) -> None:
    stream = io.StringIO()
    configure("info", "json", stream)

    log.info("begun", extra={"level": "error"})

    assert json.loads(stream.getvalue())["level"] == "info"


@pytest.mark.parametrize(
    ("level", "lines"),
    [
        ("debug", ["ours debug", "ours info", "ours error", "theirs warning", "theirs error"]),
        ("info", ["ours info", "ours error", "theirs warning", "theirs error"]),
        ("error", ["ours error", "theirs error"]),
    ],
)
def test_libraries_are_heard_from_warning_on(level: str, lines: list[str]) -> None:
    stream = io.StringIO()
    configure(level, "json", stream)
    ours, theirs = logging.getLogger("vmcp.app"), logging.getLogger("some.library")

    ours.debug("ours debug")
    ours.info("ours info")
    ours.error("ours error")
    theirs.info("theirs info")
    theirs.warning("theirs warning")
    theirs.error("theirs error")
    logging.getLogger("uvicorn.access").error("GET /mcp?token=x")

    assert [json.loads(line)["message"] for line in stream.getvalue().splitlines()] == lines


def test_configured_again_each_line_is_written_once(log: logging.Logger) -> None:
    first, second = io.StringIO(), io.StringIO()
    configure("info", "json", first)
    configure("info", "json", second)

    log.info("begun")

    assert (first.getvalue(), second.getvalue().count("\n")) == ("", 1)


def test_no_field_has_a_name_that_logging_takes() -> None:
    assert "backend" in fields()
    assert not fields() & RECORD_ATTRIBUTES
