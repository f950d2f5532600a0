"""Each class of failure has its JSON-RPC code and, where both eras agree, its HTTP status."""

from __future__ import annotations

import json

import pytest

from vmcp.protocol import failures
from vmcp.protocol.failures import STATELESS_STATUS, BackendFailed, Failure, Refusal


@pytest.mark.parametrize(
    ("name", "code", "status", "in_stateless"),
    [
        ("Unparsable", -32700, 400, 400),
        ("InvalidRequest", -32600, 400, 400),
        ("SessionRequired", -32600, 400, 400),
        ("SessionUnknown", -32600, 404, 404),
        ("InvalidParams", -32602, None, 400),
        ("UnknownName", -32602, None, 400),
        ("IncompleteMeta", -32602, 400, 400),
        ("UnknownMethod", -32601, None, 404),
        ("HeaderMismatch", -32020, 400, 400),
        ("CapabilityMissing", -32021, None, 400),
        ("UnsupportedVersion", -32022, 400, 400),
        ("Failure", -32603, None, None),
    ],
)
def test_a_class_of_failure_has_its_code_and_status(
    name: str, code: int, status: int | None, in_stateless: int | None
) -> None:
    failure: Failure = getattr(failures, name)("why")

    assert json.loads(failure.payload()) == {"code": code, "message": "why"}
    assert failure.status == status
    assert (failure.status or STATELESS_STATUS.get(failure.code)) == in_stateless


def test_a_failed_backend_is_named_with_the_reason_and_what_else_is_known() -> None:
    failure = BackendFailed("time", "Overloaded", "it is busy.", retryAfterSeconds=3)

    assert json.loads(failure.payload()) == {
        "code": -32603,
        "message": "Backend 'time': it is busy.",
        "data": {"backend": "time", "reason": "Overloaded", "retryAfterSeconds": 3},
    }


def test_a_refusal_passes_the_code_of_the_backend_on() -> None:
    assert json.loads(Refusal(-31000, "no").payload()) == {"code": -31000, "message": "no"}


@pytest.mark.parametrize("text", ['"', "\\", "\n", "é", "\ud800", "日本"])
def test_any_text_of_a_client_may_stand_in_a_message_and_in_data(text: str) -> None:
    failure = Failure(text, {"uri": text})

    assert json.loads(failure.payload()) == {
        "code": -32603,
        "message": text,
        "data": {"uri": text},
    }
