"""The configuration changes while clients are at work: nothing that was begun is lost, and nobody else notices."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.journeys.pairs import at_both_backs, backend, client, in_both_fronts
from tests.journeys.test_subscriptions import ONE, UPDATED, subscribed, wanted, with_notes
from tests.support.backends import Fake, serving
from tests.support.clients import named, sessioned, stateless, words
from tests.support.gateways import config, gateway_of
from tests.support.sessioned_backend import SessionedFake
from tests.support.shelf import Invocation, Json, echo, text
from tests.support.waiting import until

TOOLS = "notifications/tools/list_changed"


class Slow:
    """A tool that is held until it is told to go on."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self.go_on = asyncio.Event()

    async def __call__(self, _invocation: Invocation) -> Json:
        self.begun.set()
        await self.go_on.wait()
        return text("done")


def with_token(token: str) -> dict[str, Any]:
    """Return a configuration's credential for all backends."""
    injection = {"headerName": "X-Token", "headerValue": token}
    return {"outgoingAuth": {"default": {"type": "header_injection", "headerInjection": injection}}}


def tokens(fake: Fake, method: str = "tools/call") -> list[str]:
    return [heard.headers["x-token"] for heard in fake.asked(method)]


@in_both_fronts
@at_both_backs
async def test_a_call_under_way_ends_well_and_the_next_one_has_the_new_secret(
    front: str, back: str
) -> None:
    slow = Slow()
    fake = backend(back, slow=slow)
    async with (
        serving(fake),
        gateway_of(config(fake, **with_token("one"))) as served,
        client(front, served.url) as caller,
    ):
        call = caller.call("slow")
        await slow.begun.wait()

        served.apply(config(fake, **with_token("two")))
        await until(lambda: served.client("a").backend.auth.value.reveal() == "two")
        later = await caller.ask("tools/call", named("echo"))
        slow.go_on.set()

        assert words((await (await call).end())["result"]) == "done"
        assert words(later) == "{}"
        assert tokens(fake) == ["one", "two"]
        await until(lambda: not served.gateway.pool._leaving)


@in_both_fronts
@at_both_backs
async def test_a_call_at_a_backend_that_is_removed_ends_well(front: str, back: str) -> None:
    slow = Slow()
    fake, other = backend(back, slow=slow), backend(back)
    async with (
        serving(fake, other),
        gateway_of(config(fake, other)) as served,
        client(front, served.url) as caller,
    ):
        call = caller.call("slow")
        await slow.begun.wait()
        both = config(fake, other)

        served.apply({**both, "backends": both["backends"][1:]})
        await served.shows("echo")
        refused = await caller.refused("tools/call", named("slow"))
        slow.go_on.set()

        assert words((await (await call).end())["result"]) == "done"
        assert refused["code"] == -32602
        await until(lambda: not served.gateway.pool._leaving)


@at_both_backs
async def test_a_change_of_one_backend_is_not_noticed_at_another(back: str) -> None:
    one, two = backend(back), backend(back)
    async with (
        serving(one, two),
        gateway_of(config(one, two)) as served,
        sessioned(served.url) as caller,
    ):
        await caller.ask("tools/call", named("b_echo"))
        heard, before = len(two.heard), served.client("b")
        changed = config(one, two)
        changed["backends"][0]["headerForward"] = {"addPlaintextHeaders": {"X-Team": "blue"}}

        served.apply(changed)
        await one.heard.first(lambda each: "x-team" in each.headers and each.method == "tools/list")
        await caller.ask("tools/call", named("b_echo"))

        assert [each.method for each in two.heard.all[heard:]] == ["tools/call"]
        assert served.client("b") is before
        assert {each.session for each in two.asked("tools/call")} == {
            two.asked("tools/call")[0].session
        }


