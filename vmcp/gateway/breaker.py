"""When a failing backend gets no calls: a circuit breaker without a clock of its own."""

from __future__ import annotations

from vmcp.model.health import BreakerRules, Circuit


class Breaker:
    """Count failures in a row; all times are of one clock that never goes back.

    A check that succeeds proves nothing about calls: it clears the checks that failed, and not the calls.
    """

    __slots__ = ("_calls", "_checks", "_is_trying", "_opened", "rules", "state")

    def __init__(self, rules: BreakerRules) -> None:
        self.rules = rules
        self.state = Circuit.CLOSED
        self._calls = self._checks = 0
        self._opened = 0.0
        self._is_trying = False

    @property
    def is_calm(self) -> bool:
        """Whether it is closed and has nothing to forget."""
        return self.state is Circuit.CLOSED and not self._calls and not self._checks

    def refusal(self, now: float) -> float | None:
        """Admit a call and return None, or return after how many seconds to try again."""
        if self.state is Circuit.CLOSED:
            return None
        left = self._opened + self.rules.open_seconds - now
        if left > 0:
            return left
        if self._is_trying:
            return 1.0
        self.state = Circuit.HALF_OPEN
        self._is_trying = True
        return None

    def call_succeeded(self, now: float) -> None:
        """Take note of a call that was answered."""
        if self.state is Circuit.CLOSED:
            self._calls = self._checks = 0
        else:
            self._close(now)

    def check_succeeded(self, now: float) -> None:
        """Take note of a check that was answered."""
        self._checks = 0
        if self.state is not Circuit.CLOSED:
            self._close(now)

    def call_failed(self, now: float) -> None:
        """Take note of a call that the backend failed."""
        self._calls += 1
        self._failed(now)

    def check_failed(self, now: float) -> None:
        """Take note of a check that the backend failed."""
        self._checks += 1
        self._failed(now)

    def undecided(self) -> None:
        """Take note of a call that ended without showing anything: the next one finds out."""
        self._is_trying = False

    def _close(self, now: float) -> None:
        # What was sent before it opened may still be answered: that shows nothing of now.
        if now >= self._opened + self.rules.open_seconds:
            self.state = Circuit.CLOSED
            self._calls = self._checks = 0
            self._is_trying = False

    def _failed(self, now: float) -> None:
        match self.state:
            case Circuit.CLOSED:
                opens = self._calls + self._checks >= self.rules.failures
            case Circuit.HALF_OPEN:
                opens = True
            case Circuit.OPEN:
                opens = now >= self._opened + self.rules.open_seconds
        if opens:
            self.state = Circuit.OPEN
            self._opened = now
            self._is_trying = False
