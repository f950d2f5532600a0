"""What users of ToolHive have in their clusters is taken by a real API server, and served."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cluster.compat.refused import REFUSED, Refused
from tests.cluster.compat.users import Object, files, objects
from tests.cluster.compat.words import lines
from tests.support.cluster.admin import Told
from tests.support.cluster.cluster import Cluster
from tests.support.cluster.definitions import path_of
from vmcp.crd.convert import Converter
from vmcp.crd.kinds import KIND_OF, KINDS, VERSIONS
from vmcp.crd.schema import structural
from vmcp.crd.scope import Scope
from vmcp.crd.things import KINDS as HELD
from vmcp.crd.things import is_held, thing
from vmcp.crd.world import CONFIG_MAP, GATEWAY, SECRET, Thing, World
from vmcp.kube.trimming import Trim, config_map, keeping, kept, secret
from vmcp.model.keys import ObjectKey

MADE = yaml.safe_load((Path(__file__).parent / "compat" / "made.yaml").read_text())
# As the watches of the gateway keep them.
TRIMS: Mapping[str, Trim] = {SECRET: secret, CONFIG_MAP: config_map}
WORKLOADS = ("MCPServer", "MCPRemoteProxy")
PLURALS = {SECRET: "secrets", CONFIG_MAP: "configmaps"}


def collection(kind: str, namespace: str, version: str = "") -> str:
    if kind in PLURALS:
        return f"/api/v1/namespaces/{namespace}/{PLURALS[kind]}"
    return path_of(kind, namespace, version or VERSIONS[-1])


def applied(cluster: Cluster, namespace: str, one: Object) -> Told:
    """Make an object in the version that it is written in, as `kubectl apply` does."""
    version = one["apiVersion"].rpartition("/")[2]
    metadata = {key: one["metadata"][key] for key in ("name", "labels") if key in one["metadata"]}
    path = collection(one["kind"], namespace, version)
    return cluster.admin.ask("POST", path, {**one, "metadata": metadata})


def reported(one: Object, namespace: str) -> Object:
    """Return what the operator says of a workload, unless the manifest tells of something else."""
    spec, name = one["spec"], one["metadata"]["name"]
    host = {"MCPServer": f"mcp-{name}-proxy", "MCPRemoteProxy": f"mcp-{name}-remote-proxy"}
    url = f"http://{host[one['kind']]}.{namespace}.svc.cluster.local:{spec.get('proxyPort', 8080)}"
    if one["kind"] == "MCPServer":
        stdio = spec.get("transport", "stdio") == "stdio"
        transport = spec.get("proxyMode") if stdio else spec["transport"]
        url += f"/sse#{name}" if transport == "sse" else "/mcp"
    status: Object = one.get("status", {"phase": "Ready", "url": url})
    return status


def served(cluster: Cluster, namespace: str) -> World:
    """Return what a watch would bring of a namespace, in the version that is stored."""
    things = {
        one.key: one for kind in (*HELD, *PLURALS) for one in _things(cluster, namespace, kind)
    }
    return World(namespace, things)


def _things(cluster: Cluster, namespace: str, kind: str) -> Iterator[Thing]:
    for one in cluster.admin.do("GET", collection(kind, namespace))["items"]:
        found = kept(one, TRIMS.get(kind, keeping("url", "phase")))
        yield thing(ObjectKey(kind, found.name, namespace), found.version, found.content)


def made(world: World) -> dict[str, list[str]]:
    """Return what each gateway makes of its namespace; without one, what the only group is served as."""
    gateways = [each.key.name for each in world.of_kind(GATEWAY)]
    return {name or "the group": _made(world, name) for name in gateways or [None]}


def _made(world: World, gateway: str | None) -> list[str]:
    scope = Scope(
        "kubernetes", gateway, None, has_operator=True, allows_loopback=False, timeout_seconds=30.0
    )
    found = lines(Converter(scope).convert(world))
    return [line.replace(f".{world.namespace}.svc", ".NAMESPACE.svc") for line in found]


@pytest.mark.parametrize("path", files(), ids=lambda path: path.stem)
def test_what_users_write_is_taken_and_served_as_it_says(
    taught: Cluster, namespace: str, path: Path
) -> None:
    for one in objects(path):
        told = applied(taught, namespace, one)
        assert told.status == 201, told.body.get("message")
        if one["kind"] in WORKLOADS:
            at = f"{collection(one['kind'], namespace)}/{one['metadata']['name']}/status"
            taught.admin.merge(at, {"status": reported(one, namespace)})

    assert made(served(taught, namespace)) == MADE[path.stem]


@pytest.mark.parametrize("path", files(), ids=lambda path: path.stem)
def test_the_files_themselves_say_the_same_without_what_the_server_fills_in(path: Path) -> None:
    held = [one for one in objects(path) if is_held(one["kind"], one["apiVersion"])]
    things = {one.key: one for one in map(in_a_file, held)}

    assert made(World("apps", things)) == MADE[path.stem]


def in_a_file(one: Object) -> Thing:
    status = reported(one, "apps") if one["kind"] in WORKLOADS else {}
    key = ObjectKey(one["kind"], one["metadata"]["name"], "apps")
    return thing(key, "1", {**one, "status": status})


@pytest.mark.parametrize("one", REFUSED, ids=lambda one: one.name)
def test_what_nobody_takes_is_refused_with_the_field_that_is_wrong(
    taught: Cluster, namespace: str, one: Refused
) -> None:
    told = applied(taught, namespace, one.object)

    assert told.status in (400, 422), told.body
    assert one.message in told.body["message"], told.body["message"]
    path = f"{collection(one.object['kind'], namespace)}/{one.object['metadata']['name']}"
    assert taught.admin.ask("GET", path).status == 404


def written(schema: Mapping[str, Any], value: object, path: str) -> Iterator[str]:
    """Yield the paths of the fields that an object has."""
    match value:
        case dict():
            known, others = schema.get("properties", {}), schema.get("additionalProperties")
            for key, inner in value.items():
                if key in known:
                    yield f"{path}.{key}"
                    yield from written(known[key], inner, f"{path}.{key}")
                elif isinstance(others, Mapping):
                    yield from written(others, inner, f"{path}.*")
        case list():
            for inner in value:
                yield from written(schema.get("items", {}), inner, f"{path}.*")


def known(schema: Mapping[str, Any], path: str) -> Iterator[str]:
    """Yield the paths of all fields that there are."""
    for key, inner in schema.get("properties", {}).items():
        yield f"{path}.{key}"
        yield from known(inner, f"{path}.{key}")
    for key in ("items", "additionalProperties"):
        if isinstance(inner := schema.get(key), Mapping):
            yield from known(inner, f"{path}.*")


def one_shape(path: str) -> str:
    """Return a path, that of the default as that of an entry of the table, which is made the same."""
    return path.replace("outgoingAuth.default.", "outgoingAuth.backends.*.")


def test_users_write_each_field_of_each_kind_in_both_versions() -> None:
    all_objects = [one for path in files() for one in objects(path) if one["kind"] in KIND_OF]
    schemas = {kind.name: structural(kind.spec) for kind in KINDS}

    used = {
        one_shape(path)
        for one in all_objects
        for path in written(schemas[one["kind"]], one.get("spec"), one["kind"])
    }

    there = {one_shape(path) for name, schema in schemas.items() for path in known(schema, name)}
    assert sorted(there - used) == []
    assert {one["kind"] for one in all_objects} == {*KIND_OF}
    assert {one["apiVersion"].rpartition("/")[2] for one in all_objects} == {*VERSIONS}
    assert len(files()) >= 30


def test_enough_is_refused() -> None:
    assert len(REFUSED) >= 40
    assert len({one.name for one in REFUSED}) == len(REFUSED)
    assert {one.object["kind"] for one in REFUSED} == {*KIND_OF}
