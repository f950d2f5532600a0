"""Every method that needs no answers of the client, in all pairs of eras."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.eras.pairs import SESSIONED, STATELESS, Pair
from tests.support.backends import Fake
from tests.support.clients import named, words
from tests.support.shelf import Fault, Invocation, Json, text
from tests.support.waiting import until

LISTS = {
    "tools/list": ("tools", ["echo"]),
    "prompts/list": ("prompts", ["greet", "part"]),
    "resources/list": ("resources", ["file:///a", "file:///b"]),
    "resources/templates/list": ("resourceTemplates", ["file:///{path}"]),
}
ADDED = {"resultType", "ttlMs", "cacheScope", "_meta"}
LEVEL = "io.modelcontextprotocol/logLevel"


def stocked(pair: Pair, **tools: Any) -> Fake:
    """Return a backend that offers something of each kind."""
    fake = pair.fake(**tools)
    fake.shelf.prompts = ["greet", "part"]
    fake.shelf.resources = {"file:///a": "A", "file:///b": "B"}
    fake.shelf.templates = ["file:///{path}"]
    fake.shelf.more["completion/complete"] = lambda params: {
        "completion": {"values": [params["argument"]["value"] + "!"]}
    }
    return fake


@pytest.mark.parametrize("method", LISTS)
async def test_a_list_is_whole(pair: Pair, method: str) -> None:
    fake = stocked(pair)
    fake.shelf.page_size = 1
    member, names = LISTS[method]
    async with pair.gateway(fake) as served, pair.client(served) as caller:
        result = await caller.ask(method)

    shown = [each.get("uriTemplate", each.get("uri", each.get("name"))) for each in result[member]]
    assert shown == names
    assert ("resultType" in result, "ttlMs" in result) == (
        (True, True) if pair.front == STATELESS else (False, False)
    )


@pytest.mark.parametrize(
    ("method", "params", "expected"),
    [
        ("tools/call", {"name": "echo", "arguments": {"a": 1}}, text('{"a": 1}')),
        (
            "prompts/get",
            {"name": "greet"},
            {"messages": [{"role": "user", "content": {"type": "text", "text": "greet"}}]},
        ),
        (
            "resources/read",
            {"uri": "file:///a"},
            {"contents": [{"uri": "file:///a", "text": "A"}]},
        ),
        (
            "completion/complete",
            {
                "ref": {"type": "ref/prompt", "name": "greet"},
                "argument": {"name": "x", "value": "v"},
            },
            {"completion": {"values": ["v!"]}},
        ),
        (
            "completion/complete",
            {
                "ref": {"type": "ref/resource", "uri": "file:///{path}"},
                "argument": {"name": "path", "value": "v"},
            },
            {"completion": {"values": ["v!"]}},
        ),
    ],
    ids=["call", "get", "read", "complete prompt", "complete template"],
)
async def test_a_method_answers_in_the_era_of_its_client(
    pair: Pair, method: str, params: Json, expected: Json
) -> None:
    async with pair.gateway(stocked(pair)) as served, pair.client(served) as caller:
        result = await caller.ask(method, params)

    assert {key: value for key, value in result.items() if key not in ADDED} == expected
    assert result.get("resultType") == ("complete" if pair.front == STATELESS else None)
    is_read = method == "resources/read"
    assert ("cacheScope" in result) == (is_read and pair.front == STATELESS)


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("tools/call", {"name": "none"}),
        ("prompts/get", {"name": "none"}),
        ("tools/list", {"cursor": "none"}),
    ],
)
async def test_what_is_unknown_has_one_code_in_all_pairs(
    pair: Pair, method: str, params: Json
) -> None:
    async with pair.gateway(pair.fake()) as served, pair.client(served) as caller:
        error = await caller.refused(method, params)

    assert error["code"] == -32602


async def test_an_error_of_the_backend_passes_and_an_old_code_changes(pair: Pair) -> None:
    async def fails(_: Invocation) -> Json:
        raise Fault(-32002, "not there", {"more": 1})

    async with pair.gateway(pair.fake(fails=fails)) as served, pair.client(served) as caller:
        error = await caller.refused("tools/call", named("fails"))

    changed = (pair.front, pair.back) == (STATELESS, SESSIONED)
    assert error == {
        "code": -32602 if changed else -32002,
        "message": "not there",
        "data": {"more": 1},
    }


async def test_progress_comes_with_the_clients_own_token(pair: Pair) -> None:
    async def works(invocation: Invocation) -> Json:
        for step in range(3):
            invocation.progress(step)
        return text("done")

    async with pair.gateway(pair.fake(works=works)) as served, pair.client(served) as caller:
        answer = await caller.call("works", progressToken="mine")
        await answer.end()

    found = [(note["params"]["progressToken"], note["params"]["progress"]) for note in answer.notes]
    assert found == [("mine", 0), ("mine", 1), ("mine", 2)]


async def test_log_messages_below_the_level_do_not_reach_a_stateless_client(pair: Pair) -> None:
    async def logs(invocation: Invocation) -> Json:
        for level in ("debug", "warning", "error"):
            invocation.log(level, level)
        return text("done")

    async with pair.gateway(pair.fake(logs=logs)) as served, pair.client(served) as caller:
        if pair.front == SESSIONED:
            await caller.ask("logging/setLevel", {"level": "warning"})
        answer = await caller.call("logs", **{LEVEL: "warning"})
        await answer.end()

    heard = [note["params"]["level"] for note in answer.notes]
    assert [level for level in heard if level != "debug"] == ["warning", "error"]
    # A server over HTTP has a session of each client, and keeps the level itself.
    assert "debug" not in heard or pair.front == SESSIONED


@pytest.mark.parametrize("kind", ["tools", "prompts", "resources"])
async def test_a_change_of_a_list_is_told_and_seen(pair: Pair, kind: str) -> None:
    fake = stocked(pair)
    method = f"notifications/{kind}/list_changed"
    async with pair.gateway(fake) as served, pair.client(served) as caller:
        wanted = {f"{kind}ListChanged": True} if pair.front == STATELESS else {}
        listening = await caller.listen(**wanted)  # type: ignore[attr-defined]
        added = {
            "tools": lambda: fake.shelf.tools.update(new=fake.shelf.tools["echo"]),
            "prompts": lambda: fake.shelf.prompts.append("new"),
            "resources": lambda: fake.shelf.resources.update({"file:///new": "N"}),
        }
        added[kind]()
        fake.tell(method)

        await listening.heard(method)

        assert "new" in json.dumps(await caller.ask(f"{kind}/list"))


async def test_an_update_of_a_watched_resource_is_told_and_no_other(pair: Pair) -> None:
    fake = stocked(pair)
    async with pair.gateway(fake) as served, pair.client(served) as caller:
        uri = "file:///a"
        if pair.front == STATELESS:
            listening = await caller.listen(resourceSubscriptions=[uri])  # type: ignore[attr-defined]
        else:
            listening = await caller.listen()  # type: ignore[attr-defined]
            await caller.ask("resources/subscribe", {"uri": uri})
        await until(lambda: watched(fake, pair, uri))
        fake.tell("notifications/resources/updated", uri="file:///b")
        fake.tell("notifications/resources/updated", uri=uri)

        told = await listening.heard("notifications/resources/updated")

        assert told["params"]["uri"] == uri
        if pair.front == SESSIONED:
            await caller.ask("resources/unsubscribe", {"uri": uri})
            await until(lambda: not watched(fake, pair, uri))


def watched(fake: Any, pair: Pair, uri: str) -> bool:
    """Tell whether the backend would tell anybody of an update."""
    if pair.back == STATELESS:
        found: bool = fake.hears(uri)
        return found
    return any(uri in session.uris for session in fake.sessions.values())


async def test_words_are_kept_as_they_are(pair: Pair) -> None:
    async def says(_: Invocation) -> Json:
        return text("Größe 🎉 שלום")

    async with pair.gateway(pair.fake(says=says)) as served, pair.client(served) as caller:
        assert words(await caller.ask("tools/call", named("says"))) == "Größe 🎉 שלום"
