"""Whether anything is noted of requests: for the access log, for traces, or not at all."""

from __future__ import annotations

from vmcp.gateway.tracing import Tracer
from vmcp.telemetry.batch import Batches
from vmcp.telemetry.spans import Span


class Accounts:
    """Two switches; `is_on` is looked at for each request. `spans` are those on their way to a collector."""

    __slots__ = ("_is_logged", "_tracer", "is_on", "spans")

    def __init__(self) -> None:
        self._is_logged = False
        self._tracer: Tracer | None = None
        self.is_on = False
        self.spans: Batches[Span] | None = None

    @property
    def is_logged(self) -> bool:
        """Whether each request has a line in the log."""
        return self._is_logged

    @property
    def tracer(self) -> Tracer | None:
        """What begins traces, None where there are none."""
        return self._tracer

    def log(self, *, is_on: bool) -> None:
        """Write a line for each request from now on, or none."""
        self._is_logged = is_on
        self._judge()

    def trace(self, tracer: Tracer | None) -> None:
        """Trace requests from now on, or do not."""
        self._tracer = tracer
        self._judge()

    def _judge(self) -> None:
        self.is_on = self._is_logged or self._tracer is not None
