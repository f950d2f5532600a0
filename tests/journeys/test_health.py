"""How backends are looked after: what clients see of it, what /status tells, and that it heals by itself."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
import sys
from typing import Any

import pytest

from tests.edge_cases.front import behind
from tests.support.backends import Fake, serving
from tests.support.clients import named, sessioned, stateless, words
from tests.support.gateways import Served, config, gateway_of
from tests.support.scripted import (
    SESSIONED,
    STATELESS,
    Cut,
    Heard,
    Scripted,
    always,
    http,
    scripted,
)
from tests.support.sessioned_backend import SessionedFake
from tests.support.stateless_backend import StatelessFake
from tests.support.stdio_servers.harness import SERVER
from tests.support.waiting import until

Json = dict[str, Any]
TOOLS = "notifications/tools/list_changed"
FAST = {
    "healthCheckInterval": "100ms",
    "healthCheckTimeout": "2s",
    "unhealthyThreshold": 2,
}
BOTH = pytest.mark.parametrize("kind", [SessionedFake, StatelessFake])
ERAS = pytest.mark.parametrize("era", [SESSIONED, STATELESS])


def handling(**more: Any) -> Json:
    return {"failureHandling": {**FAST, **more}}


def breaker(**more: Any) -> Json:
    return handling(circuitBreaker={"enabled": True, "failureThreshold": 2, **more})


def shown(served: Served, at: int = 0) -> Json:
    found: Json = served.status()["backends"][at]
    return found


# Where a check hangs; elsewhere a machine that is slow must not look like a backend that is.
QUICK = handling(healthCheckTimeout="300ms")


async def fares(served: Served, state: str, at: int = 0) -> Json:
    """Wait until a backend is in a state; a process that hangs takes its time to be ended."""
    await until(lambda: shown(served, at)["state"] == state, 15.0)
    return shown(served, at)


def circuit(served: Served) -> str:
    return str(shown(served)["circuitBreaker"]["state"])


async def hang(_: Heard) -> bytes:
    await asyncio.get_running_loop().create_future()
    raise AssertionError


@BOTH
async def test_tools_leave_past_the_threshold_and_are_back_with_the_backend(
    kind: type[Fake],
) -> None:
    good, fake = SessionedFake(), kind()
    fake.shelf.tools = {"own": fake.shelf.tools["echo"]}
    async with (
        serving(good, fake),
        gateway_of(config(good, fake, operational=handling())) as served,
        sessioned(served.url) as caller,
    ):
        stream = await caller.listen()
        await fake.stop()

        await stream.heard(TOOLS)
        assert await caller.tools() == ["echo"]
        told = shown(served, 1)
        assert (told["state"], told["tools"]) == ("unhealthy", 1)
        assert told["consecutiveFailures"] >= 2
        assert told["lastFailure"]["stage"] == "connect"
        assert shown(served)["state"] == "healthy"

        await fake.start(fake.port)

        await stream.heard(TOOLS)
        assert await caller.tools() == ["echo", "own"]
        assert shown(served, 1)["lastFailure"]["reason"] == "Unreachable"


@ERAS
async def test_a_backend_that_hangs_when_it_is_checked_heals_and_keeps_nobody(era: str) -> None:
    good, hanging = Scripted(SESSIONED), Scripted(era)
    async with (
        scripted(good, hanging),
        gateway_of(behind(good, hanging, operational=QUICK)) as served,
        stateless(served.url) as caller,
    ):
        hanging.script["else"] = hang

        told = await fares(served, "unhealthy", 1)
        assert told["lastFailure"]["reason"] == "TimedOut"
        await served.shows("a_echo")
        assert await caller.tools() == ["a_echo"]
        assert words(await caller.ask("tools/call", named("a_echo"))) == "echo"

        del hanging.script["else"]

        await fares(served, "healthy", 1)
        await served.shows("a_echo", "b_echo")


@ERAS
async def test_a_check_may_take_longer_than_a_call(era: str) -> None:
    backend = Scripted(era)
    probe = "ping" if era == SESSIONED else "server/discover"
    answered = asyncio.Event()

    async def late(heard: Heard) -> bytes:
        await answered.wait()
        return backend.behaves(heard)

    rules = {**handling(healthCheckTimeout="1m"), "timeouts": {"default": "100ms"}}
    async with (
        scripted(backend),
        gateway_of(behind(backend, operational=rules)) as served,
        stateless(served.url) as caller,
    ):
        backend.script.update({probe: late, "tools/call": hang})
        await backend.heard.nth(len(backend.asked(probe)) + 1, lambda heard: heard.method == probe)
        before = shown(served)["lastCheck"]
        for _ in range(2):
            await caller.refused("tools/call", named("a_echo"))

        assert shown(served)["lastCheck"] == before
        answered.set()
        await until(lambda: shown(served)["lastCheck"] != before)
        assert shown(served)["state"] == "healthy"


@ERAS
async def test_a_process_that_hangs_is_started_anew(era: str) -> None:
    at = {"command": sys.executable, "args": ["-S", SERVER, "--era", era]}
    settings = {"backends": [{"name": "a", "stdio": at}], "operational": QUICK}
    async with gateway_of(settings) as served, sessioned(served.url) as caller:
        about = json.loads(words(await caller.ask("tools/call", named("a_about"))))
        os.kill(about["pid"], signal.SIGSTOP)

        assert (await fares(served, "unhealthy"))["lastFailure"]["stage"] == "probe"
        await fares(served, "healthy")
        await until(lambda: "a_about" in served.gateway.views.catalog.value.tools.names)

        again = json.loads(words(await caller.ask("tools/call", named("a_about"))))
        assert again["pid"] != about["pid"]


@ERAS
async def test_a_backend_that_answers_calls_is_not_checked(era: str) -> None:
    backend = Scripted(era)
    rules = handling(healthCheckInterval="1s")
    async with (
        scripted(backend),
        gateway_of(behind(backend, operational=rules)) as served,
        stateless(served.url) as caller,
    ):
        probe = "ping" if era == SESSIONED else "server/discover"
        before = len(backend.asked(probe))
        loop = asyncio.get_running_loop()
        end = loop.time() + 3
        while loop.time() < end:
            await caller.ask("tools/call", named("a_echo"))

        assert len(backend.asked(probe)) - before <= 1


@BOTH
async def test_the_breaker_opens_spares_the_backend_and_closes_with_the_first_answer(
    kind: type[Fake],
) -> None:
    fake = kind()
    gate = fake.hold("tools/call")
    rules = {**breaker(timeout="5s"), "timeouts": {"default": "1s"}}
    async with (
        serving(fake),
        gateway_of(config(fake, operational=rules)) as served,
        stateless(served.url) as caller,
    ):
        for _ in range(2):
            error = await caller.refused("tools/call", named("echo"))
            assert error["data"]["reason"] == "TimedOut"
        asked = len(fake.heard.having(lambda heard: heard.method == "tools/call"))

        error = await caller.refused("tools/call", named("echo"))

        assert error["data"].pop("retryAfterSeconds") in range(1, 6)
        assert error["data"] == {"backend": "a", "reason": "CircuitOpen"}
        assert circuit(served) == "open"
        assert len(fake.heard.having(lambda heard: heard.method == "tools/call")) == asked
        assert await caller.tools() == ["echo"]

        gate.set()
        await until(lambda: circuit(served) == "closed")
        await caller.ask("tools/call", named("echo"))


async def test_a_breaker_that_is_half_open_lets_one_call_through(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO, "vmcp")
    backend = Scripted(SESSIONED)
    # No check comes between.
    rules = breaker(timeout="200ms")
    rules["failureHandling"]["healthCheckInterval"] = "1m"
    async with (
        scripted(backend),
        gateway_of(behind(backend, operational=rules)) as served,
        sessioned(served.url) as caller,
    ):
        backend.script["tools/call"] = always(http(500))
        for _ in range(2):
            await caller.refused("tools/call", named("a_echo"))

        async def reason() -> str:
            error = await caller.refused("tools/call", named("a_echo"))
            return str(error["data"]["reason"])

        while (found := await reason()) == "CircuitOpen":
            continue
        assert found == "Rejected"
        assert circuit(served) == "open"

        del backend.script["tools/call"]
        while (await (await caller.call("a_echo")).end()).get("error"):
            continue
        assert circuit(served) == "closed"

    told = [each.message for each in caplog.records if each.message.startswith("circuit")]
    assert told == [
        "circuit is open",
        "circuit is half open",
        "circuit is open",
        "circuit is half open",
        "circuit is closed",
    ]


async def test_a_backends_own_errors_leave_the_breaker_closed() -> None:
    fake = SessionedFake()
    async with (
        serving(fake),
        gateway_of(config(fake, operational=breaker())) as served,
        sessioned(served.url) as caller,
    ):
        fake.shelf.tools.pop("echo")
        for _ in range(5):
            error = await caller.refused("tools/call", named("echo"))

        assert "Unknown tool" in error["message"]
        assert circuit(served) == "closed"


@ERAS
@pytest.mark.parametrize("status", [401, 403])
async def test_a_backend_that_wants_a_credential_is_not_down(era: str, status: int) -> None:
    backend, good = Scripted(era, {"else": always(http(status))}), Scripted(era)
    rules = handling(partialFailureMode="fail")
    async with (
        scripted(backend, good),
        gateway_of(behind(backend, good, operational=rules)) as served,
        stateless(served.url) as caller,
    ):
        told = await fares(served, "unauthenticated")

        assert (told["consecutiveFailures"], told["lastFailure"]["reason"]) == (0, "Unauthorized")
        assert await caller.tools() == ["b_echo"]
        del backend.script["else"]
        await served.shows("a_echo", "b_echo")
        assert shown(served)["state"] == "healthy"


@ERAS
async def test_a_busy_backend_is_left_alone_for_the_time_that_it_names(era: str) -> None:
    backend = Scripted(era)
    rules = handling(healthCheckInterval="1m")
    async with (
        scripted(backend),
        gateway_of(behind(backend, operational=rules)) as served,
        stateless(served.url) as caller,
    ):
        backend.script["tools/call"] = always(http(503, Retry_After="4"))
        for _ in range(5):
            error = await caller.refused("tools/call", named("a_echo"))
            assert error["data"].pop("retryAfterSeconds") in range(1, 5)
            assert error["data"] == {"backend": "a", "reason": "Overloaded"}

        assert len(backend.asked("tools/call")) == 1
        assert shown(served)["state"] == "healthy"
        del backend.script["tools/call"]
        while (await (await caller.call("a_echo")).end()).get("error"):
            continue


@ERAS
async def test_where_a_part_will_not_do_lists_name_who_is_unhealthy(era: str) -> None:
    bad, good = Scripted(era), Scripted(era)
    rules = handling(partialFailureMode="fail")
    async with (
        scripted(bad, good),
        gateway_of(behind(bad, good, operational=rules)) as served,
        sessioned(served.url) as old,
        stateless(served.url) as new,
    ):
        assert await old.tools() == ["a_echo", "b_echo"]
        bad.script["else"] = always(Cut(b""))
        await fares(served, "unhealthy")

        for refused in (
            await old.refused("tools/list"),
            await new.refused("resources/list"),
            await new.refused("server/discover"),
        ):
            assert refused["code"] == -32603
            assert refused["data"] == {"reason": "BackendsUnhealthy", "backends": ["a"]}
        assert words(await new.ask("tools/call", named("b_echo"))) == "echo"
        async with sessioned(served.url):
            pass
        assert served.status()["withheldBy"] == ["a"]

        del bad.script["else"]
        await fares(served, "healthy")
        assert served.status()["withheldBy"] == []
        await served.shows("a_echo", "b_echo")
        assert await new.tools() == ["a_echo", "b_echo"]


async def test_transitions_are_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "vmcp")
    fake = SessionedFake()
    async with serving(fake), gateway_of(config(fake, operational=handling())) as served:
        await fake.stop()
        await fares(served, "unhealthy")
        await until(lambda: shown(served)["consecutiveFailures"] >= 3)
        await fake.start(fake.port)
        await fares(served, "healthy")

    told = [
        (each.message, vars(each)["was"])
        for each in caplog.records
        if each.name == "vmcp.gateway.vitals"
    ]
    assert told == [
        ("backend is ready", "connecting"),
        ("backend is lost", "healthy"),
        ("backend is unhealthy", "degraded"),
        ("backend is ready", "unhealthy"),
    ]


@BOTH
async def test_rules_that_change_hold_without_a_new_connection(kind: type[Fake]) -> None:
    fake = kind()
    probe = "ping" if kind is SessionedFake else "server/discover"
    slow, quick = (handling(healthCheckInterval=each) for each in ("10m", "100ms"))
    async with serving(fake), gateway_of(config(fake, operational=slow)) as served:
        opened = len(fake.heard.having(lambda heard: heard.method == "initialize"))
        before = len(fake.heard.having(lambda heard: heard.method == probe))

        served.apply(config(fake, operational=quick))

        await fake.heard.nth(before + 3, lambda heard: heard.method == probe)
        assert len(fake.heard.having(lambda heard: heard.method == "initialize")) == opened
