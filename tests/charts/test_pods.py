"""What the pods of the chart are: how they start, what they may do, when they end."""

from __future__ import annotations

from typing import Any

import pytest

from tests.charts.objects import CASES, DYNAMIC, FULL, GROUP, STATIC, Chart, Objects

every_case = pytest.mark.parametrize("values", CASES.values(), ids=CASES)


@every_case
def test_a_pod_is_no_root_and_can_write_nothing(chart: Chart, values: dict[str, Any]) -> None:
    made = chart(values)

    assert made.pod["securityContext"] == {
        "runAsNonRoot": True,
        "runAsUser": 65532,
        "runAsGroup": 65532,
        "fsGroup": 65532,
        "seccompProfile": {"type": "RuntimeDefault"},
        **values.get("podSecurityContext", {}),
    }
    assert made.container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
        **values.get("securityContext", {}),
    }
    assert not made.pod["enableServiceLinks"]
    mounts = made.container["volumeMounts"]
    assert all(each.get("readOnly") for each in mounts if each["mountPath"] != "/tmp")


@every_case
def test_a_secret_is_read_by_the_group_of_the_pod_alone(
    chart: Chart, values: dict[str, Any]
) -> None:
    volumes = chart(values).pod["volumes"]

    assert {one["secret"]["defaultMode"] for one in volumes if "secret" in one} <= {0o440}


def test_a_pod_of_static_mode_has_no_token_and_no_rights(chart: Chart) -> None:
    made = chart(STATIC)

    assert made.pod["automountServiceAccountToken"] is False
    assert made.one("ServiceAccount")["automountServiceAccountToken"] is False
    assert made.kinds.isdisjoint({"Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding"})
    assert "Lease" not in made.kinds
    assert made.container["args"] == [
        "serve",
        "--config=/etc/vmcp/config/config.yaml",
        "--host=0.0.0.0",
        "--log-format=json",
    ]


@pytest.mark.parametrize("values", [DYNAMIC, GROUP, FULL], ids=["dynamic", "group", "full"])
def test_a_pod_alone_of_its_account_gets_the_token(chart: Chart, values: dict[str, Any]) -> None:
    made = chart(values)

    assert made.pod["automountServiceAccountToken"] is True
    assert made.one("ServiceAccount")["automountServiceAccountToken"] is False
    assert made.pod["serviceAccountName"] == made.one("ServiceAccount")["metadata"]["name"]


def test_a_virtual_server_is_named_by_variables_and_a_group_by_an_option(chart: Chart) -> None:
    of_server, of_group = chart(DYNAMIC).container, chart(GROUP).container

    here = {
        "name": "VMCP_NAMESPACE",
        "valueFrom": {"fieldRef": {"fieldPath": "metadata.namespace"}},
    }
    assert of_server["env"] == [{"name": "VMCP_NAME", "value": "team"}, here]
    assert of_server["args"][:2] == ["serve", "--kubernetes"]
    assert of_group["env"] == [here]
    assert of_group["args"][:3] == ["serve", "--kubernetes", "--group=team"]


def test_everybody_is_let_in_only_where_the_values_say_so(chart: Chart) -> None:
    option = "--insecure-anonymous"

    assert option in chart(GROUP).container["args"]
    for values in (STATIC, DYNAMIC, FULL):
        assert option not in chart(values).container["args"]


def test_keys_come_from_the_mounted_secret(chart: Chart) -> None:
    made = chart(FULL)

    expected = {"type": "api_key", "keysFile": "/etc/vmcp/api-keys/all.txt"}
    assert made.config["incomingAuth"] == expected
    assert mounted(made)["/etc/vmcp/api-keys"] == {"secretName": "vmcp-keys", "defaultMode": 0o440}


def mounted(made: Objects) -> dict[str, Any]:
    """Return what is mounted where."""
    sources = {
        one["name"]: one.get("secret") or one.get("configMap") for one in made.pod["volumes"]
    }
    return {one["mountPath"]: sources[one["name"]] for one in made.container["volumeMounts"]}


def test_what_the_config_names_is_mounted_as_folders_or_set_as_variables(chart: Chart) -> None:
    made = chart(STATIC)

    at = mounted(made)
    assert at["/etc/vmcp/secrets/wiki"]["secretName"] == "wiki"
    assert at["/etc/vmcp/configmaps/company-ca"] == {"name": "company-ca"}
    assert all("subPath" not in each for each in made.container["volumeMounts"])
    key = {"secretKeyRef": {"name": "notes", "key": "key"}}
    assert made.container["env"] == [{"name": "NOTES_KEY", "valueFrom": key}]


def test_a_config_is_passed_on_as_it_is(chart: Chart) -> None:
    assert chart(STATIC, apiKeys={}, allowAnonymous=True).config == STATIC["config"]


def test_an_image_goes_by_tag_or_by_digest(chart: Chart) -> None:
    usual, tagged = chart(DYNAMIC), chart(DYNAMIC, image={"tag": "1.2-a"})
    digest = FULL["image"]["digest"]

    version = usual.one("Deployment")["metadata"]["labels"]["app.kubernetes.io/version"]
    assert usual.container["image"] == f"vmcp:{version}"
    assert tagged.container["image"] == "vmcp:1.2-a"
    assert chart(FULL).container["image"] == f"registry.example/vmcp@{digest}"


