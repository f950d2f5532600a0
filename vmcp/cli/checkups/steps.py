"""The steps of a checkup: how each went, how long it took, and the first failure that ends it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from dataclasses import dataclass, field
from enum import StrEnum
from http import HTTPStatus
from time import perf_counter
from typing import TypeVar

from vmcp.protocol.failures import BackendFailed
from vmcp.transport.outgoing.pipe import Rejected
from vmcp.transport.outgoing.speech import EraContradicted, Refused

T = TypeVar("T")


class Outcome(StrEnum):
    """How a step went; a warning is no failure."""

    OK = "ok"
    WARNING = "warning"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Step:
    """One thing that was tried. `cause` is a word for programs where it did not go well, with a hint for each."""

    name: str
    outcome: Outcome
    detail: str
    cause: str | None = None
    milliseconds: float | None = None


class Trouble(Exception):
    """A step failed, or is to be looked after: why in a word, and in a sentence."""

    def __init__(self, cause: str, detail: str) -> None:
        super().__init__(detail)
        self.cause = cause
        self.detail = detail


class Ended(Exception):
    """The steps that would follow make no sense."""


@dataclass(slots=True)
class Course:
    """The steps so far, and the one under way."""

    steps: list[Step] = field(default_factory=list)
    _name: str = ""
    _began: float = 0.0

    async def take(self, name: str, work: Awaitable[T]) -> T:
        """Await one step that is noted by `ok` afterwards; note its failure and raise Ended."""
        self._name, self._began = name, perf_counter()
        try:
            return await work
        except Trouble as trouble:
            self._fail(trouble.cause, trouble.detail)
        except Rejected as rejected:
            is_nothing = rejected.told == HTTPStatus.NOT_FOUND
            self._fail("NothingThere" if is_nothing else rejected.reason, sentence(rejected))
        except BackendFailed as failure:
            self._fail(failure.reason, sentence(failure))
        except EraContradicted as error:
            self._fail("NotMcp", f"{error}.")
        except Refused as refused:
            self._fail("CheckRefused", f"It refused with code {refused.code}.")
        except TimeoutError:
            self.late()
        raise Ended

    def ok(self, detail: str) -> None:
        """Note that the step went well."""
        self.steps.append(Step(self._name, Outcome.OK, detail, None, self._milliseconds()))

    def warn(self, cause: str, detail: str) -> None:
        """Note that the step went well enough for now."""
        self.steps.append(Step(self._name, Outcome.WARNING, detail, cause, self._milliseconds()))

    def late(self) -> None:
        """Note that the step under way took too long."""
        self._fail("TimedOut", "No answer in time.")

    def _fail(self, cause: str, detail: str) -> None:
        self.steps.append(Step(self._name, Outcome.FAILED, detail, cause, self._milliseconds()))

    def _milliseconds(self) -> float:
        return round((perf_counter() - self._began) * 1000, 1)


def sentence(failure: BackendFailed) -> str:
    """Return what a failure says, without the name of the backend that all of it is about."""
    said = failure.message.removeprefix(f"Backend '{failure.backend}': ")
    return f"{said[:1].upper()}{said[1:]}"


async def bounded(course: Course, work: Awaitable[None], seconds: float) -> tuple[Step, ...]:
    """Await a course of steps for at most so long, and return them."""
    try:
        async with asyncio.timeout(seconds):
            await _unless_ended(work)
    except TimeoutError:
        course.late()
    return tuple(course.steps)


async def _unless_ended(work: Awaitable[None]) -> None:
    try:
        await work
    except* Ended:
        # Where it passed a group of tasks, it comes as a group.
        pass
