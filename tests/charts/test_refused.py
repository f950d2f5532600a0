"""Values that the chart refuses, and what it says of them."""

from __future__ import annotations

from typing import Any

import pytest

from tests.charts.objects import DYNAMIC, FULL, GROUP, STATIC, Chart
from tests.support.cluster.helm import HelmRefused

KEYS = {"existingSecret": "keys"}
BACKENDS = {"backends": []}

TOGETHER: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "nobody is let in": (DYNAMIC, {"apiKeys": {}}, "or set allowAnonymous: true"),
    "anonymous by the config": (
        STATIC,
        {"apiKeys": {}, "config": {**BACKENDS, "incomingAuth": {"type": "anonymous"}}},
        "nothing says who may come in",
    ),
    "everybody, and keys": (
        DYNAMIC,
        {"allowAnonymous": True},
        "allowAnonymous: it lets everybody in, and apiKeys.existingSecret asks for a key",
    ),
    "everybody, and keys of the config": (
        GROUP,
        {"config": {"incomingAuth": {"type": "api_key", "keysFile": "k"}}},
        "allowAnonymous: it lets everybody in, and config.incomingAuth asks for a key",
    ),
    "keys twice": (
        DYNAMIC,
        {"config": {"incomingAuth": {"type": "api_key", "keysFile": "k"}}},
        "config.incomingAuth: apiKeys.existingSecret sets it",
    ),
    "nothing to serve": (DYNAMIC, {"virtualMCPServer": {}}, "virtualMCPServer.name: name the"),
    "a server and a group": (DYNAMIC, {"group": "team"}, "group: it does not go together with"),
    "a server made and a group": (FULL, {"group": "team"}, "group: it does not go together with"),
    "a spec of nothing": (
        DYNAMIC,
        {"virtualMCPServer": {"name": "team", "spec": {"groupRef": {"name": "a"}}}},
        "virtualMCPServer.spec: it does nothing without virtualMCPServer.create: true",
    ),
    "a group without a name": (
        DYNAMIC,
        {"mcpGroup": {"create": True}},
        "mcpGroup.create: it needs `group` or virtualMCPServer.create: true",
    ),
    "all Secrets and one": (
        GROUP,
        {"rbac": {"namespaceWide": True, "secretNames": ["a"]}},
        "rbac.namespaceWide: it allows all Secrets and ConfigMaps",
    ),
    "rights for everybody": (
        DYNAMIC,
        {"serviceAccount": {"create": False}},
        "serviceAccount.name: name the one that is to be used",
    ),
    "no backends": (STATIC, {"config": {}}, 'config.backends: mode "static" serves what it lists'),
    "a server in static mode": (
        STATIC,
        {"virtualMCPServer": {"name": "team"}},
        'virtualMCPServer: it does nothing with mode "static"',
    ),
    "a group in static mode": (STATIC, {"group": "team"}, "group: it does nothing with mode"),
    "a new group in static mode": (
        STATIC,
        {"mcpGroup": {"create": True}},
        "mcpGroup.create: it does nothing with mode",
    ),
    "rights in static mode": (
        STATIC,
        {"rbac": {"secretNames": ["a"]}},
        'rbac: with mode "static" there is no Role; `mounts` and `secretEnv` bring',
    ),
    "the address of the config": (
        STATIC,
        {"config": {**BACKENDS, "server": {"host": "0.0.0.0", "opsPort": 1}}},
        "config.server.host: the chart sets it; see listen",
    ),
    "the port of the config": (
        STATIC,
        {"config": {**BACKENDS, "server": {"port": 8080}}},
        "config.server.port: the chart sets it; see service.port",
    ),
    "certificates twice": (
        FULL,
        {"config": {"server": {"tls": {"certFile": "a", "keyFile": "b"}}}},
        "config.server.tls: tls.existingSecret sets it",
    ),
    "keys for seals twice": (
        FULL,
        {"config": {"server": {"sealKeyEnv": "SEAL"}}},
        "sealKey.existingSecret: config.server names a key too",
    ),
    "a variable of the chart": (
        DYNAMIC,
        {"extraEnv": [{"name": "VMCP_NAME", "value": "other"}]},
        "extraEnv: the chart sets VMCP_NAME",
    ),
    "a variable twice": (
        STATIC,
        {"extraEnv": [{"name": "NOTES_KEY", "value": "other"}]},
        "extraEnv: NOTES_KEY is in secretEnv too",
    ),
    "no time to drain": (
        DYNAMIC,
        {"preStopSeconds": 30},
        "terminationGracePeriodSeconds: it must be 55 or more",
    ),
    "a monitor of nothing": (
        DYNAMIC,
        {"metrics": {"serviceMonitor": {"enabled": True}}},
        "metrics.serviceMonitor.enabled: it needs metrics.enabled: true",
    ),
    "metrics for nobody": (
        DYNAMIC,
        {"metrics": {"enabled": True}},
        "networkPolicy.monitoring: nobody would reach the operations port",
    ),
    "a port of the nodes": (
        DYNAMIC,
        {"service": {"nodePort": 30000}},
        "service.nodePort: it needs service.type NodePort or LoadBalancer",
    ),
}


