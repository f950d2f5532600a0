"""Log what a child process writes to its standard error: some lines a second, the rest is counted."""

from __future__ import annotations

import logging

from vmcp.protocol.lines import Lines, Overlong

log = logging.getLogger(__name__)

_LONGEST = 1000
_LINES_A_SECOND = 50


class Stderr:
    """Take the bytes as they come; nothing is kept of them beyond the line that is not complete yet."""

    def __init__(self, backend: str) -> None:
        self._backend = backend
        self._lines = Lines(_LONGEST)
        self._second = 0
        self._logged = 0
        self._left_out = 0

    def feed(self, chunk: bytes, now: float) -> None:
        """Log the lines that this chunk completes; `now` counts seconds."""
        if not log.isEnabledFor(logging.DEBUG):
            return
        for line in self._lines.feed(chunk):
            self._line(line.head if isinstance(line, Overlong) else line, int(now))

    def _line(self, line: bytes, second: int) -> None:
        if second != self._second:
            self.close()
            self._second, self._logged = second, 0
        if self._logged == _LINES_A_SECOND:
            self._left_out += 1
            return
        self._logged += 1
        text = line.decode(errors="replace")[:_LONGEST]
        log.debug("backend wrote to stderr", extra={"backend": self._backend, "line": text})

    def close(self) -> None:
        """Log how many lines were left out since this was told last."""
        if self._left_out:
            extra = {"backend": self._backend, "count": self._left_out}
            log.debug("lines of stderr were left out", extra=extra)
            self._left_out = 0
