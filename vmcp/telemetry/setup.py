"""Where log lines go and what they look like; what they say is left to those who log.

A line is a constant sentence and fields (`extra`). Fields travel with the record alone, so a line
never shows the request of another task.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from traceback import StackSummary, walk_tb
from typing import Literal, TextIO

from vmcp.telemetry.level import set_level
from vmcp.telemetry.sink import Sink

Format = Literal["text", "json", "auto"]

# What every record has (taskName from Python 3.12 on); the rest are the fields of its line.
RECORD_ATTRIBUTES = {*vars(logging.makeLogRecord({})), "message", "asctime", "taskName"}
# A group of exceptions or a chain of causes may be endless; this deep it still explains.
DEPTH = 4
# Made once: json.dumps makes one for each line.
_encode = json.JSONEncoder(default=str).encode


def configure(level: str, shape: Format, stream: TextIO) -> Sink:
    """Send all log lines to `stream`: ours from `level` on, those of libraries from warning on.

    `auto` is text where a person reads the stream and JSON elsewhere. May be called again. What is returned
    counts the lines that could not be written.
    """
    is_text = shape == "text" or (shape == "auto" and stream.isatty())
    target = Sink(stream)
    target.setFormatter(TextLines() if is_text else JsonLines())
    root = logging.getLogger()
    before, root.handlers[:] = root.handlers[:], [target]
    for each in before:
        if isinstance(each, Sink):
            each.close()
    set_level(level)
    # It would log a line for each request, with the URL and its query.
    logging.getLogger("uvicorn.access").disabled = True
    return target


class JsonLines(logging.Formatter):
    """One JSON object a line."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line for `record`; its own members win over fields of the same name."""
        line = {
            "timestamp": _timestamp(record),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        fields = {key: value for key, value in _fields(record).items() if key not in line}
        error = record.exc_info[1] if record.exc_info else None
        exception = {} if error is None else {"exception": _as_object(error, DEPTH)}
        return _encode({**line, **fields, **exception})


class TextLines(logging.Formatter):
    """A line for people: time, level, sentence, fields; an exception's stack below it."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line for `record`."""
        time = _timestamp(record)[11:23]
        fields = [f"{key}={_quoted(value)}" for key, value in _fields(record).items()]
        sentence = _on_one_line(record.getMessage())
        line = " ".join([f"{time} {record.levelname:<7} {sentence}", *fields])
        error = record.exc_info[1] if record.exc_info else None
        below = () if error is None else _as_lines(error, DEPTH)
        return "\n".join([line, *(f"    {one}" for one in below)])


def _timestamp(record: logging.LogRecord) -> str:
    moment = datetime.fromtimestamp(record.created, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _fields(record: logging.LogRecord) -> Mapping[str, object]:
    return {key: value for key, value in vars(record).items() if key not in RECORD_ATTRIBUTES}


def _quoted(value: object) -> str:
    text = str(value)
    is_plain = text.isprintable() and text and not set(text) & {" ", '"', "="}
    return text if is_plain else json.dumps(text, ensure_ascii=False)


def _on_one_line(text: str) -> str:
    return text if text.isprintable() else json.dumps(text, ensure_ascii=False)[1:-1]


def _as_object(error: BaseException, depth: int) -> Mapping[str, object]:
    causes = [_as_object(cause, depth - 1) for cause in _causes(error)] if depth else []
    return {
        "class": _title(error),
        "stack": list(_stack(error)),
        **({"causes": causes} if causes else {}),
    }


def _as_lines(error: BaseException, depth: int) -> Iterator[str]:
    yield _title(error)
    yield from (f"  {frame}" for frame in _stack(error))
    for cause in _causes(error) if depth else ():
        yield from (f"  {line}" for line in _as_lines(cause, depth - 1))


def _title(error: BaseException) -> str:
    """Name the class; not the text, which may quote what was sent, but for the system's words."""
    kind = type(error)
    name = kind.__qualname__
    if kind.__module__ != "builtins":
        name = f"{kind.__module__}.{name}"
    return f"{name}: {error.strerror}" if isinstance(error, OSError) and error.strerror else name


def _stack(error: BaseException) -> Iterator[str]:
    for frame in StackSummary.extract(walk_tb(error.__traceback__), lookup_lines=False):
        yield f"{frame.filename}:{frame.lineno} {frame.name}"


def _causes(error: BaseException) -> Iterator[BaseException]:
    if error.__cause__ is not None:
        yield error.__cause__
    elif error.__context__ is not None and not error.__suppress_context__:
        yield error.__context__
    if isinstance(error, BaseExceptionGroup):
        yield from error.exceptions
