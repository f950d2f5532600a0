"""Who reaches the pods of the chart, and whom they reach."""

from __future__ import annotations

from typing import Any

import pytest

from tests.charts.objects import CASES, DYNAMIC, FULL, GROUP, STATIC, Chart, Objects

SCRAPED = {
    "metrics": {"enabled": True},
    "networkPolicy": {"monitoring": FULL["networkPolicy"]["monitoring"]},
}
QUIET = [name for name, values in CASES.items() if not values.get("metrics")]


@pytest.mark.parametrize("name", QUIET)
def test_the_operations_port_is_out_of_reach_without_metrics(chart: Chart, name: str) -> None:
    made = chart(CASES[name])

    assert [each["containerPort"] for each in made.container["ports"]] == [4483]
    assert ports(made.one("Service")) == [4483]
    assert "opsHost" not in made.config.get("server", {})
    assert [each["port"] for each in allowed(made)] == ["mcp"]


def ports(service: dict[str, Any]) -> list[int]:
    return [each["port"] for each in service["spec"]["ports"]]


def allowed(made: Objects) -> list[dict[str, Any]]:
    """Return the ports that others reach."""
    rules = made.one("NetworkPolicy")["spec"]["ingress"]
    return [port for rule in rules for port in rule["ports"]]


def test_metrics_have_a_service_of_their_own_for_those_who_scrape(chart: Chart) -> None:
    made = chart(DYNAMIC, **SCRAPED)

    assert made.config["server"]["opsHost"] == "0.0.0.0"
    service = made.one("Service", "gateway-vmcp-metrics")
    assert (service["spec"]["type"], ports(service)) == ("ClusterIP", [9464])
    assert ports(made.one("Service", "gateway-vmcp")) == [4483]
    _, monitoring = made.one("NetworkPolicy")["spec"]["ingress"]
    assert monitoring == {
        "ports": [{"port": "operations", "protocol": "TCP"}],
        "from": SCRAPED["networkPolicy"]["monitoring"],
    }
    assert "ServiceMonitor" not in made.kinds


def test_prometheus_finds_the_service_of_the_metrics_alone(chart: Chart) -> None:
    made = chart(FULL)

    monitor = made.one("ServiceMonitor")
    chosen = monitor["spec"]["selector"]["matchLabels"].items()
    services = {
        one["metadata"]["name"]: one["metadata"]["labels"].items() >= chosen
        for one in made.all
        if one["kind"] == "Service"
    }
    assert services == {"gateway-vmcp": False, "gateway-vmcp-metrics": True}
    assert monitor["metadata"]["labels"]["release"] == "prometheus"
    (endpoint,) = monitor["spec"]["endpoints"]
    assert endpoint == {
        "port": "operations",
        "path": "/metrics",
        "interval": "15s",
        "scrapeTimeout": "5s",
    }


def test_clients_are_everybody_or_those_who_are_named(chart: Chart) -> None:
    everybody, named = (chart(each).one("NetworkPolicy")["spec"] for each in (DYNAMIC, FULL))

    assert "from" not in everybody["ingress"][0]
    assert named["ingress"][0]["from"] == FULL["networkPolicy"]["clients"]
    for made in (everybody, named):
        assert made["podSelector"]["matchLabels"]["app.kubernetes.io/name"] == "vmcp"


def test_a_pod_goes_everywhere_unless_it_is_said_where_to(chart: Chart) -> None:
    egress = {"egress": FULL["networkPolicy"]["egress"]}
    free = chart(DYNAMIC).one("NetworkPolicy")["spec"]
    dynamic, static = (
        chart(each, networkPolicy=egress).one("NetworkPolicy")["spec"] for each in (GROUP, STATIC)
    )

    assert free["policyTypes"] == ["Ingress"]
    assert "egress" not in free
    names, server, backends = dynamic["egress"]
    assert {each["port"] for each in names["ports"]} == {53}
    assert [each["port"] for each in server["ports"]] == [443]
    assert backends == FULL["networkPolicy"]["egress"]["rules"][0]
    assert static["egress"] == [names, backends]


def test_there_may_be_no_policy(chart: Chart) -> None:
    assert "NetworkPolicy" not in chart(DYNAMIC, networkPolicy={"enabled": False}).kinds


def test_one_replica_is_not_kept_from_maintenance(chart: Chart) -> None:
    several = chart(FULL).one("PodDisruptionBudget")["spec"]

    assert "PodDisruptionBudget" not in chart(DYNAMIC).kinds
    assert "PodDisruptionBudget" not in chart(FULL, podDisruptionBudget={"enabled": False}).kinds
    assert several["maxUnavailable"] == "50%"
    assert several["selector"] == chart(FULL).one("Deployment")["spec"]["selector"]


def test_what_is_said_of_the_service_arrives_there(chart: Chart) -> None:
    service = chart(FULL).one("Service", "gateway-vmcp")

    told = FULL["service"]
    for key in ("type", "sessionAffinity", "externalTrafficPolicy", "loadBalancerClass"):
        assert service["spec"][key] == told[key]
    for key in ("loadBalancerSourceRanges", "ipFamilyPolicy", "ipFamilies"):
        assert service["spec"][key] == told[key]
    (port,) = service["spec"]["ports"]
    assert port == {
        "name": "https",
        "port": 443,
        "targetPort": "mcp",
        "appProtocol": "https",
        "nodePort": 30443,
    }
    assert service["metadata"]["annotations"] == told["annotations"]


def test_clients_stay_with_a_replica_by_default(chart: Chart) -> None:
    assert chart(DYNAMIC).one("Service")["spec"]["sessionAffinity"] == "ClientIP"


def test_pods_of_ipv6_alone_are_served(chart: Chart) -> None:
    made = chart(DYNAMIC, listen="::", **SCRAPED)

    assert "--host=::" in made.container["args"]
    assert made.config["server"]["opsHost"] == "::"
