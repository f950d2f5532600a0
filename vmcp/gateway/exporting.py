"""Send traces and metrics to a collector where the config wants it; only then OpenTelemetry is imported."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from time import monotonic

from vmcp import __version__
from vmcp.clock import Clock
from vmcp.config.load import Loaded
from vmcp.errors import ExtraMissing
from vmcp.gateway.core import Gateway
from vmcp.gateway.readings import all_readings
from vmcp.gateway.tracing import Tracer
from vmcp.telemetry.batch import Batches
from vmcp.telemetry.metrics import Reading
from vmcp.telemetry.spans import Span

_METRICS_SECONDS = 60.0
# How long the end of the process waits for a collector.
_LAST_SECONDS = 3.0

# Readings of all metrics, and when they were taken, in nanoseconds since 1970.
_Round = tuple[Sequence[Reading], int]


class Exports:
    """What is sent where; made before anything runs, since it may be that nothing can be sent."""

    def __init__(self, loaded: Loaded, clock: Clock) -> None:
        """Raise ExtraMissing where OpenTelemetry is not installed."""
        settings = loaded.config.telemetry
        self._clock = clock
        self._share = settings.sampling_rate
        self._spans: Batches[Span] | None = None
        self._metrics: Batches[_Round] | None = None
        if settings.tracing_enabled or settings.metrics_enabled:
            self._open(loaded)

    def _open(self, loaded: Loaded) -> None:
        settings = loaded.config.telemetry
        try:
            from vmcp.telemetry import otlp  # noqa: PLC0415 - whoever sends nothing does not pay for it
        except ImportError as error:
            if (error.name or "").startswith("vmcp"):
                raise
            raise ExtraMissing("telemetry", "otel") from None
        secret = {
            each.header_name: loaded.secret(each.origin) for each in settings.headers_from_secret
        }
        told = {**settings.headers, **secret}
        target = otlp.Target(
            url=settings.url or "",
            headers={name: value.reveal() for name, value in told.items()},
            ca_path=loaded.folder(settings.ca_cert_path),
            resource={
                "service.name": settings.service_name or loaded.config.name,
                "service.version": __version__,
                **settings.custom_attributes,
            },
        )
        if settings.tracing_enabled:
            self._spans = Batches("vmcp-traces", otlp.SpanSender(target))
        if settings.metrics_enabled:
            sender = otlp.MetricSender(target, self._now())

            def send(rounds: Sequence[_Round]) -> bool:
                return sender(*rounds[-1])

            self._metrics = Batches("vmcp-metrics", send)

    def _now(self) -> int:
        return int(self._clock.now().timestamp() * 1e6) * 1000

    @asynccontextmanager
    async def of(self, gateway: Gateway) -> AsyncIterator[None]:
        """Send what the gateway has to tell for the block, and the last of it within a bounded time after it."""
        if self._spans is not None:
            gateway.accounts.spans = self._spans
            gateway.accounts.trace(Tracer(self._clock, self._share, self._spans.add))
        async with asyncio.TaskGroup() as tasks:
            measuring = tasks.create_task(self._measure(gateway))
            try:
                yield
            finally:
                measuring.cancel()
                gateway.accounts.trace(None)
                self._read(gateway)
                await asyncio.to_thread(self._close)

    async def _measure(self, gateway: Gateway) -> None:
        while self._metrics is not None:
            await asyncio.sleep(_METRICS_SECONDS)
            self._read(gateway)

    def _read(self, gateway: Gateway) -> None:
        if self._metrics is not None:
            self._metrics.add((tuple(all_readings(gateway)), self._now()))

    def _close(self) -> None:
        senders = [each for each in (self._spans, self._metrics) if each is not None]
        last = monotonic() + _LAST_SECONDS
        for each in senders:
            each.end()
        for each in senders:
            each.close(last - monotonic())
