"""What the chart makes for the objects of the namespace: rights, the Lease, and objects themselves."""

from __future__ import annotations

from typing import Any

import pytest

from tests.charts.objects import CASES, DYNAMIC, FULL, GROUP, STATIC, Chart
from vmcp.crd.kinds import GROUP as API_GROUP
from vmcp.crd.kinds import KIND_OF
from vmcp.crd.things import KINDS

READ = ["get", "list", "watch"]


def of(rules: list[dict[str, Any]], resource: str) -> list[dict[str, Any]]:
    return [rule for rule in rules if resource in rule["resources"]]


@pytest.mark.parametrize("name", [name for name in CASES if name != "static"])
def test_all_kinds_that_are_watched_and_no_others_can_be_read(chart: Chart, name: str) -> None:
    watched, *others = chart(CASES[name]).rules

    assert watched == {
        "apiGroups": [API_GROUP],
        "resources": watched["resources"],
        "verbs": READ,
    }
    assert {*watched["resources"]} == {KIND_OF[kind].plural for kind in KINDS}
    assert all("*" not in rule["resources"] + rule["verbs"] for rule in others)


def test_nothing_is_written_but_the_own_status_and_lease(chart: Chart) -> None:
    rules = chart(DYNAMIC).rules

    writing = [rule for rule in rules if {*rule["verbs"]} - {*READ}]
    assert writing == [
        {
            "apiGroups": [API_GROUP],
            "resources": ["virtualmcpservers/status"],
            "resourceNames": ["team"],
            "verbs": ["patch"],
        },
        {
            "apiGroups": ["coordination.k8s.io"],
            "resources": ["leases"],
            "resourceNames": ["team-vmcp-status"],
            "verbs": ["get", "update"],
        },
    ]


def test_a_group_alone_has_no_status_to_write(chart: Chart) -> None:
    made = chart(GROUP)

    assert all(rule["verbs"] == READ for rule in made.rules)
    assert "Lease" not in made.kinds


def test_a_lease_is_made_without_a_holder(chart: Chart) -> None:
    lease = chart(DYNAMIC).one("Lease")

    assert lease["metadata"]["name"] == "team-vmcp-status"
    assert "spec" not in lease


def test_secrets_and_config_maps_are_read_by_name(chart: Chart) -> None:
    rules = chart(FULL).rules

    for resource, names in (("secrets", ["wiki", "notes"]), ("configmaps", ["company-ca"])):
        assert of(rules, resource) == [
            {"apiGroups": [""], "resources": [resource], "resourceNames": names, "verbs": READ}
        ]


@pytest.mark.parametrize(
    ("names", "resource"), [("secretNames", "configmaps"), ("configMapNames", "secrets")]
)
def test_without_names_there_is_no_rule_that_would_allow_them_all(
    chart: Chart, names: str, resource: str
) -> None:
    assert of(chart(DYNAMIC, rbac={}).rules, resource) == []
    assert of(chart(DYNAMIC, rbac={names: ["a"]}).rules, resource) == []


def test_all_of_the_namespace_are_read_only_where_the_values_say_so(chart: Chart) -> None:
    (rule,) = of(chart(GROUP).rules, "secrets")

    assert rule == {"apiGroups": [""], "resources": ["secrets", "configmaps"], "verbs": READ}


@pytest.mark.parametrize("values", [DYNAMIC, GROUP, FULL], ids=["dynamic", "group", "full"])
def test_the_role_is_of_the_namespace_and_for_the_own_account_alone(
    chart: Chart, values: dict[str, Any]
) -> None:
    made = chart(values)

    binding = made.one("RoleBinding")
    (subject,) = binding["subjects"]
    account = made.one("ServiceAccount")["metadata"]
    assert (subject["kind"], subject["name"]) == ("ServiceAccount", account["name"])
    assert subject["namespace"] == account["namespace"]
    assert binding["roleRef"]["kind"] == "Role"
    assert binding["roleRef"]["name"] == made.one("Role")["metadata"]["name"]


def test_rights_and_account_can_be_brought(chart: Chart) -> None:
    account = {"create": False, "name": "ours"}

    made = chart(DYNAMIC, rbac={"create": False}, serviceAccount=account)
    bound = chart(DYNAMIC, serviceAccount=account)
    static = chart(STATIC, serviceAccount={"create": False})

    assert made.kinds.isdisjoint({"Role", "RoleBinding", "ServiceAccount"})
    assert made.pod["serviceAccountName"] == "ours"
    assert bound.one("RoleBinding")["subjects"][0]["name"] == "ours"
    assert "serviceAccountName" not in static.pod


def test_objects_are_made_where_the_values_say_so(chart: Chart) -> None:
    made, group = chart(FULL), chart(GROUP)

    assert chart(DYNAMIC).kinds.isdisjoint({"MCPGroup", "VirtualMCPServer"})
    assert made.one("VirtualMCPServer")["metadata"]["name"] == "team"
    assert made.one("VirtualMCPServer")["spec"] == {
        "groupRef": {"name": "team"},
        **FULL["virtualMCPServer"]["spec"],
    }
    assert made.one("MCPGroup")["metadata"]["name"] == "team"
    assert made.one("MCPGroup")["spec"] == {"description": "What the team uses."}
    assert "VirtualMCPServer" not in group.kinds
    assert group.one("MCPGroup")["spec"] == {"description": ""}


def test_the_spec_names_the_group(chart: Chart) -> None:
    server = {"create": True, "spec": {"groupRef": {"name": "shared"}}}

    made = chart(DYNAMIC, virtualMCPServer=server, mcpGroup={"create": True})

    assert made.one("MCPGroup")["metadata"]["name"] == "shared"
    found = made.one("VirtualMCPServer")
    assert found["metadata"]["name"] == "gateway-vmcp"
    assert found["spec"]["groupRef"] == {"name": "shared"}
    assert made.one("Lease")["metadata"]["name"] == "gateway-vmcp-vmcp-status"


@pytest.mark.parametrize("values", CASES.values(), ids=CASES)
def test_every_object_is_of_the_release(chart: Chart, values: dict[str, Any]) -> None:
    for one in chart(values).all:
        assert one["metadata"]["namespace"] == "default"
        labels = one["metadata"]["labels"].items()
        assert (
            labels
            >= {"app.kubernetes.io/instance": "gateway", **values.get("commonLabels", {})}.items()
        )


def test_objects_are_called_as_the_values_say(chart: Chart) -> None:
    made = chart(GROUP)

    assert {one["metadata"]["name"] for one in made.all} == {"mcp-of-the-team", "team"}
    for one in made.all:
        assert one["metadata"]["labels"]["app.kubernetes.io/name"] == "mcp"
