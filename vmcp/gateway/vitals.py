"""How one backend fares: what its checks and calls have shown, and what follows from it."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Mapping
from datetime import datetime
from math import ceil

from vmcp.clock import Clock
from vmcp.gateway.breaker import Breaker
from vmcp.latest import Latest
from vmcp.model.health import (
    BackendHealth,
    Circuit,
    CircuitSeen,
    HealthRules,
    LastFailure,
    Stage,
    State,
)
from vmcp.model.keys import ObjectKey
from vmcp.protocol.failures import BackendFailed

log = logging.getLogger(__name__)

_BUSY, _UNAUTHORIZED = "Overloaded", "Unauthorized"
# What a backend does to one call or to one caller shows nothing of the others.
_OF_ONE_CALL = frozenset((_BUSY, _UNAUTHORIZED, "TooLarge", "AsksWithoutEnd"))
# A backend may ask to be left alone, but not for the day.
LONGEST_SPARING_SECONDS = 60.0
# Failures closer together than this part of the interval are one failed check: an attempt follows a loss at once,
# and a restart that takes a few seconds must not use up the threshold.
_APART = 0.8
_SENTENCES: Mapping[State, tuple[int, str]] = {
    State.CONNECTING: (logging.INFO, "backend is connecting"),
    State.HEALTHY: (logging.INFO, "backend is ready"),
    State.DEGRADED: (logging.WARNING, "backend is lost"),
    State.UNHEALTHY: (logging.WARNING, "backend is unhealthy"),
    State.UNAUTHENTICATED: (logging.WARNING, "backend wants a credential"),
}
_CIRCUITS: Mapping[Circuit, tuple[int, str]] = {
    Circuit.CLOSED: (logging.INFO, "circuit is closed"),
    Circuit.OPEN: (logging.WARNING, "circuit is open"),
    Circuit.HALF_OPEN: (logging.INFO, "circuit is half open"),
}
_NO_FIELDS: Mapping[str, object] = {}

Publish = Callable[[ObjectKey, BackendHealth], None]


class Vitals:
    """Keep the health of one backend and publish each change of it; nothing here waits."""

    def __init__(
        self, key: ObjectKey, clock: Clock, rules: Latest[HealthRules], publish: Publish
    ) -> None:
        self._key = key
        self._clock = clock
        self.rules = rules
        self.failed_checks: Counter[Stage] = Counter()
        self._publish = publish
        self._state, self._since = State.CONNECTING, clock.now()
        self._failures, self._counted_at = 0, 0.0
        self._last_check: datetime | None = None
        self._last_failure: LastFailure | None = None
        self._is_failing_now = False
        self._seen_at = clock.monotonic()
        # Until when the backend wants no checks, and no calls.
        self._unchecked_until = self._uncalled_until = 0.0
        self._breaker: Breaker | None = None
        self._circuit: CircuitSeen | None = None
        # While it holds, a call that is answered changes nothing but the time of the last sign of life.
        self._is_calm = False
        self.judge()

    def due_in(self, jitter: float) -> float:
        """Return in how many seconds the next check is due, with the interval stretched by `jitter`."""
        due = self._seen_at + self.rules.value.interval_seconds * jitter
        return max(due, self._unchecked_until) - self._clock.monotonic()

    def detach(self) -> None:
        """Publish no more: the backend is gone, although its client may still end calls."""
        self._publish = _nobody

    @property
    def state(self) -> State:
        """How the backend fares."""
        return self._state

    def admit(self) -> None:
        """Let a call pass; raise BackendFailed where the backend is to be left alone."""
        if self._is_calm:
            return
        now = self._clock.monotonic()
        if now < self._uncalled_until:
            seconds = ceil(self._uncalled_until - now)
            raise BackendFailed(
                self._key.name, _BUSY, "it asked to be left alone.", retryAfterSeconds=seconds
            )
        if self._breaker is None:
            return
        left = self._breaker.refusal(now)
        self._note_circuit()
        if left is not None:
            message = "it fails again and again, so it is left alone for a while."
            raise BackendFailed(
                self._key.name, "CircuitOpen", message, retryAfterSeconds=ceil(left)
            )

    def answered(self, now: float) -> None:
        """Take note of a call that the backend answered, be it with an error of its own."""
        self._seen_at = now
        if self._is_calm:
            return
        if self._breaker is not None:
            self._breaker.call_succeeded(now)
        self._is_failing_now = False
        self._failures = 0
        # A caller's credential may do where ours does not: that it is wanted stays true.
        if self._state in (State.DEGRADED, State.UNHEALTHY):
            self._become(State.HEALTHY)
        self._settle()

    def call_failed(self, failure: BackendFailed) -> None:
        """Take note of a call that the backend failed."""
        now = self._clock.monotonic()
        self._note(Stage.CALL, failure)
        if failure.reason == _BUSY:
            self._unchecked_until = self._uncalled_until = now + _sparing(failure)
        if self._breaker is not None:
            if failure.reason in _OF_ONE_CALL:
                self._breaker.undecided()
            else:
                self._breaker.call_failed(now)
        self._settle()

    def undecided(self) -> None:
        """Take note of a call that ended without showing anything."""
        if self._breaker is not None and not self._is_calm:
            self._breaker.undecided()

    def postpone(self) -> None:
        """Let the next check wait for a whole interval: there was a reason why this one had no answer."""
        self._seen_at = self._clock.monotonic()

    def checked(self, fields: Mapping[str, object] = _NO_FIELDS) -> None:
        """Take note that the backend answered a check; `fields` are logged where that is news."""
        now = self._seen_at = self._clock.monotonic()
        self._last_check = self._clock.now()
        if self._breaker is not None:
            self._breaker.check_succeeded(now)
        self._is_failing_now = False
        self._failures = 0
        self._unchecked_until = 0.0
        self._become(State.HEALTHY, fields)
        self._settle()

    def check_failed(self, stage: Stage, failure: BackendFailed) -> None:
        """Take note that the backend failed a check, an attempt to connect or a list."""
        now = self._seen_at = self._clock.monotonic()
        self._last_check = self._clock.now()
        self.failed_checks[stage] += 1
        is_news = not self._is_failing_now
        self._note(stage, failure)
        if failure.reason == _BUSY:
            self._unchecked_until = now + _sparing(failure)
            if is_news:
                log.warning("backend is busy", extra=self._fields(self._why()))
        elif failure.reason == _UNAUTHORIZED:
            self._failures = 0
            self._become(State.UNAUTHENTICATED, self._why())
        else:
            self._count(now)
            if self._breaker is not None:
                self._breaker.check_failed(now)
        self._settle()

    def _count(self, now: float) -> None:
        apart = self.rules.value.interval_seconds * _APART
        if self._failures == 0 or now - self._counted_at >= apart:
            self._failures += 1
            self._counted_at = now
        self._become(self._failing(), self._why())

    def _failing(self) -> State:
        is_past = self._failures >= self.rules.value.unhealthy_threshold
        return State.UNHEALTHY if is_past else State.DEGRADED

    def _note(self, stage: Stage, failure: BackendFailed) -> None:
        last = self._last_failure if self._is_failing_now else None
        is_same = last is not None and (last.stage, last.reason) == (stage, failure.reason)
        self._last_failure = LastFailure(
            stage,
            failure.reason,
            failure.message,
            at=self._clock.now(),
            count=last.count + 1 if last is not None and is_same else 1,
        )
        self._is_failing_now = True

    def judge(self) -> None:
        """Apply rules that have changed."""
        wanted = self.rules.value.breaker
        if wanted is None:
            self._breaker = None
        elif self._breaker is None:
            self._breaker = Breaker(wanted)
        else:
            self._breaker.rules = wanted
        if self._state in (State.DEGRADED, State.UNHEALTHY):
            self._become(self._failing(), self._why())
        self._settle()

    def _become(self, state: State, fields: Mapping[str, object] = _NO_FIELDS) -> None:
        if state is self._state:
            return
        now = self._clock.now()
        lasted = round((now - self._since).total_seconds(), 3)
        level, sentence = _SENTENCES[state]
        told = self._fields({"was": self._state.value, "seconds": lasted, **fields})
        self._state, self._since = state, now
        log.log(level, sentence, extra=told)

    def _fields(self, more: Mapping[str, object]) -> dict[str, object]:
        return {"backend": self._key.name, **more}

    def _why(self) -> Mapping[str, object]:
        if (last := self._last_failure) is None:
            return _NO_FIELDS
        return {"stage": last.stage.value, "reason": last.reason, "detail": last.message}

    def _settle(self) -> None:
        """Publish how things are now."""
        self._note_circuit()
        is_closed = self._breaker is None or self._breaker.is_calm
        is_well = self._state in (State.HEALTHY, State.UNAUTHENTICATED)
        is_spared = self._uncalled_until > self._clock.monotonic()
        self._is_calm = is_closed and is_well and not is_spared and not self._is_failing_now
        self._show()

    def _note_circuit(self) -> None:
        before, breaker = self._circuit, self._breaker
        if breaker is None:
            self._circuit = None
        elif before is None or before.state is not breaker.state:
            now = self._clock.now()
            self._circuit = CircuitSeen(breaker.state, now)
            if before is not None:
                level, sentence = _CIRCUITS[breaker.state]
                lasted = round((now - before.since).total_seconds(), 3)
                why = self._why() if breaker.state is Circuit.OPEN else _NO_FIELDS
                log.log(
                    level,
                    sentence,
                    extra=self._fields({"was": before.state.value, "seconds": lasted, **why}),
                )
        else:
            return
        self._show()

    def _show(self) -> None:
        self._publish(
            self._key,
            BackendHealth(
                state=self._state,
                since=self._since,
                consecutive_failures=self._failures,
                last_check=self._last_check,
                last_failure=self._last_failure,
                circuit=self._circuit,
            ),
        )


def _sparing(failure: BackendFailed) -> float:
    """Return for how long a busy backend wants to be left alone."""
    return min(failure.retry_after_seconds, LONGEST_SPARING_SECONDS)


def _nobody(_key: ObjectKey, _seen: BackendHealth) -> None:
    """Publish to nobody."""
