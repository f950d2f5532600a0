"""Objects are read as the API server takes them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from typing import Any, get_args, get_type_hints

import pytest
from pydantic import TypeAdapter

from tests.crd.broken import BROKEN
from tests.crd.broken_spec import SMALLEST, Broken
from tests.crd.samples import Object, name, samples
from vmcp.config.faults import path_text
from vmcp.crd.kinds import KIND_OF, KINDS, MCP_SERVER, MCP_SERVER_ENTRY, VIRTUAL_MCP_SERVER, Kind
from vmcp.crd.reading import Malformed, read, unknown_fields
from vmcp.crd.specs.base import Spec
from vmcp.crd.specs.entry import MCPServerEntrySpec
from vmcp.crd.specs.server import MCPServerMember, MCPServerSpec

ENTRY = SMALLEST["MCPServerEntry"]


def classes(model: Any) -> Iterator[type[Spec]]:
    """Yield all classes that a type is made of."""
    if isinstance(model, type) and issubclass(model, Spec):
        yield model
        for hint in get_type_hints(model, include_extras=True).values():
            yield from classes(hint)
    else:
        for part in get_args(model):
            yield from classes(part)


def all_classes(kind: Kind) -> set[type[Spec]]:
    return {*classes(kind.spec), *classes(kind.status)}


def set_fields(value: Any) -> Iterator[tuple[str, str]]:
    """Yield the fields that an object sets, each with its class."""
    if isinstance(value, Spec):
        for field in fields(type(value)):  # type: ignore[arg-type]
            inner = getattr(value, field.name)
            if inner is not None:
                yield (type(value).__name__, field.name)
                yield from set_fields(inner)
    elif isinstance(value, dict):
        for inner in value.values():
            yield from set_fields(inner)
    elif isinstance(value, tuple):
        for inner in value:
            yield from set_fields(inner)


@pytest.mark.parametrize("one", samples(), ids=name)
def test_what_users_write_is_read(one: Object) -> None:
    found = read(KIND_OF[one["kind"]].spec, one.get("spec"))

    assert not isinstance(found, Malformed), str(found)


@pytest.mark.parametrize("one", [one for one in samples() if "s3cr3t" not in str(one)], ids=name)
def test_what_is_read_can_be_written_and_read_again(one: Object) -> None:
    model: Any = KIND_OF[one["kind"]].spec
    found = read(model, one.get("spec"))

    written = TypeAdapter(model).dump_python(found, by_alias=True, exclude_none=True)

    assert read(model, written) == found


def test_the_samples_set_every_field_of_every_kind() -> None:
    used = {
        found
        for one in samples()
        for found in set_fields(read(KIND_OF[one["kind"]].spec, one.get("spec")))
    }
    known = {
        (model.__name__, field)
        for kind in KINDS
        for model in classes(kind.spec)
        for field in get_type_hints(model)
        if field != "rules"
    }

    assert known - used == set()
    assert {one["kind"] for one in samples()} == set(KIND_OF)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_the_smallest_spec_is_read(kind: Kind) -> None:
    assert not isinstance(read(kind.spec, SMALLEST[kind.name]), Malformed)


@pytest.mark.parametrize("one", BROKEN, ids=lambda one: one.name)
def test_a_fault_is_told_with_its_place(one: Broken) -> None:
    found = read(KIND_OF[one.kind].spec, one.spec)

    assert isinstance(found, Malformed)
    assert (one.place, one.message) in [
        (path_text(fault.place), fault.message) for fault in found.faults
    ]


def test_every_rule_between_fields_is_broken_by_one_of_them() -> None:
    rules = {rule.message for kind in KINDS for model in all_classes(kind) for rule in model.rules}

    assert rules - {one.message for one in BROKEN} == set()


def test_all_faults_are_told_at_once_with_what_was_found_and_what_is_allowed() -> None:
    found = read(MCP_SERVER_ENTRY.spec, {"groupRef": {"name": ""}, "transport": "http"})

    assert isinstance(found, Malformed)
    assert found.sentences() == (
        "groupRef.name: Has too few characters. Found: an empty text. Allowed: at least 1.",
        "remoteUrl: Is required.",
        "transport: Is none of the allowed values. Found: 'http'. Allowed: 'sse', 'streamable-http'.",
    )


def test_values_that_may_be_secret_are_never_repeated() -> None:
    given = {
        **ENTRY,
        "remoteUrl": "wss://user:s3cret@a.example.com",
        "headerForward": {"addPlaintextHeaders": "s3cret"},
        "groupRef": ["s3cret"],
    }

    found = read(MCP_SERVER_ENTRY.spec, given)

    assert isinstance(found, Malformed)
    assert len(found.faults) == 3
    assert "s3cret" not in f"{found} {found!r}"


def test_no_value_is_in_the_repr_of_what_was_read() -> None:
    given = {**ENTRY, "headerForward": {"addPlaintextHeaders": {"X-Key": "s3cret"}}}

    found = read(MCPServerEntrySpec, given)

    assert isinstance(found, MCPServerEntrySpec)
    assert repr([found, found.header_forward]) == "[<MCPServerEntrySpec>, <HeaderForward>]"


def test_a_secret_in_the_config_of_a_gateway_is_a_secret_once_it_is_read() -> None:
    header = {"headerName": "X-Key", "headerValue": "s3cret"}
    default = {"type": "header_injection", "headerInjection": header}
    given = {
        **SMALLEST["VirtualMCPServer"],
        "config": {"outgoingAuth": {"source": "inline", "default": default}},
    }

    found: Any = read(VIRTUAL_MCP_SERVER.spec, given)

    value = found.config.outgoing_auth.default.header_injection.header_value
    assert (str(value), value.reveal()) == ("Secret(***)", "s3cret")


def test_a_spec_that_is_absent_is_an_empty_one() -> None:
    assert not isinstance(read(KIND_OF["MCPGroup"].spec, None), Malformed)
    assert str(read(MCP_SERVER.spec, None)) == "image: Is required."


def test_null_is_absent_and_leaves_the_default() -> None:
    found = read(MCPServerEntrySpec, {**ENTRY, "allowPrivateEndpoint": None})

    assert isinstance(found, MCPServerEntrySpec)
    assert found.allow_private_endpoint is False


def test_fields_that_are_not_known_are_passed_over_and_can_be_told() -> None:
    given = {
        **SMALLEST["VirtualMCPServer"],
        "future": 1,
        "podTemplateSpec": {"anything": {"goes": 1}},
        "config": {"future": 1, "aggregation": {"tools": [{"workload": "a", "future": 1}]}},
    }

    assert not isinstance(read(VIRTUAL_MCP_SERVER.spec, given), Malformed)
    assert [path_text(place) for place in unknown_fields(VIRTUAL_MCP_SERVER.spec, given)] == [
        "future",
        "config.future",
        "config.aggregation.tools[0].future",
    ]


def test_values_of_maps_are_no_unknown_fields() -> None:
    given = {**ENTRY, "headerForward": {"addPlaintextHeaders": {"X-Any": "v"}}}

    assert unknown_fields(MCP_SERVER_ENTRY.spec, given) == ()


def test_what_only_an_operator_needs_cannot_make_a_member_unreadable() -> None:
    given = {"groupRef": {"name": "g"}, "image": 7, "sessionAffinity": "Sticky", "replicas": "2"}

    assert isinstance(read(MCPServerSpec, given), Malformed)
    assert isinstance(read(MCPServerMember, given), MCPServerMember)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_what_is_read_is_frozen_and_small(kind: Kind) -> None:
    for model in all_classes(kind):
        assert "__dict__" not in dir(model), model.__name__
    found: Any = read(kind.spec, SMALLEST[kind.name])
    with pytest.raises(AttributeError):
        setattr(found, fields(found)[0].name, "other")
