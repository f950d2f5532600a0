"""Who refers to whom, in both directions."""

from __future__ import annotations

from typing import Any

from tests.crd.referrers import touched
from tests.crd.worlds import (
    bearer,
    config_map,
    entry,
    gateway,
    group,
    made,
    proxy,
    secret,
    server,
    world,
)
from vmcp.crd.references import references
from vmcp.crd.world import Thing


def names(keys: Any) -> set[str]:
    return {f"{key.kind}/{key.name}" for key in keys}


def test_an_entry_refers_to_all_that_its_fields_name() -> None:
    found = entry(
        externalAuthConfigRef={"name": "a"},
        caBundleRef={"configMapRef": {"name": "c", "key": "k"}},
        headerForward={
            "addHeadersFromSecret": [
                {"headerName": "X-A", "valueSecretRef": {"name": "s", "key": "k"}}
            ]
        },
    )

    assert names(references(found)) == {
        "MCPGroup/g",
        "MCPExternalAuthConfig/a",
        "ConfigMap/c",
        "Secret/s",
    }


def test_a_gateway_refers_to_its_group_its_auth_configs_and_its_tool_configs() -> None:
    def named(name: str) -> dict[str, Any]:
        return {"type": "externalAuthConfigRef", "externalAuthConfigRef": {"name": name}}

    found = gateway(
        outgoingAuth={
            "default": named("d"),
            "backends": {"e": named("t"), "f": {"type": "discovered"}},
        },
        config={"aggregation": {"tools": [{"workload": "e", "toolConfigRef": {"name": "c"}}]}},
    )

    assert names(references(found)) == {
        "MCPGroup/g",
        "MCPExternalAuthConfig/d",
        "MCPExternalAuthConfig/t",
        "MCPToolConfig/c",
    }


def test_workloads_refer_to_their_tool_configs() -> None:
    assert "MCPToolConfig/t" in names(references(server(toolConfigRef={"name": "t"})))
    assert "MCPToolConfig/t" in names(references(proxy(toolConfigRef={"name": "t"})))


def test_what_cannot_be_read_and_plain_objects_refer_to_nothing() -> None:
    for thing in (entry(transport="none"), secret("s"), config_map("c", {}), group()):
        assert references(thing) == frozenset()


def test_secrets_of_types_that_are_not_implemented_are_not_referred_to() -> None:
    exchange = {"tokenUrl": "u", "audience": "a", "clientSecretRef": {"name": "s", "key": "k"}}
    spec = {"type": "tokenExchange", "tokenExchange": exchange}

    assert references(made("MCPExternalAuthConfig", "a", spec=spec)) == frozenset()


CHAIN: list[Thing] = [
    group(),
    gateway(),
    entry(externalAuthConfigRef={"name": "a"}),
    entry("other"),
    bearer("a", "s"),
    bearer("b", "s"),
    secret("s", token="t"),
]


def test_a_secret_touches_all_above_it_and_nobody_else() -> None:
    before = world(*CHAIN)

    found = touched(before, before, [CHAIN[-1].key])

    assert names(found) == {
        "Secret/s",
        "MCPExternalAuthConfig/a",
        "MCPExternalAuthConfig/b",
        "MCPServerEntry/e",
    }


def test_a_reference_that_moves_touches_the_old_and_the_new_end() -> None:
    moved = entry(externalAuthConfigRef={"name": "b"})
    before, after = world(*CHAIN), world(*CHAIN[:2], moved, *CHAIN[3:])

    for config in ("a", "b"):
        found = touched(before, after, [after.key("MCPExternalAuthConfig", config)])

        assert "MCPServerEntry/e" in names(found)
