"""A real API server takes our definitions, and takes and refuses the same objects as our own reading."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import TypeAdapter

from tests.crd.broken import BROKEN
from tests.crd.broken_spec import SMALLEST, Broken
from tests.crd.samples import Object, name, samples
from tests.support.cluster.admin import Told
from tests.support.cluster.cluster import Cluster
from tests.support.cluster.definitions import PATH, conditions, path_of
from vmcp.crd.definitions import definitions
from vmcp.crd.kinds import API_VERSIONS, DEPRECATED_VERSION, GROUP, KIND_OF, STORED_VERSION
from vmcp.crd.reading import read, unknown_fields
from vmcp.model.secret import Secret

# What is checked and filled in, and then not kept.
DRY = "?dryRun=All"


@pytest.fixture(scope="module")
def place(taught: Cluster) -> Iterator[str]:
    """One namespace for all that is only tried."""
    made = taught.new_namespace("crds")
    yield made
    taught.admin.ask("DELETE", f"/api/v1/namespaces/{made}")


def tried(cluster: Cluster, namespace: str, one: Mapping[str, Any]) -> Told:
    version = one["apiVersion"].split("/")[1]
    return cluster.admin.ask("POST", path_of(one["kind"], namespace, version) + DRY, one)


def of(kind: str, spec: object) -> Object:
    version = f"{GROUP}/{STORED_VERSION}"
    return {"apiVersion": version, "kind": kind, "metadata": {"name": "one"}, "spec": spec}


def as_read(kind: str, spec: object) -> Any:
    """Return a spec as our own reading has it, with defaults and without what is not known."""
    model: Any = KIND_OF[kind].spec
    written = TypeAdapter(model).dump_python(read(model, spec), by_alias=True, exclude_none=True)
    return revealed(written)


def revealed(value: Any) -> Any:
    match value:
        case Secret():
            return value.reveal()
        case dict():
            return {key: revealed(inner) for key, inner in value.items()}
        case list() | tuple():
            return [revealed(inner) for inner in value]
        case _:
            return value


def without(spec: Any, kind: str) -> Any:
    """Return a spec without the fields that only the API server keeps."""
    for place in unknown_fields(KIND_OF[kind].spec, spec):
        holder = spec
        for key in place[:-1]:
            holder = holder[key]
        del holder[place[-1]]
    return spec


@pytest.mark.parametrize("definition", definitions(), ids=lambda one: one["spec"]["names"]["kind"])
def test_a_definition_is_taken_as_it_is(taught: Cluster, definition: Object) -> None:
    kept = taught.admin.do("GET", f"{PATH}/{definition['metadata']['name']}")

    found = conditions(kept)
    assert (found["Established"], found["NamesAccepted"]) == ("True", "True")
    assert "NonStructuralSchema" not in found
    assert kept["status"]["storedVersions"] == [STORED_VERSION]
    assert kept["spec"]["versions"] == definition["spec"]["versions"]


@pytest.mark.parametrize("one", samples(), ids=name)
@pytest.mark.parametrize("version", API_VERSIONS)
def test_what_users_write_is_taken_and_filled_in_as_we_read_it(
    taught: Cluster, place: str, one: Object, version: str
) -> None:
    told = tried(taught, place, {**one, "apiVersion": version})

    assert told.status == 201, told.body.get("message")
    kept = without(told.body.get("spec", {}), one["kind"])
    assert kept == as_read(one["kind"], one.get("spec"))


@pytest.mark.parametrize("kind", SMALLEST)
def test_the_smallest_spec_is_taken(taught: Cluster, place: str, kind: str) -> None:
    told = tried(taught, place, of(kind, SMALLEST[kind]))

    assert told.status == 201, told.body.get("message")


@pytest.mark.parametrize("one", BROKEN, ids=lambda one: one.name)
def test_what_we_refuse_is_refused_at_the_same_place(
    taught: Cluster, place: str, one: Broken
) -> None:
    told = tried(taught, place, of(one.kind, one.spec))

    assert told.status == 422, told.body
    causes = told.body["details"]["causes"]
    assert [cause for cause in causes if cause["field"].startswith(f"spec.{one.place}")], causes
    if one.is_rule:
        assert [cause for cause in causes if one.message in cause["message"]], causes


def test_what_one_version_stores_the_other_one_serves(taught: Cluster, namespace: str) -> None:
    entry = of("MCPServerEntry", SMALLEST["MCPServerEntry"])
    older = {**entry, "apiVersion": f"{GROUP}/{DEPRECATED_VERSION}"}

    taught.admin.do("POST", path_of("MCPServerEntry", namespace, DEPRECATED_VERSION), older)
    kept = taught.admin.do("GET", f"{path_of('MCPServerEntry', namespace)}/one")

    assert kept["apiVersion"] == f"{GROUP}/{STORED_VERSION}"
    assert kept["spec"] == {**SMALLEST["MCPServerEntry"], "allowPrivateEndpoint": False}


def test_a_status_is_written_by_its_own_path_alone(taught: Cluster, namespace: str) -> None:
    path = path_of("VirtualMCPServer", namespace)
    gateway = of("VirtualMCPServer", SMALLEST["VirtualMCPServer"])
    backend = {"name": "wiki", "status": "ready", "lastHealthCheck": "2026-11-30T01:02:03Z"}
    status = {"backendCount": 1, "discoveredBackends": [backend]}

    made = taught.admin.do("POST", path, {**gateway, "status": status})
    written = taught.admin.merge(f"{path}/one/status", {"status": status})

    assert "status" not in made
    assert written["status"] == {**status, "phase": "Pending"}
    assert written["metadata"]["generation"] == 1


def kubectl(cluster: Cluster, *words: str, given: str | None = None) -> tuple[str, str]:
    """Return what kubectl says, and what it warns of."""
    command = [cluster.programs["kubectl"], f"--kubeconfig={cluster.kubeconfig}", *words]
    ended = subprocess.run(
        command, input=given, capture_output=True, text=True, timeout=60, check=True
    )
    return ended.stdout, ended.stderr


def test_kubectl_shows_the_columns_and_finds_kinds_by_their_short_names(
    taught: Cluster, namespace: str
) -> None:
    wiki = of("MCPServerEntry", SMALLEST["MCPServerEntry"])
    taught.admin.do("POST", path_of("MCPServerEntry", namespace), wiki)

    table, _ = kubectl(taught, "get", "mcpentry", "-n", namespace)
    everything, _ = kubectl(taught, "get", "toolhive", "-n", namespace, "-o", "name")

    head, row = table.splitlines()
    assert head.split() == ["NAME", "PHASE", "TRANSPORT", "REMOTE", "URL", "GROUP", "AGE"]
    assert row.split()[:4] == ["one", "streamable-http", "https://a.example.com/mcp", "g"]
    assert everything.split() == ["mcpserverentry.toolhive.stacklok.dev/one"]


def test_kubectl_warns_of_the_older_version(taught: Cluster, namespace: str) -> None:
    group = {**of("MCPGroup", {}), "apiVersion": f"{GROUP}/{DEPRECATED_VERSION}"}

    _, warned = kubectl(taught, "apply", "-n", namespace, "-f", "-", given=yaml.safe_dump(group))

    assert (
        "toolhive.stacklok.dev/v1alpha1 is deprecated; use toolhive.stacklok.dev/v1beta1" in warned
    )


def test_kubectl_explains_fields_in_our_words(taught: Cluster) -> None:
    told, _ = kubectl(taught, "explain", "mcpserverentry.spec.caBundleRef.exclusive")

    assert "Trust these certificates alone" in " ".join(told.split())


def test_the_printed_definitions_can_be_applied_by_both_ways_of_kubectl(
    taught: Cluster, tmp_path: Path
) -> None:
    file = tmp_path / "crds.yaml"
    file.write_text(yaml.safe_dump_all(definitions()))

    at_the_server, _ = kubectl(
        taught, "apply", "--server-side", "--force-conflicts", "--dry-run=server", "-f", str(file)
    )
    at_the_client, _ = kubectl(taught, "apply", "--dry-run=server", "-f", str(file))

    assert len(at_the_server.splitlines()) == len(at_the_client.splitlines()) == len(definitions())
