"""The conditions sum up what the entries and the problems of the gateway say."""

from __future__ import annotations

from datetime import timedelta

import pytest
from pydantic import TypeAdapter

from tests.report.pictures import (
    GATEWAY,
    backend,
    conditions,
    draft,
    failing,
    health,
    left_out,
    picture,
    well,
    wrong,
)
from tests.support.virtual_time import START
from vmcp.crd.specs.virtual import VirtualMCPServerStatus
from vmcp.model.health import HealthRules, PartialFailure, State
from vmcp.model.keys import ObjectKey
from vmcp.model.problem import Problem
from vmcp.report.conditions import Held, Said, in_force, stamped
from vmcp.report.drafts import Limits
from vmcp.report.entries import Picture

SAYS = "Correct it."
NOT_SUPPORTED = wrong("IncomingAuthNotSupported", "spec.incomingAuth asks for a protection.")
NO_GROUP = wrong("GroupNotFound", "MCPGroup 'g' does not exist.")
FORBIDDEN = Problem(
    ObjectKey("CustomResourceDefinition", "mcpserverentries.x"), "KindForbidden", "It is not read."
)
STUCK = Problem(ObjectKey("Namespace", "apps"), "ConversionFailed", "It is not understood.")
LOST = picture(backend("a"), backend("b"), health={"a": health(), "b": failing()})
CASES = [
    (
        "all is well",
        well("a", "b"),
        ("True", "BackendsDiscovered", "2 of 2 backends can be used now."),
        ("False", "BackendsReady", "All backends are ready."),
    ),
    (
        "nothing is there",
        well(),
        ("True", "NoBackends", "There are no backends."),
        ("False", "NoBackends", "There are no backends."),
    ),
    (
        "one has not answered",
        picture(backend("a"), backend("b"), health={"a": health()}),
        ("True", "BackendsDiscovered", "1 of 2 backends can be used now."),
        ("False", "BackendsPending", "1 of 2 backends have not answered yet."),
    ),
    (
        "one fails",
        LOST,
        ("True", "BackendsDiscovered", "1 of 2 backends can be used now."),
        ("True", "BackendsDegraded", "1 of 2 backends are not ready: b (unavailable)."),
    ),
    (
        "one fails for a moment",
        picture(backend("a"), health={"a": failing(State.DEGRADED)}),
        ("True", "BackendsDiscovered", "1 of 1 backends can be used now."),
        ("True", "BackendsDegraded", "1 of 1 backends are not ready: a (degraded)."),
    ),
    (
        "one is left out",
        well("a", problems=(left_out("b", "CABundleNotFound", SAYS),)),
        ("True", "BackendsDiscovered", "1 of 2 backends can be used now."),
        ("True", "BackendsDegraded", "1 of 2 backends are not ready: b (unavailable)."),
    ),
    (
        "a field has no effect",
        well("a", problems=(wrong("FieldNotSupported"),)),
        (
            "True",
            "BackendsDiscovered",
            "1 of 1 backends can be used now. FieldNotSupported: Correct it.",
        ),
        ("False", "BackendsReady", "All backends are ready."),
    ),
    (
        "a field cannot be used",
        well("a", problems=(wrong("FieldInvalid"), wrong("FieldNotSupported"))),
        (
            "True",
            "BackendsDiscovered",
            "1 of 1 backends can be used now. FieldInvalid: Correct it. FieldNotSupported: Correct it.",
        ),
        ("True", "FieldInvalid", "Correct it."),
    ),
    (
        "the group is not there",
        well(problems=(NO_GROUP, wrong("FieldNotSupported"))),
        (
            "False",
            "GroupNotFound",
            "MCPGroup 'g' does not exist. FieldNotSupported: Correct it.",
        ),
        ("True", "GroupNotFound", "MCPGroup 'g' does not exist."),
    ),
    (
        "a kind may not be read",
        well("a", problems=(FORBIDDEN,)),
        ("False", "KindForbidden", "It is not read."),
        ("False", "BackendsReady", "All backends are ready."),
    ),
    (
        "what was read last stays in force",
        well("a", problems=(STUCK,)),
        ("False", "ConversionFailed", "It is not understood."),
        ("False", "BackendsReady", "All backends are ready."),
    ),
    (
        "a config that backends refer to is not valid",
        well("a", problems=(left_out("x", "SpecInvalid", SAYS, "MCPExternalAuthConfig"),)),
        (
            "True",
            "BackendsDiscovered",
            "1 of 1 backends can be used now. MCPExternalAuthConfig 'x': SpecInvalid: Correct it.",
        ),
        ("False", "BackendsReady", "All backends are ready."),
    ),
    (
        "nobody may be served",
        well("a", problems=(NOT_SUPPORTED,), closed=NOT_SUPPORTED),
        ("False", "IncomingAuthNotSupported", "spec.incomingAuth asks for a protection."),
        ("True", "IncomingAuthNotSupported", "spec.incomingAuth asks for a protection."),
    ),
]


