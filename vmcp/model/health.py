"""How backends fare, and the rules by which they are looked after (`operational.failureHandling`)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import Enum


class State(Enum):
    """How a backend fares, in the words of logs, of /status and of metrics.

    Degraded is one that fails below the threshold, unhealthy one that has passed it; one that is unauthenticated
    answers that it wants a credential.
    """

    CONNECTING = "connecting"
    HEALTHY = "healthy"
    DEGRADED = "degraded"
    UNHEALTHY = "unhealthy"
    UNAUTHENTICATED = "unauthenticated"


class Stage(Enum):
    """What was being done with a backend when it failed."""

    CONNECT = "connect"
    TLS = "tls"
    INITIALIZE = "initialize"
    DISCOVER = "discover"
    LIST = "list"
    STREAM = "stream"
    PROBE = "probe"
    CALL = "call"


class Circuit(Enum):
    """What a breaker lets through: all calls, none, or one that finds out."""

    CLOSED = "closed"
    OPEN = "open"
    HALF_OPEN = "half-open"


@dataclass(frozen=True, slots=True)
class LastFailure:
    """What went wrong last; `count` is how often in a row it did so."""

    stage: Stage
    reason: str
    message: str
    at: datetime
    count: int


@dataclass(frozen=True, slots=True)
class CircuitSeen:
    """What a breaker lets through, and since when."""

    state: Circuit
    since: datetime


@dataclass(frozen=True, slots=True)
class BackendHealth:
    """How one backend fares; `last_failure` outlives a recovery, `circuit` is None where the breaker is off.

    `last_check` is when it was last seen to answer or to fail by a check, an attempt to connect or a list.
    """

    state: State
    since: datetime
    consecutive_failures: int = 0
    last_check: datetime | None = None
    last_failure: LastFailure | None = None
    circuit: CircuitSeen | None = None


class PartialFailure(Enum):
    """What lists are while a backend is unhealthy: those of the others, or an error."""

    BEST_EFFORT = "best_effort"
    FAIL = "fail"


@dataclass(frozen=True, slots=True)
class BreakerRules:
    """After how many failures in a row a backend gets no calls, and for how long."""

    failures: int
    open_seconds: float


@dataclass(frozen=True, slots=True)
class HealthRules:
    """How often a backend is asked whether it is there, and what its silence means; `breaker` None is off."""

    interval_seconds: float = 30.0
    timeout_seconds: float = 10.0
    unhealthy_threshold: int = 3
    partial_failure: PartialFailure = PartialFailure.BEST_EFFORT
    breaker: BreakerRules | None = None


DEFAULT_HEALTH = HealthRules()