@at_both_backs
async def test_a_timeout_changes_without_a_new_connection(back: str) -> None:
    fake = backend(back, slow=Slow())
    async with (
        serving(fake),
        gateway_of(config(fake)) as served,
        sessioned(served.url) as caller,
    ):
        await caller.ask("tools/call", named("echo"))
        heard = len(fake.heard)

        served.apply(config(fake, operational={"timeouts": {"default": "50ms"}}))
        await until(lambda: served.client("a").backend.timeout_seconds == 0.05)
        refused = await caller.refused("tools/call", named("slow"))

        assert refused["data"]["reason"] == "TimedOut"
        methods = [each.method for each in fake.heard.all[heard:]]
        assert "initialize" not in methods
        assert "tools/list" not in methods


async def test_a_clients_session_goes_on_and_its_old_one_at_the_backend_ends() -> None:
    fake = SessionedFake()
    async with (
        serving(fake),
        gateway_of(config(fake, **with_token("one"))) as served,
        sessioned(served.url, name="ada") as caller,
    ):
        await caller.ask("tools/call", named("echo"))
        (old,) = {heard.session for heard in fake.asked("tools/call")}

        served.apply(config(fake, **with_token("two")))
        await until(lambda: served.client("a").backend.auth.value.reveal() == "two")
        await caller.ask("tools/call", named("echo"))

        new = fake.asked("tools/call")[-1].session
        assert new not in (None, old)
        ended = await fake.heard.first(
            lambda heard: heard.method == "DELETE" and heard.session == old
        )
        assert ended.headers["x-token"] == "one"


@at_both_backs
async def test_what_a_moved_backend_listed_stays_while_the_new_place_is_silent(back: str) -> None:
    fake, moved = backend(back), backend(back)
    moved.shelf.tools["more"] = echo
    async with (
        serving(fake, moved),
        gateway_of(config(fake)) as served,
        sessioned(served.url) as caller,
    ):
        gate = moved.hold("tools/list")

        served.apply(config(moved))
        await moved.first("tools/list")

        assert await caller.tools() == ["echo"]
        gate.set()
        await served.shows("echo", "more")


@at_both_backs
async def test_what_a_backend_listed_stays_where_its_new_place_is_none(back: str) -> None:
    fake = backend(back)
    async with (
        serving(fake),
        gateway_of(config(fake)) as served,
        sessioned(served.url) as caller,
    ):
        nowhere = config(fake)
        nowhere["backends"][0]["url"] = "http://127.0.0.1:1/mcp"

        served.apply(nowhere)
        await until(lambda: served.status()["backends"][0]["state"] == "degraded")

        assert await caller.tools() == ["echo"]
        assert (await caller.refused("tools/call", named("echo")))["code"] == -32603

        served.apply(config(fake))
        await until(lambda: served.status()["backends"][0]["state"] == "healthy")
        await caller.ask("tools/call", named("echo"))


ADDED, REMOVED, RENAMED, HIDDEN = "added", "removed", "renamed", "hidden"


def changed(how: str, one: Fake, two: Fake) -> tuple[Json, Json]:
    """Return two configurations between which what clients see differs."""
    alone, both = config(one), config(one, two)
    match how:
        case "added":
            return alone, both
        case "removed":
            return both, alone
        case "renamed":
            rules = {"conflictResolutionConfig": {"prefixFormat": "{workload}."}}
            return alone, {**alone, "aggregation": rules}
    return alone, {**alone, "aggregation": {"excludeAllTools": True}}


@pytest.mark.parametrize("how", [ADDED, REMOVED, RENAMED, HIDDEN])
async def test_clients_of_both_eras_are_told_when_they_see_something_else(how: str) -> None:
    one, two = SessionedFake(), SessionedFake()
    async with serving(one, two):
        before, after = changed(how, one, two)
        async with (
            gateway_of(before) as served,
            sessioned(served.url) as first,
            stateless(served.url) as second,
        ):
            streams = [await first.listen(), await second.listen(toolsListChanged=True)]
            shown = await first.tools()

            served.apply(after)

            for stream in streams:
                await stream.heard(TOOLS)
            assert await first.tools() != shown
            assert await second.tools() == await first.tools()


async def test_what_changes_nothing_for_clients_is_not_told() -> None:
    one, two = SessionedFake(), SessionedFake()
    async with (
        serving(one, two),
        gateway_of(config(one, **with_token("one"))) as served,
        sessioned(served.url) as caller,
    ):
        stream = await caller.listen()

        served.apply(config(one, **with_token("two")))
        await one.heard.first(lambda each: each.headers.get("x-token") == "two")
        served.apply(config(one, two, **with_token("two")))

        await stream.heard(TOOLS)
        assert stream.notes == []