@pytest.mark.parametrize(
    ("shown", "discovered", "degraded"), [pytest.param(*row[1:], id=row[0]) for row in CASES]
)
def test_the_conditions_sum_up_how_the_backends_are(
    shown: Picture, discovered: tuple[str, str, str], degraded: tuple[str, str, str]
) -> None:
    told = conditions(shown)

    for type_, expected in (("BackendsDiscovered", discovered), ("Degraded", degraded)):
        found = told[type_]
        assert (found["status"], found["reason"], found["message"]) == expected


@pytest.mark.parametrize(
    ("closed", "status", "reason"),
    [
        (None, "True", "IncomingAuthValid"),
        (NOT_SUPPORTED, "False", "IncomingAuthNotSupported"),
        (wrong("GatewayInvalid", "It cannot be read."), "Unknown", "GatewayInvalid"),
    ],
    ids=["nothing is asked for", "a protection is asked for", "it cannot be known"],
)
def test_auth_is_configured_where_nothing_is_asked_for_that_there_is_not(
    closed: Problem | None, status: str, reason: str
) -> None:
    told = conditions(well("a", closed=closed))["AuthConfigured"]

    assert (told["status"], told["reason"]) == (status, reason)


def test_no_backend_can_be_used_while_nobody_is_served() -> None:
    assert draft(well("a")).fields["backendCount"] == 1
    assert draft(well("a", closed=NOT_SUPPORTED)).fields["backendCount"] == 0


def test_that_lists_are_errors_is_told_where_a_backend_is_unhealthy() -> None:
    rules = HealthRules(partial_failure=PartialFailure.FAIL)
    unhealthy = picture(backend("a"), health={"a": failing()}, health_rules=rules)
    degraded = picture(backend("a"), health={"a": failing(State.DEGRADED)}, health_rules=rules)

    assert "lists are errors" in conditions(unhealthy)["Degraded"]["message"]
    assert "lists are errors" not in conditions(degraded)["Degraded"]["message"]
    assert "lists are errors" not in conditions(LOST)["Degraded"]["message"]


def test_many_that_fail_are_counted() -> None:
    names = [f"b{number:02}" for number in range(30)]
    shown = picture(*map(backend, names), health=dict.fromkeys(names, failing()))

    message = conditions(shown)["Degraded"]["message"]

    assert message.startswith("30 of 30 backends are not ready: b00 (unavailable), ")
    assert message.endswith("b09 (unavailable) and 20 more.")


def test_how_many_are_not_listed_is_told() -> None:
    told = conditions(well("a", "b", "c"), Limits(entries=2, entry_bytes=10**6))

    assert told["BackendsDiscovered"]["message"] == (
        "3 of 3 backends can be used now. 1 of them are not listed here."
    )


def test_messages_are_bounded() -> None:
    problems = tuple(wrong("FieldInvalid", f"{number}: {'x' * 90}.") for number in range(100))

    for each in conditions(well("a", problems=problems)).values():
        assert len(each["message"]) <= 1024


def test_conditions_are_those_of_the_schema() -> None:
    told = draft(LOST).fields

    adapter = TypeAdapter(VirtualMCPServerStatus)
    read = adapter.validate_python(told)
    again = adapter.dump_python(read, mode="json", by_alias=True, exclude_none=True)
    # What others own of it has a default.
    assert again == {**told, "phase": "Pending"}
    assert {each["observedGeneration"] for each in told["conditions"]} == {3}


def test_a_time_moves_with_the_status_alone() -> None:
    later = START + timedelta(hours=1)
    before = stamped([Said("Degraded", "False", "BackendsReady", "")], {}, START)

    same = stamped([Said("Degraded", "False", "BackendsPending", "others")], before, later)
    other = stamped([Said("Degraded", "True", "BackendsDegraded", "")], before, later)

    assert same["Degraded"].since == "2026-11-01T00:00:00Z"
    assert other["Degraded"].since == "2026-11-01T01:00:00Z"


@pytest.mark.parametrize(
    "status",
    [
        None,
        {},
        {"conditions": None},
        {"conditions": ["?", {}, {"type": "Degraded"}, {"type": "Ready", "status": "True"}]},
    ],
)
def test_a_status_without_conditions_of_ours_has_none_in_force(status: object) -> None:
    assert in_force(status) == {}


def test_conditions_in_force_are_those_of_ours() -> None:
    ours = {"type": "Degraded", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}
    theirs = {**ours, "type": "Ready"}

    assert in_force({"conditions": [theirs, ours]}) == {
        "Degraded": Held("True", "2026-01-01T00:00:00Z")
    }


def test_problems_of_another_gateway_are_not_taken_for_our_own() -> None:
    other = Problem(ObjectKey("VirtualMCPServer", "other", "apps"), "SpecInvalid", SAYS)

    told = conditions(well("a", problems=(other,)))

    assert other.key != GATEWAY
    assert told["Degraded"]["status"] == "False"
