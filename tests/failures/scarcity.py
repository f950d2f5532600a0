"""What a machine may do to the gateway, and what comes of it; each line is held to by the test that it names."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Scarcity:
    """One line of the table: `test` is the name of the test that shows it."""

    what: str
    does: str
    test: str


SCARCITIES = (
    Scarcity(
        "The disk under its log is full.",
        "It serves; lines are dropped and counted (`vmcp_log_lines_dropped_total`).",
        "test_a_full_disk_under_the_log_stops_nobody",
    ),
    Scarcity(
        "Nobody reads its log.",
        "It serves; lines that find no room are dropped and counted.",
        "test_a_log_that_nobody_reads_stops_nobody",
    ),
    Scarcity(
        "It may open no more files.",
        "Connections that are open are served; new ones wait, and are served once there is room.",
        "test_without_files_to_open_it_waits_and_goes_on_once_there_are_some",
    ),
    Scarcity(
        "It is stopped (SIGSTOP) and goes on.",
        "Calls that came meanwhile are answered.",
        "test_a_gateway_that_was_stopped_goes_on_where_it_was",
    ),
    Scarcity(
        "A host name does not resolve.",
        "The backend is `Unreachable` at stage `connect`; it heals at the next attempt once the "
        "name resolves.",
        "test_a_name_that_resolves_again_is_reached_at_the_next_attempt",
    ),
    Scarcity(
        "SIGTERM under load.",
        "Accepted calls are answered, streams are completed; new requests get 503 with "
        "`Retry-After`, or no connection.",
        "test_no_call_that_was_accepted_is_lost_when_it_is_told_to_end_under_load",
    ),
    Scarcity(
        "SIGTERM while calls do not end.",
        "They end after 20 s with -32603, `Stopping`; process and children are gone within 10 s more.",
        "test_calls_that_do_not_end_are_told_so_after_the_grace_period",
    ),
    Scarcity(
        "A second SIGTERM or SIGINT.",
        "The process ends at once.",
        "test_a_second_signal_under_load_ends_it_at_once",
    ),
    Scarcity(
        "Another gateway with the same `sealKeyFile` takes over.",
        "Stateless clients go on where a stateless backend asked them; sessions, and calls that "
        "waited in the first gateway, begin anew (404; `RequestStateExpired`).",
        "test_a_stateless_client_goes_on_at_the_next_gateway_where_it_was_asked",
    ),
)