@at_both_backs
async def test_a_subscription_follows_its_backend_to_the_new_connection(back: str) -> None:
    fake = with_notes(back)
    async with (
        serving(fake),
        gateway_of(config(fake, **with_token("one"))) as served,
        sessioned(served.url) as caller,
    ):
        stream = await subscribed(caller, ONE)
        await until(lambda: wanted(fake) == {ONE})

        served.apply(config(fake, **with_token("two")))
        # What was told between the connections nobody knows, so it is told that it may have changed.
        await stream.heard(UPDATED)
        fake.tell(UPDATED, uri=ONE)

        assert (await stream.heard(UPDATED))["params"]["uri"] == ONE
        await caller.ask("resources/unsubscribe", {"uri": ONE})
        await until(lambda: wanted(fake) == set())


@in_both_fronts
@at_both_backs
async def test_no_call_is_lost_while_the_configuration_changes_again_and_again(
    front: str, back: str
) -> None:
    fake, other = backend(back), backend(back)
    ended: list[str] = []
    is_over = asyncio.Event()

    async def work(url: str, name: str) -> None:
        async with client(front, url) as caller:
            while not is_over.is_set():
                ended.append(words(await caller.ask("tools/call", named(name))))

    async with (
        serving(fake, other),
        gateway_of(config(fake, other, **with_token("0"))) as served,
        asyncio.TaskGroup() as tasks,
    ):
        for name in ("a_echo", "b_echo") * 3:
            tasks.create_task(work(served.url, name))
        for number in range(1, 16):
            before = len(ended)
            served.apply(config(fake, other, **with_token(str(number))))
            await until(lambda before=before: len(ended) > before + 12)
        is_over.set()

    assert set(ended) == {"{}"}
    assert served.gateway.pool._leaving == []
    assert {"1", "15"} <= set(tokens(fake))


# Its call waits for somebody who opens the pipe that it is given; both tell what is in its environment.
SERVER = """
import json, os, sys

def answer(identity, result):
    print(json.dumps({"jsonrpc": "2.0", "id": identity, "result": result}), flush=True)

for line in sys.stdin:
    asked = json.loads(line)
    method, params = asked["method"], asked.get("params", {})
    if method == "initialize":
        info = {"name": "s", "version": "1"}
        version = params["protocolVersion"]
        answer(asked["id"], {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info})
    elif method == "tools/list":
        schema = {"type": "object"}
        answer(asked["id"], {"tools": [{"name": n, "inputSchema": schema} for n in ("slow", "word")]})
    elif method == "tools/call":
        if params["name"] == "slow":
            open(os.environ["PIPE"]).read()
        answer(asked["id"], {"content": [{"type": "text", "text": os.environ["WORD"]}]})
    elif "id" in asked:
        error = {"code": -32601, "message": "Method not found"}
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "error": error}), flush=True)
"""


async def test_a_process_ends_when_its_calls_have_and_the_next_one_serves_meanwhile(
    tmp_path: Path,
) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)

    def told(word: str) -> dict[str, Any]:
        env = {"PIPE": str(pipe), "WORD": word}
        stdio = {"command": sys.executable, "args": ["-c", SERVER], "env": env}
        return {"backends": [{"name": "a", "stdio": stdio}], "aggregation": PLAIN}

    async with gateway_of(told("one")) as served, sessioned(served.url) as caller:
        call = caller.call("slow")
        await until(lambda: served.status()["backends"][0]["calls"])

        served.apply(told("two"))
        await until(lambda: served.gateway.pool._leaving)
        assert words(await caller.ask("tools/call", named("word"))) == "two"
        assert served.gateway.pool._leaving
        await asyncio.to_thread(pipe.write_text, "go on")

        assert words((await (await call).end())["result"]) == "one"
        await until(lambda: not served.gateway.pool._leaving)


PLAIN = {"conflictResolutionConfig": {"prefixOnConflict": True}}
