"""Where log lines end: a thread writes them, so that no slow reader and no full disk ever stops the gateway.

What cannot be written is dropped and counted.
"""

from __future__ import annotations

import logging
import os
import select
import threading
from collections import deque
from io import UnsupportedOperation
from typing import TextIO

# Lines that wait for a slow reader; past these the newest are dropped, so that what led to the trouble is kept.
_MOST_LINES = 10_000
_MOST_BYTES = 4 * 2**20
# How much is written at once.
_CHUNK_BYTES = 64 * 2**10
# How long a reader may read nothing before what waits for it is dropped.
_PATIENCE_SECONDS = 5.0
# How long the end of the process waits for the last lines.
_LAST_SECONDS = 2.0


class Sink(logging.Handler):
    """Hand lines to the thread that writes them; emitting one never waits."""

    def __init__(self, stream: TextIO) -> None:
        super().__init__()
        self.dropped = 0
        self._stream = stream
        self._file = _descriptor(stream)
        self._lines: deque[bytes] = deque()
        self._bytes = 0
        self._is_closed = False
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None

    def emit(self, record: logging.LogRecord) -> None:
        """Take a line; one that cannot be written down, or that is one too many, is dropped."""
        try:
            line = self.format(record).encode(errors="backslashreplace") + b"\n"
        except Exception:  # noqa: BLE001 - whatever a field does when it is shown, the caller goes on
            self.dropped += 1
            return
        if self._file is None:
            self._show(line)
            return
        with self._changed:
            waiting = self._bytes + len(line)
            if self._is_closed or len(self._lines) >= _MOST_LINES or waiting > _MOST_BYTES:
                self.dropped += 1
                return
            self._lines.append(line)
            self._bytes = waiting
            self._begin()
            self._changed.notify_all()

    def _begin(self) -> None:
        if self._thread is None:
            # A daemon: a reader that never reads again must not keep the process from ending.
            self._thread = threading.Thread(target=self._run, name="vmcp-log", daemon=True)
            self._thread.start()

    def _show(self, line: bytes) -> None:
        """Write to a stream that is no file: of a test, or of whoever embeds us."""
        try:
            self._stream.write(line.decode())
            self._stream.flush()
        except (OSError, ValueError):
            self.dropped += 1

    def _run(self) -> None:
        told = 0
        while (chunk := self._next()) is not None:
            lines, joined = chunk
            is_written = self._write(joined)
            with self._changed:
                self.dropped += 0 if is_written else lines
                self._bytes -= len(joined)
                self._changed.notify_all()
            if is_written and told != self.dropped:
                count, told = self.dropped - told, self.dropped
                self._tell(count)

    def _tell(self, count: int) -> None:
        """Say, once lines can be written again, how many were not."""
        line = {"name": __name__, "levelno": logging.WARNING, "levelname": "WARNING"}
        record = logging.makeLogRecord({**line, "msg": "log lines were dropped", "count": count})
        self._write(self.format(record).encode() + b"\n")

    def _next(self) -> tuple[int, bytes] | None:
        with self._changed:
            while not self._lines:
                if self._is_closed:
                    return None
                self._changed.wait()
            taken = [self._lines.popleft()]
            size = len(taken[0])
            while self._lines and size < _CHUNK_BYTES:
                taken.append(self._lines.popleft())
                size += len(taken[-1])
            return len(taken), b"".join(taken)

    def _write(self, joined: bytes) -> bool:
        view = memoryview(joined)
        try:
            while view:
                view = view[self._written(view) :]
        except (OSError, ValueError):
            # The disk is full, or whoever read is gone.
            return False
        return True

    def _written(self, view: memoryview) -> int:
        file = self._file
        if file is None or not select.select([], [file], [], _PATIENCE_SECONDS)[1]:
            raise BlockingIOError
        try:
            # A pipe takes this much at once, or says that it does not.
            return os.write(file, view[: select.PIPE_BUF])
        except BlockingIOError:
            return 0

    def flush(self) -> None:
        """Wait until what was emitted is written, within a bounded time."""
        with self._changed:
            self._changed.wait_for(lambda: not self._bytes, _LAST_SECONDS)

    def close(self) -> None:
        """Write what waits, within a bounded time, and take no more."""
        self.flush()
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()
        super().close()


def _descriptor(stream: TextIO) -> int | None:
    """Return the file under a stream; the stream's own buffers would grow when writing fails."""
    try:
        return stream.fileno()
    except (UnsupportedOperation, ValueError, AttributeError):
        return None


def dropped_lines() -> int:
    """Return how many lines of this process could not be written."""
    return sum([each.dropped for each in logging.getLogger().handlers if isinstance(each, Sink)])
