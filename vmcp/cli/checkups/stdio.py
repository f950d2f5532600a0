"""A backend over stdio, step by step: its command, the handshake, its lists; and its last words on stderr."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager

from vmcp.cli.checkups.speaking import speak
from vmcp.cli.checkups.steps import Course, Trouble, sentence
from vmcp.model.backend import Backend, StdioEndpoint
from vmcp.protocol.failures import BackendFailed
from vmcp.transport.outgoing import process, stderr
from vmcp.transport.outgoing.speech import Speech
from vmcp.transport.outgoing.stdio import StdioConnector

_LAST_LINES = 10

# What these reasons mean where there is a process and no network.
_CAUSES = {"Unreachable": "NotStarted", "ConnectionLost": "ProcessEnded"}

Words = Mapping[str, deque[str]]


async def examine(
    course: Course, backend: Backend, endpoint: StdioEndpoint, environment: Mapping[str, str]
) -> None:
    """Take all steps; raise Ended after the first that fails."""
    course.ok(await course.take("command", _found(backend.name, endpoint, environment)))
    connector = StdioConnector(backend, endpoint, environment)

    @asynccontextmanager
    async def connect() -> AsyncIterator[Speech]:
        try:
            async with connector.connect() as speech:
                yield speech
        except BackendFailed as failure:
            cause = _CAUSES.get(failure.reason, failure.reason)
            raise Trouble(cause, sentence(failure)) from None

    await speak(course, backend, connect)


async def _found(name: str, endpoint: StdioEndpoint, environment: Mapping[str, str]) -> str:
    try:
        return process.command(name, endpoint, process.child_environment(endpoint, environment))
    except BackendFailed as failure:
        raise Trouble("CommandNotFound", sentence(failure)) from None


@contextmanager
def last_words() -> Iterator[Words]:
    """Keep the last lines that each backend's process writes to stderr while the block runs."""
    kept, log = _Keeping(), stderr.log
    before = log.level, log.propagate
    log.addHandler(kept)
    log.setLevel(logging.DEBUG)
    log.propagate = False
    try:
        yield kept.words
    finally:
        log.setLevel(before[0])
        log.propagate = before[1]
        log.removeHandler(kept)


class _Keeping(logging.Handler):
    """Takes the log lines that tell what backends wrote to stderr."""

    def __init__(self) -> None:
        super().__init__()
        self.words: dict[str, deque[str]] = {}

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a line of a backend."""
        told = record.__dict__
        if "line" in told:
            kept = self.words.setdefault(str(told["backend"]), deque(maxlen=_LAST_LINES))
            kept.append(str(told["line"]))
