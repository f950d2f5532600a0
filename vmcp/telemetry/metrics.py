"""Every metric that the gateway has, in one table; the values are read by `vmcp.gateway.readings` and its like."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

Kind = Literal["counter", "gauge", "histogram"]


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric: what its samples are called and mean, and the labels that tell them apart, in order.

    `bounds` are the upper bounds of a histogram's buckets. Each label has values from a closed set.
    """

    name: str
    kind: Kind
    meaning: str
    labels: tuple[str, ...] = ()
    bounds: tuple[float, ...] = ()


class Distribution(NamedTuple):
    """The value of a histogram: how many fell into each bucket, the one above all bounds last, and their sum."""

    counts: tuple[int, ...]
    total: float


class Reading(NamedTuple):
    """The value of a metric under some labels."""

    metric: Metric
    labels: tuple[str, ...]
    value: float | Distribution


# From a tool that adds two numbers to one that builds something.
CALL_BOUNDS = (
    *(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5),
    *(1.0, 2.5, 5.0, 10.0, 30.0, 60.0),
)
LAG_BOUNDS = (0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0)

BUILD = Metric(
    "vmcp_build_info", "gauge", "Always 1; tells the version of the program.", ("version",)
)
READY = Metric("vmcp_ready", "gauge", "1 while /readyz answers 200.")

CALLS = Metric(
    "vmcp_calls_total",
    "counter",
    "Calls that were carried to a backend and have ended: with a result (ok), with the backend's own error "
    "(error), by its failure (failed), or by the client's will (cancelled).",
    ("backend", "method", "outcome"),
)
CALL_FAILURES = Metric(
    "vmcp_call_failures_total",
    "counter",
    "Calls that a backend failed, by reason; those that were refused before they began are among them.",
    ("backend", "reason"),
)
CALL_SECONDS = Metric(
    "vmcp_call_duration_seconds",
    "histogram",
    "How long clients waited for a backend, people who were asked something included.",
    ("backend", "method"),
    CALL_BOUNDS,
)
CALLS_UNDER_WAY = Metric(
    "vmcp_calls_in_flight", "gauge", "Calls that are under way at a backend.", ("backend",)
)
CALLS_PARKED = Metric(
    "vmcp_calls_parked", "gauge", "Calls of stateless clients that wait for the client's answers."
)

BACKEND = Metric(
    "vmcp_backend_info",
    "gauge",
    "Always 1; tells how a backend is reached and which era it speaks (none while that is unknown).",
    ("backend", "transport", "era"),
)
BACKEND_STATE = Metric(
    "vmcp_backend_state",
    "gauge",
    "1 for the state that a backend is in, 0 for the others.",
    ("backend", "state"),
)
BACKEND_CIRCUIT = Metric(
    "vmcp_backend_circuit_state",
    "gauge",
    "1 for the state that a backend's circuit breaker is in, 0 for the others; none where it is off.",
    ("backend", "state"),
)
FAILED_CHECKS = Metric(
    "vmcp_backend_check_failures_total",
    "counter",
    "Checks, attempts to connect and lists that a backend failed, by what was being done.",
    ("backend", "stage"),
)
BACKEND_OFFERS = Metric(
    "vmcp_backend_offers", "gauge", "How many things a backend listed last.", ("backend", "kind")
)

CATALOG = Metric("vmcp_catalog_entries", "gauge", "How many things clients see.", ("kind",))
CATALOG_SECONDS = Metric(
    "vmcp_catalog_build_seconds", "gauge", "How long the catalog took to build the last time."
)
PROBLEMS = Metric(
    "vmcp_problems",
    "gauge",
    "Things that are wrong with the configuration and the lists.",
    ("reason",),
)
LIST_CHANGED = Metric(
    "vmcp_list_changed_total", "counter", "Notifications of changed lists to clients.", ("kind",)
)

SESSIONS = Metric("vmcp_sessions", "gauge", "Client sessions that are open.")
STREAMS = Metric(
    "vmcp_streams",
    "gauge",
    "Streams on which clients listen: of sessions, subscriptions of stateless clients, HTTP+SSE.",
    ("kind",),
)
WATCHED = Metric("vmcp_watched_resources", "gauge", "Resources that some client subscribed to.")
REQUESTS_OPEN = Metric(
    "vmcp_requests_in_flight", "gauge", "Requests whose answer has not ended, streams among them."
)
REFUSED = Metric(
    "vmcp_requests_refused_total",
    "counter",
    "Requests that the gateway refused: by HTTP status, or by the JSON-RPC code where that is the answer.",
    ("code",),
)
CONNECTIONS = Metric("vmcp_connections", "gauge", "Connections of clients that are open.")
TURNED_AWAY = Metric(
    "vmcp_connections_turned_away_total",
    "counter",
    "Connections for which there was no room: all together, or those of one client.",
)

RELOADS = Metric(
    "vmcp_config_reloads_total",
    "counter",
    "How often the config was read anew, and was taken (ok) or refused (failed).",
    ("outcome",),
)
LOADED = Metric(
    "vmcp_config_loaded_timestamp_seconds",
    "gauge",
    "When the config that is in force was read, in seconds since 1970.",
)

LAG = Metric(
    "vmcp_event_loop_lag_seconds",
    "histogram",
    "How much later than it should the event loop came to its next work, measured twice a second.",
    (),
    LAG_BOUNDS,
)
TASKS = Metric("vmcp_event_loop_tasks", "gauge", "Tasks of the event loop that have not ended.")
LINES_DROPPED = Metric(
    "vmcp_log_lines_dropped_total", "counter", "Log lines that could not be written."
)
SPANS = Metric(
    "vmcp_spans_total",
    "counter",
    "Spans that a collector took (sent), or that were dropped because it did not (lost).",
    ("outcome",),
)

ALL = (
    *(BUILD, READY),
    *(CALLS, CALL_FAILURES, CALL_SECONDS, CALLS_UNDER_WAY, CALLS_PARKED),
    *(BACKEND, BACKEND_STATE, BACKEND_CIRCUIT, FAILED_CHECKS, BACKEND_OFFERS),
    *(CATALOG, CATALOG_SECONDS, PROBLEMS, LIST_CHANGED),
    *(SESSIONS, STREAMS, WATCHED, REQUESTS_OPEN, REFUSED, CONNECTIONS, TURNED_AWAY),
    *(RELOADS, LOADED),
    *(LAG, TASKS, LINES_DROPPED, SPANS),
)

# What prometheus-client tells of the process, where there is a /proc.
OF_THE_PROCESS = (
    "process_cpu_seconds_total",
    "process_max_fds",
    "process_open_fds",
    "process_resident_memory_bytes",
    "process_start_time_seconds",
    "process_virtual_memory_bytes",
)
