"""How a command ends early: one message for the person who typed it, and an exit code."""

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    """What the exit codes of `vmcp` mean; scripts rely on them."""

    OK = 0
    FAILED = 1
    USAGE = 2
    TROUBLE = 3
    UNKNOWN_TOOL = 4
    INTERRUPTED = 130
    BROKEN_PIPE = 141


class Stop(Exception):
    """End the command with `message` on standard error and `code`; no traceback is shown."""

    def __init__(self, message: str, code: ExitCode) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
