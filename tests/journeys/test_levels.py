"""Log messages: the level that a client asks for reaches its sessions at the backends, old and new."""

from __future__ import annotations

import pytest

from tests.journeys.pairs import at_both_backs, backend
from tests.support.backends import serving
from tests.support.clients import named, sessioned, stateless
from tests.support.gateways import config, gateway_of
from tests.support.sessioned_backend import SessionedFake
from tests.support.shelf import Fault, Invocation, Json, text
from tests.support.stateless_backend import StatelessFake

LEVEL = "io.modelcontextprotocol/logLevel"
MESSAGE = "notifications/message"


async def logs(invocation: Invocation) -> Json:
    """A tool that logs on the stream of its call."""
    invocation.log("info", "at work")
    return text("done")


async def test_a_level_reaches_the_sessions_that_are_open_and_those_that_come() -> None:
    a, b = SessionedFake(), SessionedFake()
    async with (
        serving(a, b),
        gateway_of(config(a, b)) as served,
        sessioned(served.url, name="one") as one,
        sessioned(served.url, name="two") as two,
    ):
        await one.ask("tools/call", named("a_echo"))
        await two.ask("tools/call", named("a_echo"))

        await one.ask("logging/setLevel", {"level": "error"})
        await one.ask("tools/call", named("b_echo"))

        assert [session.level for fake in (a, b) for session in fake.of("one")] == ["error"] * 2
        assert [session.level for session in a.of("two")] == [None]


async def test_a_level_is_set_anew_in_a_session_that_replaces_a_lost_one() -> None:
    fake = SessionedFake()
    async with (
        serving(fake),
        gateway_of(config(fake)) as served,
        sessioned(served.url) as caller,
    ):
        await caller.ask("logging/setLevel", {"level": "debug"})
        await caller.ask("tools/call", named("echo"))
        fake.forget()

        await caller.ask("tools/call", named("echo"))

        assert [session.level for session in fake.of("sessioned")] == ["debug"]


async def test_a_stateless_request_brings_its_level_to_the_session_of_its_call() -> None:
    seen: list[str | None] = []

    async def looks(_: Invocation) -> Json:
        seen.extend(session.level for session in fake.of("stateless"))
        return text("done")

    fake = SessionedFake(looks=looks)
    async with (
        serving(fake),
        gateway_of(config(fake)) as served,
        stateless(served.url) as caller,
    ):
        await caller.ask("tools/call", named("looks", **{LEVEL: "warning"}))

    assert seen == ["warning"]


async def test_the_level_of_a_session_is_said_in_each_request_to_a_stateless_backend() -> None:
    fake = StatelessFake()
    async with (
        serving(fake),
        gateway_of(config(fake)) as served,
        sessioned(served.url) as caller,
    ):
        await caller.ask("tools/call", named("echo"))
        await caller.ask("logging/setLevel", {"level": "notice"})
        await caller.ask("tools/call", named("echo"))

    levels = [heard.params["_meta"].get(LEVEL) for heard in fake.asked("tools/call")]
    assert levels == [None, "notice"]


@at_both_backs
async def test_a_log_message_comes_on_the_stream_of_its_call(back: str) -> None:
    fake = backend(back, logs=logs)
    async with (
        serving(fake),
        gateway_of(config(fake)) as served,
        sessioned(served.url) as old,
        stateless(served.url) as new,
    ):
        answers = [await old.call("logs"), await new.call("logs", **{LEVEL: "info"})]
        notes = [await answer.heard(MESSAGE) for answer in answers]

        assert [note["params"] for note in notes] == [{"level": "info", "data": "at work"}] * 2


@at_both_backs
async def test_a_stateless_request_without_a_level_hears_no_log_messages(back: str) -> None:
    fake = backend(back, logs=logs)
    async with (
        serving(fake),
        gateway_of(config(fake)) as served,
        stateless(served.url) as caller,
    ):
        answer = await caller.call("logs")
        await answer.end()

        assert answer.notes == []


async def test_who_shares_a_session_hears_no_more_than_it_asked_for() -> None:
    fake = SessionedFake(logs=logs)
    fake.gives_ids = False
    async with (
        serving(fake),
        gateway_of(config(fake)) as served,
        sessioned(served.url) as old,
        stateless(served.url) as new,
    ):
        await old.ask("logging/setLevel", {"level": "error"})
        quiet = [await old.call("logs"), await new.call("logs", **{LEVEL: "error"})]
        loud = await new.call("logs", **{LEVEL: "debug"})
        for answer in (*quiet, loud):
            await answer.end()

        assert [len(answer.notes) for answer in (*quiet, loud)] == [0, 0, 1]


async def test_a_backend_that_refuses_the_level_is_called_all_the_same() -> None:
    fake = SessionedFake()
    fake.refuses["logging/setLevel"] = Fault(-32601, "what is a level?")
    async with (
        serving(fake),
        gateway_of(config(fake)) as served,
        sessioned(served.url) as caller,
    ):
        await caller.ask("logging/setLevel", {"level": "error"})

        assert await caller.ask("tools/call", named("echo"))


async def test_a_backend_without_logging_is_not_told() -> None:
    fake = SessionedFake()
    del fake.capabilities["logging"]
    async with (
        serving(fake),
        gateway_of(config(fake)) as served,
        sessioned(served.url) as caller,
    ):
        assert "logging" not in caller.welcome["capabilities"]
        await caller.ask("tools/call", named("echo"))
        await caller.ask("logging/setLevel", {"level": "error"})

    assert not fake.asked("logging/setLevel")


@pytest.mark.parametrize("params", [{"level": "loud"}, {"level": 1}, {}])
async def test_an_unknown_level_is_refused(params: Json) -> None:
    fake = SessionedFake()
    async with (
        serving(fake),
        gateway_of(config(fake)) as served,
        sessioned(served.url) as caller,
    ):
        assert (await caller.refused("logging/setLevel", params))["code"] == -32602
