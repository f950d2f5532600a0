"""What a child writes to its standard output beside messages: told once, then counted."""

from __future__ import annotations

import logging

log = logging.getLogger(__name__)

_SHOWN = 80


class Noise:
    """Count the lines of one process that are no messages, and the messages that concerned nobody."""

    def __init__(self, backend: str) -> None:
        self._backend = backend
        self._lines = 0
        self._left_out = 0

    def heard(self, line: bytes) -> None:
        """Take a line that is no message; of the first one it is logged that it came, at debug what it is."""
        self._lines += 1
        if self._lines == 1:
            extra = {"backend": self._backend}
            log.warning("backend wrote something to stdout that is no message", extra=extra)
            log.debug("backend wrote to stdout", extra={**extra, "line": shown(line)})

    def left_out(self, method: str) -> None:
        """Take a notification that concerned no call in flight, or came faster than it was taken."""
        self._left_out += 1
        if self._left_out == 1:
            extra = {"backend": self._backend, "method": method}
            log.debug("a notification concerned no single call", extra=extra)

    def close(self) -> None:
        """Log the counts, once the process has ended."""
        if self._lines > 1:
            extra = {"backend": self._backend, "count": self._lines}
            log.info("lines on stdout were no messages", extra=extra)
        if self._left_out:
            extra = {"backend": self._backend, "count": self._left_out}
            log.debug("notifications concerned no single call", extra=extra)


def shown(line: bytes) -> str:
    """Return the start of a line as it may be printed: what is not printable is escaped."""
    text = line[:_SHOWN].decode(errors="backslashreplace")
    return "".join([char if char.isprintable() else ascii(char)[1:-1] for char in text])[:_SHOWN]
