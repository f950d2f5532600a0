"""What the API server is told of each kind."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.crd.structural import Schema, children, complaints
from vmcp.crd.definitions import definition, definitions
from vmcp.crd.kinds import KINDS, Kind

# What `kubectl apply` may note of the last version of an object.
MAX_NOTED_BYTES = 262_144

each_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)


def schema_of(kind: Kind, version: str = "v1beta1") -> Any:
    versions = {one["name"]: one for one in definition(kind)["spec"]["versions"]}
    return versions[version]["schema"]["openAPIV3Schema"]


def fields(schema: Schema, path: str = "") -> Iterator[tuple[str, Schema]]:
    """Yield all fields of a schema by their paths."""
    for name, inner in children(schema):
        yield f"{path}.{name}", inner
        yield from fields(inner, f"{path}.{name}")


@each_kind
def test_the_schema_is_structural(kind: Kind) -> None:
    assert [*complaints(schema_of(kind), kind.name)] == []


@each_kind
def test_both_versions_have_one_schema_and_one_is_stored(kind: Kind) -> None:
    older, newer = definition(kind)["spec"]["versions"]

    assert (older["name"], older["served"], older["storage"]) == ("v1alpha1", True, False)
    assert (newer["name"], newer["served"], newer["storage"]) == ("v1beta1", True, True)
    assert older["deprecated"] is True
    assert "v1beta1" in older["deprecationWarning"]
    assert "deprecated" not in newer
    assert older["schema"] == newer["schema"]
    assert older["additionalPrinterColumns"] == newer["additionalPrinterColumns"]


@each_kind
def test_every_field_has_a_description(kind: Kind) -> None:
    bare = [
        path
        for path, schema in fields(schema_of(kind))
        if "description" not in schema and not path.endswith((".*", ".metadata"))
    ]

    assert bare == []


@each_kind
def test_a_spec_that_is_absent_is_no_fault_of_the_schema(kind: Kind) -> None:
    assert "required" not in schema_of(kind)


@each_kind
def test_columns_lead_to_fields_of_their_types(kind: Kind) -> None:
    known = {path: schema.get("type") for path, schema in fields(schema_of(kind))}

    for column in kind.columns:
        if column.path == ".metadata.creationTimestamp":
            assert column.type == "date"
        elif "conditions[?(@.type==" in column.path:
            assert column.type == "string"
        else:
            assert known[column.path] == column.type


@each_kind
def test_it_fits_into_the_note_of_kubectl_apply(kind: Kind) -> None:
    assert len(json.dumps(definition(kind))) < MAX_NOTED_BYTES


def test_names_are_given_once() -> None:
    names = [
        name
        for one in definitions()
        for name in {
            one["spec"]["names"]["plural"],
            one["spec"]["names"]["singular"],
            *one["spec"]["names"]["shortNames"],
        }
    ]

    assert sorted(names) == sorted(set(names))
    assert all(one["spec"]["names"]["categories"] == ["toolhive"] for one in definitions())
    assert all(one["spec"]["scope"] == "Namespaced" for one in definitions())


def test_what_is_handed_on_unread_is_open() -> None:
    found = {
        path
        for kind in KINDS
        for path, schema in fields(schema_of(kind))
        if schema.get("x-kubernetes-preserve-unknown-fields") and "compositeTools" not in path
    }

    assert found == {
        ".spec.config",
        ".spec.podTemplateSpec",
        ".spec.parameters",
        ".spec.output.properties.*.default",
        ".spec.output.properties.*.properties",
        ".spec.steps.*.arguments",
        ".spec.steps.*.defaultResults",
        ".spec.steps.*.schema",
        ".spec.steps.*.step",
    }