@pytest.mark.parametrize(("values", "more", "told"), TOGETHER.values(), ids=TOGETHER)
def test_values_that_do_not_go_together_are_told(
    chart: Chart, values: dict[str, Any], more: dict[str, Any], told: str
) -> None:
    with pytest.raises(HelmRefused) as refused:
        chart(values, **more)

    assert told in str(refused.value)


def test_all_that_does_not_go_together_is_told_at_once(chart: Chart) -> None:
    with pytest.raises(HelmRefused) as refused:
        chart({}, group="team", virtualMCPServer={"name": "team"}, preStopSeconds=60)

    told = [line for line in str(refused.value).splitlines() if line.startswith("- ")]
    names = ["group", "apiKeys.existingSecret", "terminationGracePeriodSeconds"]
    assert [line[2:].partition(":")[0] for line in told] == names


ALONE: dict[str, tuple[dict[str, Any], str]] = {
    "an unknown value": ({"replicaCount": 2}, "additional properties 'replicaCount' not allowed"),
    "an unknown value below": (
        {"image": {"name": "x"}},
        "additional properties 'name' not allowed",
    ),
    "a text for a number": ({"replicas": "2"}, "at '/replicas': got string"),
    "a number for a text": ({"image": {"tag": 1.2}}, "at '/image/tag': got number, want string"),
    "no mode": ({"mode": "operator"}, "value must be one of 'static', 'dynamic'"),
    "no truth": ({"allowAnonymous": "yes"}, "at '/allowAnonymous': got string, want boolean"),
    "no digest": ({"image": {"digest": "sha256:ab"}}, "at '/image/digest'"),
    "no name": ({"virtualMCPServer": {"name": "A_B"}}, "at '/virtualMCPServer/name'"),
    "no names": ({"rbac": {"secretNames": "a"}}, "at '/rbac/secretNames': got string, want array"),
    "every name": ({"rbac": {"secretNames": [""]}}, "at '/rbac/secretNames/0'"),
    "any name": ({"rbac": {"configMapNames": ["*"]}}, "at '/rbac/configMapNames/0'"),
    "a name twice": ({"rbac": {"secretNames": ["a", "a"]}}, "at '/rbac/secretNames'"),
    "a truth for a text": (
        {"extraEnv": [{"name": "A", "value": True}]},
        "at '/extraEnv/0/value': got boolean, want string",
    ),
    "half a variable": ({"secretEnv": {"A": {"name": "a"}}}, "missing property 'key'"),
    "a path for a file": ({"apiKeys": {**KEYS, "key": "../keys"}}, "at '/apiKeys/key'"),
    "a peer of everybody": ({"networkPolicy": {"clients": [{}]}}, "at '/networkPolicy/clients/0'"),
    "no port": ({"service": {"port": 70000}}, "at '/service/port'"),
    "no share": ({"podDisruptionBudget": {"maxUnavailable": "half"}}, "does not match pattern"),
}


@pytest.mark.parametrize(("more", "told"), ALONE.values(), ids=ALONE)
def test_a_value_that_is_not_right_is_told_with_its_place(
    chart: Chart, more: dict[str, Any], told: str
) -> None:
    with pytest.raises(HelmRefused) as refused:
        chart(DYNAMIC, **more)

    assert told in str(refused.value)
