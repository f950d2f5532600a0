"""Each key of `operational` changes how calls and backends fare, or what is logged."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
import yaml

from tests.edge_cases.front import Door, behind, door
from tests.support.scripted import Cut, Heard, Json, Scripted, scripted
from tests.support.servers import in_thread, run_gateway
from tests.support.waiting import SECONDS, moment, until
from vmcp.gateway.status import status

SOON = "50ms"
CUT = Cut(b"")


async def hangs(_: Heard) -> bytes:
    """Answer nothing."""
    found: bytes = await asyncio.get_running_loop().create_future()
    return found


@asynccontextmanager
async def looked_after(backend: Scripted, **handling: Any) -> AsyncIterator[Door]:
    """Run a gateway with settings of how failures are handled."""
    async with scripted(backend):
        settings = behind(backend, operational={"failureHandling": handling})
        async with door(settings) as gateway:
            yield gateway


def seen(gateway: Door) -> Json:
    """Return what /status tells of the backend."""
    (found,) = json.loads(status(gateway.gateway))["backends"]
    told: Json = found
    return told


@pytest.mark.config_key("operational.timeouts.default", "operational.timeouts.perWorkload.*")
@pytest.mark.parametrize(
    ("timeouts", "seconds"),
    [
        ({"default": "200ms"}, "0.2"),
        ({"default": "9s", "perWorkload": {"a": "100ms"}}, "0.1"),
    ],
    ids=["default", "perWorkload"],
)
async def test_a_call_ends_after_its_time(timeouts: Json, seconds: str) -> None:
    backend = Scripted(script={"tools/call": hangs})
    async with (
        scripted(backend),
        door(behind(backend, operational={"timeouts": timeouts})) as gateway,
    ):
        error = (await gateway.call("a_echo")).error

    assert error["data"]["reason"] == "TimedOut"
    assert f"{seconds} s" in error["message"]


@pytest.mark.config_key("operational.logLevel", "operational.accessLog")
@pytest.mark.parametrize(
    ("operational", "levels"),
    [
        ({"logLevel": "warning"}, {"warning"}),
        ({"logLevel": "error", "accessLog": True}, {"info"}),
    ],
    ids=["warning", "error with the access log"],
)
async def test_the_log_holds_what_is_wanted(operational: Json, levels: set[str]) -> None:
    gone = {"name": "gone", "url": "http://127.0.0.1:1/mcp"}
    settings = yaml.safe_dump({"backends": [gone], "operational": operational})
    async with in_thread(run_gateway(settings)) as gateway:
        reader, writer = await asyncio.open_connection("127.0.0.1", _port(gateway.url))
        writer.write(b"PUT /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n")
        assert b" 405 " in await reader.readline()
        writer.close()
        gateway.process.popen.terminate()
        await asyncio.to_thread(gateway.process.popen.wait, 20)
        lines = gateway.process.log.read_text().splitlines()

    assert {json.loads(line)["level"] for line in lines} == levels


def _port(url: str) -> int:
    return int(url.rpartition(":")[2].partition("/")[0])


@pytest.mark.config_key("operational.failureHandling.healthCheckInterval")
async def test_a_backend_is_checked_as_often_as_is_wanted() -> None:
    backend = Scripted()
    async with looked_after(backend, healthCheckInterval=SOON):
        await backend.heard.nth(3, lambda heard: heard.method == "ping")


@pytest.mark.config_key("operational.failureHandling.healthCheckTimeout")
async def test_a_check_takes_no_longer_than_it_may() -> None:
    backend = Scripted(script={"ping": hangs})
    async with looked_after(backend, healthCheckInterval=SOON, healthCheckTimeout=SOON) as gateway:
        await until(lambda: (seen(gateway)["lastFailure"] or {}).get("reason") == "TimedOut")


@pytest.mark.config_key(
    "operational.failureHandling.unhealthyThreshold",
    "operational.failureHandling.partialFailureMode",
)
@pytest.mark.parametrize("mode", ["best_effort", "fail"])
async def test_a_backend_is_unhealthy_after_so_many_checks_and_does_what_it_may(mode: str) -> None:
    backend = Scripted(script={"ping": lambda _: CUT})
    handling = {
        "healthCheckInterval": "1s",
        "unhealthyThreshold": 1,
        "partialFailureMode": mode,
    }
    async with looked_after(backend, **handling) as gateway:
        assert await gateway.tools() == ["a_echo"]
        backend.script["else"] = lambda _: CUT
        await until(lambda: seen(gateway)["state"] != "healthy")
        failed = seen(gateway)
        await until(lambda: mode == "fail" or not len(gateway.gateway.views.catalog.value.tools))
        listed = (await gateway.stateless("tools/list")).message

    assert (failed["state"], failed["consecutiveFailures"]) == ("unhealthy", 1)
    if mode == "fail":
        assert listed["error"]["data"] == {"reason": "BackendsUnhealthy", "backends": ["a"]}
    else:
        assert listed["result"]["tools"] == []


@pytest.mark.config_key(
    "operational.failureHandling.circuitBreaker.enabled",
    "operational.failureHandling.circuitBreaker.failureThreshold",
)
@pytest.mark.parametrize(
    ("breaker", "reasons"),
    [
        ({"enabled": False}, ["ConnectionLost"] * 3),
        ({"enabled": True}, ["ConnectionLost"] * 3),
        ({"enabled": True, "failureThreshold": 1}, ["ConnectionLost", *["CircuitOpen"] * 2]),
    ],
    ids=["off", "default", "at the first failure"],
)
async def test_calls_are_not_tried_once_the_circuit_is_open(
    breaker: Json, reasons: list[str]
) -> None:
    backend = Scripted(script={"tools/call": lambda _: CUT})
    async with looked_after(backend, circuitBreaker=breaker) as gateway:
        found = [(await gateway.call("a_echo")).error["data"]["reason"] for _ in reasons]

    assert found == reasons


@pytest.mark.config_key("operational.failureHandling.circuitBreaker.timeout")
async def test_the_circuit_is_tried_again_after_its_time() -> None:
    backend = Scripted(script={"tools/call": lambda _: CUT})
    breaker = {"enabled": True, "failureThreshold": 1, "timeout": "3s"}
    async with looked_after(backend, circuitBreaker=breaker) as gateway:
        await gateway.call("a_echo")
        del backend.script["tools/call"]
        refused = (await gateway.call("a_echo")).error["data"]["reason"]
        async with asyncio.timeout(SECONDS):
            while "error" in (await gateway.call("a_echo")).message:
                await moment()

    assert refused == "CircuitOpen"
