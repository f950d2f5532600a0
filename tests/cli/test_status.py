"""`vmcp status`, of a gateway that runs and of answers as gateways give them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Vmcp, spawn
from tests.cli.test_operations import answering

HEALTHY = {"name": "near", "state": "healthy", "tools": 3, "calls": 1, "called": 7, "failed": 0}


def ago(seconds: float) -> str:
    return (datetime.now(UTC) - timedelta(seconds=seconds)).isoformat()  # noqa: TID251


def told(*backends: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    """Return an answer of /status."""
    known = {"name": "test", "version": "1", "ready": True, "sessions": 2, "problems": []}
    return {**known, "catalog": {"tools": 3}, "backends": list(backends), **more}


@contextmanager
def gateway(answer: Mapping[str, Any]) -> Iterator[str]:
    with answering(200, json.dumps(answer).encode()) as (url, _):
        yield url


def test_where_all_is_well_the_backends_are_shown_and_the_code_is_0(vmcp: Vmcp) -> None:
    backend = {**HEALTHY, "since": ago(200), "lastMinute": {"p50Milliseconds": 1.5}}

    with gateway(told(backend)) as url:
        ended = vmcp("status", "--ops-url", url)

    assert (ended.code, ended.err) == (0, "")
    first, _, columns, row = ended.out.splitlines()
    assert first == "test (vmcp 1): ready, 3 tools, 2 sessions"
    assert columns.split()[:8] == [
        "NAME",
        "STATE",
        "SINCE",
        "ERA",
        "TOOLS",
        "IN",
        "FLIGHT",
        "CALLS",
    ]
    assert row.split() == ["near", "healthy", "3", "min", "3", "1", "7", "0", "1.5"]


def test_a_backend_that_is_not_well_is_told_with_its_last_failure(vmcp: Vmcp) -> None:
    failure = {"reason": "TimedOut", "message": "no answer.", "at": ago(5), "count": 4}
    backend = {"name": "far", "state": "unhealthy", "lastFailure": failure}

    with gateway(told(HEALTHY, {**backend, "circuitBreaker": {"state": "open"}})) as url:
        ended = vmcp("status", "--ops-url", url)

    assert ended.code == 1
    assert ended.err == "1 of 2 backends not well ('vmcp doctor' tells why): far.\n"
    assert "unhealthy, breaker open" in ended.out
    assert "TimedOut (5 s ago, 4 times): no answer." in ended.out


def test_that_lists_are_errors_until_a_backend_is_back_is_told(vmcp: Vmcp) -> None:
    backend = {"name": "far", "state": "unhealthy"}

    with gateway(told(HEALTHY, backend, withheldBy=["far"])) as url:
        ended = vmcp("status", "--ops-url", url)

    assert ended.code == 1
    assert ended.err.startswith(
        "Lists are errors (partialFailureMode is fail) until these are healthy: far; 1 of 2 backends"
    )


def test_a_backend_that_wants_a_user_s_credential_is_well(vmcp: Vmcp) -> None:
    with gateway(told({**HEALTHY, "state": "unauthenticated"})) as url:
        assert vmcp("status", "--ops-url", url).code == 0


def test_a_broken_config_file_is_told_with_its_errors(vmcp: Vmcp) -> None:
    errors = [{"path": "server.port", "message": "Is no number."}]
    error = {"at": ago(60), "message": "vmcp.yaml: 1 error", "errors": errors}
    config = {"sources": ["vmcp.yaml"], "loadedAt": ago(7200), "reloads": 2, "lastError": error}

    with gateway(told(HEALTHY, config={**config, "restartNeeded": ["server.host"]})) as url:
        ended = vmcp("status", "--ops-url", url)

    assert ended.code == 1
    assert "config file is broken" in ended.err
    assert "config: vmcp.yaml, loaded 2 h ago, reloaded 2 times" in ended.out
    assert "config: the new value of server.host waits for a restart" in ended.out
    assert "config: broken for 1 min" in ended.out
    assert "  - server.port: Is no number." in ended.out


def test_problems_are_shown_and_do_not_count(vmcp: Vmcp) -> None:
    problem = {"object": "backend/near", "reason": "NameShadowed", "message": "It is hidden."}

    with gateway(told(HEALTHY, problems=[problem])) as url:
        ended = vmcp("status", "--ops-url", url)

    assert ended.code == 0
    assert "backend/near  NameShadowed  It is hidden." in ended.out


def test_json_is_the_answer_itself_and_has_the_same_codes(vmcp: Vmcp) -> None:
    answer = told(HEALTHY, ready=False)

    with gateway(answer) as url:
        ended = vmcp("status", "--ops-url", url, "-o", "json")

    assert json.loads(ended.out) == answer
    assert (ended.code, ended.err) == (1, "The gateway is not ready.\n")


def test_where_no_gateway_runs_the_code_is_3(vmcp: Vmcp, free_port: int) -> None:
    ended = vmcp("status", "--ops-url", f"http://127.0.0.1:{free_port}")

    assert ended.code == 3
    assert "is the gateway running?" in ended.err


def test_what_a_backend_says_of_itself_steers_no_terminal(vmcp: Vmcp) -> None:
    with gateway(told({**HEALTHY, "message": "\x1b[31mred"})) as url:
        ended = vmcp("status", "--ops-url", url)

    assert "\x1b" not in ended.out
    assert "\\x1b[31mred" in ended.out


@pytest.fixture
def running(tmp_path: Path, workshop_url: str) -> Iterator[str]:
    """A gateway with one backend; where its operations port is."""
    file = tmp_path / "vmcp.yaml"
    file.write_text(f"backends: [{{name: shop, url: '{workshop_url}'}}]\n")
    process = spawn("serve", "--port", "0", "--ops-port", "0", "-c", str(file))
    try:
        url = json.loads(process.stderr.readline())["operations"]
        while json.loads(process.stderr.readline())["message"] != "backend is ready":
            pass
        yield url
    finally:
        process.terminate()
        process.communicate(timeout=30)


def test_a_running_gateway_is_well(vmcp: Vmcp, running: str) -> None:
    ended = vmcp("status", "--ops-url", running, "-o", "json")

    (backend,) = json.loads(ended.out)["backends"]
    assert (backend["name"], backend["tools"]) == ("shop", 7)


def test_a_running_gateway_explains_its_names(vmcp: Vmcp, running: str) -> None:
    seen = vmcp("explain", "shop_add", "--ops-url", running)
    own = vmcp("explain", "add", "--ops-url", running, "-o", "json")
    unknown = vmcp("explain", "shop_ad", "--ops-url", running)

    assert (seen.code, own.code, unknown.code) == (0, 0, 4)
    assert seen.out.startswith("Tool 'shop_add' leads to 'add' of backend 'shop'.\n  - ")
    assert json.loads(own.out)["found"][0]["name"] == "shop_add"
    assert "Did you mean 'shop_add'" in unknown.err


def test_a_gateway_that_serves_nobody_tells_why(vmcp: Vmcp) -> None:
    closed = {"object": "VirtualMCPServer/n/gw", "reason": "Closed", "message": "It asks for more."}

    with gateway(told(ready=False, closed=closed)) as url:
        ended = vmcp("status", "--ops-url", url)

    assert (ended.code, ended.err) == (
        1,
        "Nobody is served: VirtualMCPServer/n/gw: It asks for more.\n",
    )


@pytest.mark.parametrize("reason", ["GatewayNotFound", "GroupNotFound"])
def test_a_gateway_without_its_object_is_not_well_however_ready_it_is(
    vmcp: Vmcp, reason: str
) -> None:
    problem = {"object": "VirtualMCPServer/n/gw", "reason": reason, "message": "Create it."}

    with gateway(told(problems=[problem])) as url:
        ended = vmcp("status", "--ops-url", url)

    assert (ended.code, ended.err) == (1, "VirtualMCPServer/n/gw: Create it.\n")


def test_where_backends_come_from_is_told_with_what_is_not_known_there(vmcp: Vmcp) -> None:
    source = {
        "source": "kubernetes",
        "namespace": "apps",
        "gateway": "all",
        "backends": 2,
        "inSync": False,
        "kinds": [
            {"kind": "mcpservers", "phase": "forbidden", "since": ago(200), "error": "403"},
            {"kind": "mcpgroups", "phase": "synced", "since": ago(300)},
        ],
        "byName": [{"kind": "secrets", "name": "key", "phase": "failing", "since": ago(9)}],
    }

    with gateway(told(HEALTHY, sources=[{"source": "static", "backends": 0}, source])) as url:
        ended = vmcp("status", "--ops-url", url)

    assert ended.out.splitlines()[1:4] == [
        "kubernetes: namespace apps, all, 2 backends, not in sync",
        "  mcpservers is forbidden for 3 min: 403",
        "  secrets/key is failing for 9 s",
    ]
    assert (ended.code, ended.err.strip()) == (
        1,
        "Not all objects of namespace apps are known as they are now.",
    )


def test_a_folder_with_a_broken_file_is_told(vmcp: Vmcp) -> None:
    source = {
        "source": "manifests",
        "folder": "/apps",
        "backends": 1,
        "inSync": False,
        "broken": ["one.yaml"],
    }

    with gateway(told(HEALTHY, sources=[source])) as url:
        ended = vmcp("status", "--ops-url", url)

    assert ended.out.splitlines()[1:3] == [
        "manifests: folder /apps, 1 backend, not in sync",
        "  one.yaml is broken",
    ]
    assert ended.code == 1


@pytest.mark.parametrize(
    ("report", "state"),
    [
        ({"leader": True, "lastWrite": "2026-01-01T00:00:00Z"}, "written 1 d ago"),
        ({"leader": True, "lastWrite": None}, "not written yet"),
        ({"leader": False, "lastWrite": None}, "written by another gateway"),
        ({"leader": True, "lastWrite": None, "error": "403"}, "not written: 403"),
        ({"leader": False, "lastWrite": None, "leaseError": "404"}, "not written: 404"),
    ],
)
def test_who_writes_the_status_of_an_object_is_told(
    vmcp: Vmcp, report: Mapping[str, Any], state: str
) -> None:
    known = {"object": "VirtualMCPServer/apps/all", **report}

    with gateway(told(HEALTHY, reports=[known])) as url:
        ended = vmcp("status", "--ops-url", url)

    line = re.sub(r"\d+ d ago", "1 d ago", ended.out.splitlines()[1])
    assert line == f"status of VirtualMCPServer/apps/all: {state}"
