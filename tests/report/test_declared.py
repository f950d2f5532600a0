"""What a server says of a status is found in its description of all kinds."""

from __future__ import annotations

import pytest

from vmcp.report.declared import Declared, declared
from vmcp.report.subject import GATEWAYS

OURS = {"group": GATEWAYS.group, "version": "v1beta1", "kind": GATEWAYS.kind}
OTHERS = {**OURS, "group": "example.com"}


def described(*kinds: object, **status: object) -> object:
    schema = {
        "properties": {"status": {"properties": status}},
        "x-kubernetes-group-version-kind": [*kinds],
    }
    return {"components": {"schemas": {"a": {}, "b": None, "c": schema}}}


def test_the_fields_of_the_status_and_of_an_entry_are_found() -> None:
    entries = {"items": {"properties": {"name": {}, "status": {}}}}

    found = declared(
        described(OTHERS, OURS, phase={}, discoveredBackends=entries), GATEWAYS, "v1beta1"
    )

    assert found == Declared(
        frozenset({"phase", "discoveredBackends"}), frozenset({"name", "status"})
    )


@pytest.mark.parametrize(
    "document",
    [None, {}, {"components": []}, described(OTHERS, phase={}), described(OURS)],
    ids=["nothing", "empty", "of another shape", "of another group", "without a status"],
)
def test_what_says_nothing_of_it_is_known_for_that(document: object) -> None:
    assert declared(document, GATEWAYS, "v1beta1") is None


def test_a_status_loses_what_is_not_declared() -> None:
    known = Declared(frozenset({"conditions", "discoveredBackends"}), frozenset({"name"}))
    fields = {
        "backendCount": 1,
        "conditions": [],
        "discoveredBackends": [{"name": "a", "message": "It answers."}],
    }

    assert known.unknown(fields) == {"backendCount", "message"}
    assert known.trimmed(fields) == {"conditions": [], "discoveredBackends": [{"name": "a"}]}