def test_probes_ask_for_life_and_for_readiness(chart: Chart) -> None:
    plain, secret = chart(DYNAMIC).container, chart(FULL).container

    assert plain["livenessProbe"]["httpGet"] == {"path": "/health", "port": "mcp"}
    assert plain["startupProbe"]["httpGet"] == {"path": "/health", "port": "mcp"}
    assert plain["readinessProbe"]["httpGet"] == {"path": "/readyz", "port": "mcp"}
    assert secret["readinessProbe"]["httpGet"]["scheme"] == "HTTPS"


def test_a_pod_has_the_time_to_drain(chart: Chart) -> None:
    usual, at_once = chart(DYNAMIC), chart(DYNAMIC, preStopSeconds=0)

    assert usual.container["lifecycle"] == {"preStop": {"sleep": {"seconds": 5}}}
    assert usual.pod["terminationGracePeriodSeconds"] >= 5 + 25
    assert "lifecycle" not in at_once.container


def test_what_is_said_of_pods_arrives_there(chart: Chart) -> None:
    made = chart(FULL)

    spec = made.one("Deployment")["spec"]
    pod = made.pod
    for key in ("nodeSelector", "tolerations", "affinity", "priorityClassName", "imagePullSecrets"):
        assert pod[key] == FULL[key]
    (spread,) = pod["topologySpreadConstraints"]
    assert spread["labelSelector"] == spec["selector"]
    assert spec["template"]["metadata"]["annotations"].items() >= FULL["podAnnotations"].items()
    labels = spec["template"]["metadata"]["labels"].items()
    assert labels >= spec["selector"]["matchLabels"].items()
    assert labels >= {**FULL["podLabels"], **FULL["commonLabels"]}.items()
    assert made.container["resources"] == FULL["resources"]
    assert made.container["imagePullPolicy"] == "Always"
    assert made.container["args"][-1] == "--ui"
    assert FULL["extraEnv"][0] in made.container["env"]
    assert FULL["extraVolumes"][0] in pod["volumes"]
    assert FULL["extraVolumeMounts"][0] in made.container["volumeMounts"]
    assert (spec["strategy"], spec["revisionHistoryLimit"]) == (FULL["strategy"], 3)
    assert made.container["startupProbe"]["periodSeconds"] == 1
    assert made.container["livenessProbe"]["initialDelaySeconds"] == 5
    assert made.container["readinessProbe"]["successThreshold"] == 1


def test_labels_of_the_values_do_not_take_the_place_of_those_of_the_chart(chart: Chart) -> None:
    stranger = {"app.kubernetes.io/name": "another"}

    made = chart(DYNAMIC, podLabels=stranger, commonLabels=stranger)

    spec = made.one("Deployment")["spec"]
    selected = spec["selector"]["matchLabels"]
    assert selected["app.kubernetes.io/name"] == "vmcp"
    assert spec["template"]["metadata"]["labels"].items() >= selected.items()
    assert made.one("Service")["spec"]["selector"] == selected


def test_the_platform_may_choose_the_users(chart: Chart) -> None:
    theirs = dict.fromkeys(("runAsUser", "runAsGroup", "fsGroup"))

    context = chart(DYNAMIC, podSecurityContext=theirs).pod["securityContext"]

    assert context == {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}


def test_the_number_of_replicas_can_be_left_to_an_autoscaler(chart: Chart) -> None:
    made = chart(DYNAMIC, replicas=None)

    assert "replicas" not in made.one("Deployment")["spec"]
    assert made.one("PodDisruptionBudget")["spec"]["maxUnavailable"] == 1


def test_all_pods_can_be_ended_before_new_ones_start(chart: Chart) -> None:
    made = chart(DYNAMIC, strategy={"type": "Recreate"})

    assert made.one("Deployment")["spec"]["strategy"] == {"type": "Recreate"}


def digest(made: Objects) -> str:
    template = made.one("Deployment")["spec"]["template"]
    return str(template["metadata"]["annotations"]["checksum/fixed-config"])


@pytest.mark.parametrize(
    ("config", "is_new"),
    [
        ({"operational": {"logLevel": "debug"}}, False),
        ({"server": {"allowedHosts": ["mcp.example"]}}, False),
        ({"server": {"path": "/other"}}, True),
        ({"server": {"sse": True}}, True),
        ({"server": {"sealKeyEnv": "SEAL"}}, True),
        ({"server": {"tls": {"certFile": "a", "keyFile": "b"}}}, True),
        ({"telemetry": {"endpoint": "collector:4318"}}, True),
    ],
    ids=["log level", "hosts", "path", "sse", "seal key", "tls", "telemetry"],
)
def test_only_what_a_running_gateway_cannot_take_over_makes_new_pods(
    chart: Chart, config: dict[str, Any], *, is_new: bool
) -> None:
    before, after = chart(DYNAMIC), chart(DYNAMIC, config=config)

    assert (digest(before) != digest(after)) is is_new
    assert before.config != after.config
