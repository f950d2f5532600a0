"""Every member has one entry that says how it fares, in the words of the custom resource."""

from __future__ import annotations

from dataclasses import replace

import pytest
from pydantic import TypeAdapter

from tests.report.pictures import (
    REFUSED,
    backend,
    entries,
    failing,
    health,
    left_out,
    picture,
    well,
)
from vmcp.crd.specs.virtual import DiscoveredBackend
from vmcp.model.auth import AuthDecision, AuthOrigin, BearerToken, HeaderInjection
from vmcp.model.backend import StdioEndpoint
from vmcp.model.health import BackendHealth, Circuit, Stage, State
from vmcp.model.secret import Secret
from vmcp.report.entries import Entries, Standing

SAID = "Unreachable: it refuses connections."
OPEN = "CircuitOpen: it failed again and again, so it gets no calls for a while."
HALF = "CircuitHalfOpen: one call finds out whether it is back."
STANDINGS = [
    ("never heard of", None, "unknown", "It has not answered yet."),
    ("connecting", health(State.CONNECTING), "unknown", "It has not answered yet."),
    ("healthy", health(), "ready", "It answers."),
    ("recovered", health(failure=REFUSED), "ready", "It answers."),
    ("circuit closed", health(circuit=Circuit.CLOSED), "ready", "It answers."),
    ("circuit open", health(circuit=Circuit.OPEN), "unavailable", OPEN),
    (
        "calls fail",
        health(circuit=Circuit.OPEN, failure=replace(REFUSED, stage=Stage.CALL)),
        "unavailable",
        f"{OPEN} {SAID}",
    ),
    ("circuit half open", health(circuit=Circuit.HALF_OPEN), "degraded", HALF),
    ("failing", failing(State.DEGRADED), "degraded", SAID),
    (
        "failing, circuit open",
        health(State.DEGRADED, circuit=Circuit.OPEN, failure=REFUSED),
        "unavailable",
        f"{OPEN} {SAID}",
    ),
    (
        "failing, circuit half open",
        health(State.DEGRADED, circuit=Circuit.HALF_OPEN),
        "degraded",
        HALF,
    ),
    ("past the threshold", failing(State.UNHEALTHY), "unavailable", SAID),
    (
        "past the threshold, circuit half open",
        health(State.UNHEALTHY, circuit=Circuit.HALF_OPEN, failure=REFUSED),
        "unavailable",
        f"{HALF} {SAID}",
    ),
    (
        "wants a credential",
        failing(State.UNAUTHENTICATED, reason="Unauthorized", message="it answered with 401."),
        "unauthenticated",
        "Unauthorized: it answered with 401.",
    ),
]


@pytest.mark.parametrize(
    ("seen", "status", "message"),
    [pytest.param(*row[1:], id=row[0]) for row in STANDINGS],
)
def test_how_a_backend_fares_is_told_in_the_words_of_the_resource(
    seen: BackendHealth | None, status: str, message: str
) -> None:
    known = {} if seen is None else {"wiki": seen}

    told = entries(picture(backend("wiki"), health=known))["wiki"]

    assert (told["status"], told["message"]) == (status, message)


def test_the_table_holds_every_state_and_every_standing() -> None:
    seen = [row[1] for row in STANDINGS if row[1] is not None]

    assert {each.state for each in seen} == {*State}
    assert {each.circuit.state for each in seen if each.circuit} == {*Circuit}
    assert {row[2] for row in STANDINGS} == {each.value for each in Standing}


def test_an_entry_has_every_field_of_the_schema() -> None:
    sending = backend("wiki", auth=BearerToken(Secret("hidden")))
    shown = picture(
        sending,
        health={"wiki": health(circuit=Circuit.CLOSED, seconds=90)},
        revisions={"wiki": "2025-11-25"},
        decisions={sending.key: AuthDecision(AuthOrigin.OWN, "wiki-auth")},
    )

    told = entries(shown)["wiki"]

    assert told == {
        "name": "wiki",
        "status": "ready",
        "url": "https://wiki.example.com/mcp",
        "message": "It answers.",
        "authConfigRef": "wiki-auth",
        "authType": "bearerToken",
        "lastHealthCheck": "2026-11-01T00:01:30Z",
        "consecutiveFailures": 0,
        "circuitBreakerState": "closed",
        "circuitLastChanged": "2026-11-01T00:00:00Z",
        "mcpRevision": "2025-11-25",
    }
    adapter = TypeAdapter(DiscoveredBackend)
    assert {*told} == {*adapter.json_schema()["properties"]}
    assert adapter.dump_python(adapter.validate_python(told), by_alias=True) == told


