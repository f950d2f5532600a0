"""What is not read is not kept, and no value of a Secret is in sight."""

from __future__ import annotations

from typing import Any

import pytest

from vmcp.kube.trimming import config_map, keeping, kept, secret
from vmcp.model.secret import Secret

ENTRY: dict[str, Any] = {
    "apiVersion": "toolhive.stacklok.dev/v1beta1",
    "kind": "MCPServer",
    "metadata": {
        "name": "one",
        "namespace": "apps",
        "uid": "u",
        "generation": 2,
        "resourceVersion": "7",
        "managedFields": [{"manager": "kubectl", "fieldsV1": {"f:spec": {}}}],
        "annotations": {"kubectl.kubernetes.io/last-applied-configuration": "{}"},
    },
    "spec": {"image": "x"},
    "status": {"url": "http://one", "phase": "Running", "conditions": [{"type": "Ready"}]},
}


def test_a_custom_resource_keeps_its_spec_and_what_is_read_of_its_status() -> None:
    found = kept(ENTRY, keeping("url", "phase"))

    assert (found.name, found.version) == ("one", "7")
    assert found.content == {
        "apiVersion": "toolhive.stacklok.dev/v1beta1",
        "metadata": {"name": "one", "namespace": "apps", "uid": "u", "generation": 2},
        "spec": {"image": "x"},
        "status": {"url": "http://one", "phase": "Running"},
    }


def test_an_object_that_is_going_is_kept_with_its_time() -> None:
    metadata = {"name": "one", "deletionTimestamp": "2026-11-01T00:00:00Z"}

    found = kept({"metadata": metadata}, keeping())

    assert found.content["metadata"] == metadata


def test_values_of_a_secret_are_out_of_sight() -> None:
    found = kept({"metadata": {"name": "s"}, "type": "Opaque", "data": {"k": "aGk="}}, secret)

    assert found.content == {"metadata": {"name": "s"}, "data": {"k": Secret("aGk=")}}
    assert "aGk" not in repr(found.content)


def test_both_kinds_of_values_of_a_config_map_are_kept() -> None:
    parts = {"data": {"a": "text"}, "binaryData": {"b": "aGk="}}

    found = kept({"metadata": {"name": "m"}, **parts, "immutable": True}, config_map)

    assert found.content == {"metadata": {"name": "m"}, **parts}


@pytest.mark.parametrize("trim", [keeping("url"), secret, config_map])
@pytest.mark.parametrize("found", [{}, {"metadata": None, "status": 1, "data": "x"}])
def test_an_object_of_another_shape_breaks_nothing(trim: Any, found: dict[str, Any]) -> None:
    assert kept(found, trim).name == ""