def test_what_is_not_known_is_absent() -> None:
    assert entries(picture(backend("wiki")))["wiki"] == {
        "name": "wiki",
        "status": "unknown",
        "url": "https://wiki.example.com/mcp",
        "message": "It has not answered yet.",
        "authType": "unauthenticated",
    }


def test_how_we_authenticate_is_named_without_the_credential() -> None:
    sending = backend("wiki", auth=HeaderInjection("X-Key", Secret("hidden")))

    told = entries(picture(sending))["wiki"]

    assert told["authType"] == "headerInjection"
    assert "hidden" not in str(told)


def test_a_url_is_shown_without_credentials_query_and_keys() -> None:
    url = "https://me:secret@a.example.com:8443/api/0123456789abcdef0123/mcp?key=secret#secret"

    told = entries(picture(backend("wiki", url=url)))["wiki"]

    assert told["url"] == "https://a.example.com:8443/api/***/mcp"


def test_a_command_has_no_url() -> None:
    local = replace(backend("local"), endpoint=StdioEndpoint("run", args=("--key", "secret")))

    assert "url" not in entries(picture(local))["local"]


def test_a_member_that_is_left_out_has_an_entry_with_its_reason() -> None:
    shown = well(
        "a",
        problems=(
            left_out("b", "CABundleNotFound", "ConfigMap 'ca' does not exist."),
            left_out("b", "SecretNotFound", "Secret 'key' does not exist."),
            left_out("c", "NotReady", "status.url is empty.", "MCPServer"),
            left_out("d", "NotReady", "status.url is empty.", "MCPRemoteProxy"),
            left_out("e", "SelfReference", "It is ourselves.", "Backend"),
        ),
    )

    told = entries(shown)

    assert [*told] == ["a", "b", "c", "d", "e"]
    assert told["b"] == {
        "name": "b",
        "status": "unavailable",
        "message": (
            "CABundleNotFound: ConfigMap 'ca' does not exist. "
            "SecretNotFound: Secret 'key' does not exist."
        ),
    }
    assert told["c"]["message"] == "NotReady: status.url is empty."


def test_problems_of_other_objects_make_no_entry() -> None:
    problems = (
        left_out("auth", "SpecInvalid", "It is not valid.", "MCPExternalAuthConfig"),
        left_out("team", "GroupNotFound", "There is none.", "VirtualMCPServer"),
    )

    assert entries(well(problems=problems)) == {}


def test_two_kinds_of_one_name_share_the_entry_of_the_one_that_is_served() -> None:
    server = backend("wiki", kind="MCPServer")
    taken = left_out("wiki", "NameTaken", "The name is taken.")

    told = entries(picture(server, health={"wiki": health()}, problems=(taken,)))

    assert [*told] == ["wiki"]
    assert told["wiki"]["status"] == "ready"
    assert told["wiki"]["message"] == (
        "It answers. MCPServerEntry 'wiki' is left out: NameTaken: The name is taken."
    )


def test_two_kinds_of_one_name_that_are_both_left_out_share_an_entry() -> None:
    problems = (
        left_out("wiki", "NotReady", "status.url is empty.", "MCPServer"),
        left_out("wiki", "NameTaken", "The name is taken."),
    )

    assert entries(picture(problems=problems))["wiki"]["message"] == (
        "NotReady: status.url is empty. "
        "MCPServerEntry 'wiki' is left out: NameTaken: The name is taken."
    )


def test_a_long_message_is_cut() -> None:
    told = entries(picture(problems=(left_out("wiki", "SpecInvalid", "x" * 9000),)))["wiki"]

    assert len(told["message"]) == 512
    assert told["message"].endswith("x…")


def test_checks_and_the_words_of_a_failure_are_no_news_and_its_reason_is() -> None:
    def news(seen: BackendHealth) -> object:
        return Entries().of(picture(backend("wiki"), health={"wiki": seen}))[0].news

    first = failing()
    later = replace(first, consecutive_failures=9, last_check=None)

    assert news(later) == news(first)
    assert news(failing(message="other words.")) == news(first)
    assert news(failing(reason="TimedOut")) != news(first)
    assert news(failing(State.DEGRADED)) != news(first)


def test_entries_that_stay_as_they_are_are_not_made_again() -> None:
    made = Entries()
    before = made.of(well("a", "b"))

    after = made.of(
        picture(backend("a"), backend("b"), health={"a": health(), "b": failing(State.DEGRADED)})
    )

    assert after[0] is before[0]
    assert after[1] is not before[1]
    assert [each.name for each in made.of(well("b"))] == ["b"]
