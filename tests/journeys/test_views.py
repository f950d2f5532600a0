"""A backend alone and named views are servers of their own to their clients, in both eras."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from tests.journeys.pairs import (
    SESSIONED,
    at_both_backs,
    backend,
    client,
    in_both_fronts,
)
from tests.support.backends import Fake, serving
from tests.support.clients import SessionedClient, named, sessioned, stateless, words
from tests.support.gateways import Served, config, gateway_of
from tests.support.sessioned_backend import SessionedFake
from tests.support.shelf import Invocation, Json, echo, text
from tests.support.waiting import until
from vmcp.model.snapshot import Contribution
from vmcp.model.view import ViewRules

TOOLS = "notifications/tools/list_changed"
RESOURCES = "notifications/resources/list_changed"
VIEWS: list[dict[str, Any]] = [
    {"name": "notes", "backends": ["b"], "description": "Notes and nothing else."},
    {"name": "echoes", "tools": ["*_echo"]},
    {"name": "both", "backends": ["a", "b"], "tools": ["a_echo"]},
]
QUESTION = {"message": "Who?", "requestedSchema": {"type": "object", "properties": {}}}


async def asks(invocation: Invocation) -> Json:
    answer = await invocation.ask("elicitation/create", QUESTION)
    return text(str(answer["result"]["action"]))


async def links(_invocation: Invocation) -> Json:
    link = {"type": "resource_link", "uri": "hidden://1", "name": "hidden"}
    return {"content": [link]}


@asynccontextmanager
async def pair(back: str, **more: Any) -> AsyncIterator[tuple[Served, Fake, Fake]]:
    """Serve two backends of an era, a and b, and three views of them."""
    a, b = backend(back), backend(back)
    for name, fake in (("a", a), ("b", b)):
        fake.shelf.prompts.append("greet")
        fake.shelf.resources = {f"{name}://1": f"of {name}", "note://1": f"note of {name}"}
        fake.instructions = f"# Use {name}\nwith care."
    async with serving(a, b), gateway_of({**config(a, b), "views": VIEWS, **more}) as served:
        await served.shows("a_echo", "b_echo")
        yield served, a, b


async def said(url: str) -> Json:
    """Return what a stateless client is told of us."""
    async with stateless(url) as caller:
        return await caller.ask("server/discover")


@in_both_fronts
@at_both_backs
@pytest.mark.parametrize("slash", ["", "/"])
async def test_a_backend_alone_is_served_under_its_own_names(
    front: str, back: str, slash: str
) -> None:
    async with pair(back) as (served, a, b):
        async with client(front, f"{served.url}/b{slash}") as caller:
            assert await caller.tools() == ["echo"]
            prompts = (await caller.ask("prompts/list"))["prompts"]
            listed = (await caller.ask("resources/list"))["resources"]
            await caller.ask("tools/call", named("echo"))
            await caller.ask("prompts/get", named("greet"))
            read = await caller.ask("resources/read", {"uri": "note://1"})

        assert [each["name"] for each in prompts] == ["greet"]
        assert [each["uri"] for each in listed] == ["b://1", "note://1"]
        assert read["contents"][0]["text"] == "note of b"
        assert len(b.asked("tools/call")) == len(b.asked("prompts/get")) == 1
        assert not a.asked("tools/call")
        await served.is_idle()


@in_both_fronts
@at_both_backs
async def test_a_view_shows_what_it_names_under_the_names_of_the_whole(
    front: str, back: str
) -> None:
    async with pair(back) as (served, a, b):
        async with client(front, f"{served.url}/v/notes") as caller:
            assert await caller.tools() == ["b_echo"]
            await caller.ask("tools/call", named("b_echo"))
            read = await caller.ask("resources/read", {"uri": "note://1"})
            refused = await caller.refused("tools/call", named("a_echo"))
            unread = await caller.refused("prompts/get", named("a_greet"))
        async with client(front, f"{served.url}/v/echoes") as caller:
            assert await caller.tools() == ["a_echo", "b_echo"]
        async with client(front, f"{served.url}/v/both/") as caller:
            assert await caller.tools() == ["a_echo"]
            assert len((await caller.ask("prompts/list"))["prompts"]) == 2

        assert read["contents"][0]["text"] == "note of b"
        assert refused["code"] == unread["code"] == -32602
        assert not a.asked("tools/call")
        assert len(b.asked("tools/call")) == 1


@in_both_fronts
async def test_clients_of_all_paths_are_served_at_once(front: str) -> None:
    async with (
        pair(SESSIONED) as (served, _, _),
        client(front, served.url) as whole,
        client(front, f"{served.url}/a") as alone,
        client(front, f"{served.url}/v/notes") as part,
    ):
        found = [await each.tools() for each in (whole, alone, part, whole)]

    assert found == [["a_echo", "b_echo"], ["echo"], ["b_echo"], ["a_echo", "b_echo"]]


@pytest.mark.config_key("views[].description")
@at_both_backs
async def test_each_path_presents_itself(back: str) -> None:
    async with pair(back) as (served, _, _):
        paths = ("", "/b", "/v/notes")
        told = [await said(served.url + path) for path in paths]
        async with sessioned(f"{served.url}/v/notes") as caller:
            welcome = caller.welcome

    infos = [each["_meta"]["io.modelcontextprotocol/serverInfo"] for each in told]
    assert [each["title"] for each in infos] == [
        "vmcp gateway",
        "b (vmcp gateway)",
        "notes (vmcp gateway)",
    ]
    assert infos[2]["description"] == "Notes and nothing else."
    assert "# a\n" in told[0]["instructions"]
    assert told[1]["instructions"] == "# Use b\nwith care."
    assert told[2]["instructions"].startswith("Notes and nothing else.\n\n# b\n")
    assert "Use a" not in told[2]["instructions"]
    assert welcome["instructions"] == told[2]["instructions"]
    assert welcome["serverInfo"] == infos[2]


async def test_the_capabilities_are_those_of_the_views_own_backends() -> None:
    a, b = SessionedFake(), SessionedFake()
    del b.capabilities["completions"]
    async with serving(a, b), gateway_of({**config(a, b), "views": VIEWS}) as served:
        whole = (await said(served.url))["capabilities"]
        part = (await said(f"{served.url}/v/notes"))["capabilities"]

    assert "completions" in whole
    assert "completions" not in part


@pytest.mark.parametrize(
    "path", ["/c", "/v/c", "/A", "/v", "/a/b", "/a//", "/v/notes/x", "//a", "/a%2Fb", "/%00"]
)
async def test_a_path_without_a_backend_or_a_view_is_404_in_words(path: str) -> None:
    async with pair(SESSIONED) as (served, _, _), stateless(served.url) as caller:
        message = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}}
        answer = await caller.send("POST", {}, message, served.url + path)

        assert answer.status == 404
        told = json.loads(await answer._response.read())
        assert told["error"]["message"].startswith("No backend or view has the name in this path")


async def test_foreign_websites_learn_nothing_of_the_names() -> None:
    async with pair(SESSIONED) as (served, _, _), stateless(served.url) as caller:
        for path in ("/a", "/nothing"):
            told = {"Origin": "https://evil.test"}
            answer = await caller.send("POST", told, {}, served.url + path)
            assert answer.status == 403


async def test_odd_names_and_percent_encoded_ones_are_found() -> None:
    fakes = [SessionedFake() for _ in range(4)]
    names = ["v", "health", "weather.v2", "a_b__c-d"]
    async with serving(*fakes):
        settings = config(*fakes)
        for entry, name in zip(settings["backends"], names, strict=True):
            entry["name"] = name
        async with gateway_of(settings) as served:
            for path in (*names, "weather%2Ev2", "%76", "a%5Fb__c-d/"):
                async with stateless(f"{served.url}/{path}") as caller:
                    assert await caller.tools() == ["echo"]


async def test_a_session_belongs_to_its_path() -> None:
    async with pair(SESSIONED) as (served, _, _), sessioned(f"{served.url}/a") as caller:
        for path in ("", "/b", "/v/notes"):
            elsewhere = SessionedClient(caller._http, caller._tasks, served.url + path)
            elsewhere.session = caller.session
            answer = await elsewhere.request("tools/list")
            assert answer.status == 404
            assert (await elsewhere.listen()).status == 404
            assert await elsewhere.end() == 404

        assert await caller.tools() == ["echo"]


async def test_a_state_is_of_use_only_where_it_was_given() -> None:
    fake, other = SessionedFake(asks=asks), SessionedFake()
    able = {"elicitation": {"form": {}}}
    async with (
        serving(fake, other),
        gateway_of(config(fake, other)) as served,
        stateless(f"{served.url}/a", able) as caller,
        stateless(served.url, able) as elsewhere,
    ):
        asked = await caller.ask("tools/call", named("asks"))
        (key,) = asked["inputRequests"]
        answers = {key: {"action": "accept", "content": {}}}
        more = {"inputResponses": answers, "requestState": asked["requestState"]}

        refused = await elsewhere.refused("tools/call", {**named("asks"), **more})
        end = await caller.ask("tools/call", {**named("asks"), **more})

        assert refused["data"]["reason"] == "RequestStateExpired"
        assert words(end) == "accept"


@in_both_fronts
async def test_a_question_is_put_and_answered_in_a_view(front: str) -> None:
    fake, other = SessionedFake(asks=asks), SessionedFake()
    able = {"elicitation": {"form": {}}}
    async with (
        serving(fake, other),
        gateway_of(config(fake, other)) as served,
        client(front, f"{served.url}/a", **able) as caller,
    ):
        if isinstance(caller, SessionedClient):
            answer = await caller.begin("tools/call", named("asks"))
            asked = await answer.heard("elicitation/create")
            await caller.answer(asked["id"], result={"action": "decline"})
            assert words((await answer.end())["result"]) == "decline"
        else:
            result = await caller.ask("tools/call", named("asks"))
            assert next(iter(result["inputRequests"].values()))["method"] == "elicitation/create"


@at_both_backs
async def test_a_change_is_heard_only_where_it_shows(back: str) -> None:
    async with (
        pair(back) as (served, a, b),
        sessioned(served.url) as whole,
        sessioned(f"{served.url}/b") as alone,
        stateless(f"{served.url}/v/notes") as part,
        sessioned(f"{served.url}/a") as other,
    ):
        hears = [await whole.listen(), await alone.listen()]
        hears.append(await part.listen(toolsListChanged=True))
        deaf = await other.listen()

        b.shelf.tools["more"] = echo
        b.tell(TOOLS)

        for stream in hears:
            await stream.heard(TOOLS)
        assert await alone.tools() == ["echo", "more"]
        assert await part.tools() == ["b_echo", "more"]

        # What the other one hears first is of its own.
        a.shelf.tools["less"] = echo
        a.tell(TOOLS)
        await deaf.heard(TOOLS)
        assert deaf.notes == []
        assert await other.tools() == ["echo", "less"]


@at_both_backs
async def test_an_update_comes_from_the_backend_that_the_view_reads(back: str) -> None:
    async with pair(back) as (served, a, b):
        async with sessioned(served.url) as whole, sessioned(f"{served.url}/b") as alone:
            first, second = await whole.listen(), await alone.listen()
            await whole.ask("resources/subscribe", {"uri": "note://1"})
            await alone.ask("resources/subscribe", {"uri": "note://1"})

            b.tell("notifications/resources/updated", uri="note://1", of="b")
            told = await second.heard("notifications/resources/updated")
            a.tell("notifications/resources/updated", uri="note://1", of="a")
            other = await first.heard("notifications/resources/updated")

            assert (told["params"]["of"], other["params"]["of"]) == ("b", "a")
            assert first.notes == second.notes == []
        await served.is_idle()


@in_both_fronts
async def test_a_link_is_followed_only_in_the_view_that_gave_it(front: str) -> None:
    a, b = backend(front, links=links), backend(front)
    for fake in (a, b):
        fake.shelf.resources = {"x://1": "x"}
    a.shelf.resources["hidden://2"] = "listed"
    views = [{"name": "part", "tools": ["links"], "backends": ["a", "b"]}]
    async with (
        serving(a, b),
        gateway_of({**config(a, b), "views": views}) as served,
        client(front, f"{served.url}/v/part") as part,
        client(front, served.url) as whole,
    ):
        await part.ask("tools/call", named("links"))

        refused = await whole.refused("resources/read", {"uri": "hidden://1"})
        # It leads to the backend, which knows nothing of it.
        await part.refused("resources/read", {"uri": "hidden://1"})

        assert refused["data"]["uri"] == "hidden://1"
        assert [each.params["uri"] for each in a.asked("resources/read")] == ["hidden://1"]


@in_both_fronts
async def test_a_method_that_nobody_knows_goes_to_the_only_backend_of_a_view(front: str) -> None:
    async with pair(front) as (served, a, b):
        for path, code in (("", -32601), ("/v/echoes", -32601)):
            async with client(front, served.url + path) as caller:
                assert (await caller.refused("custom/thing"))["code"] == code
        assert not b.asked("custom/thing")
        for path in ("/b", "/v/notes"):
            async with client(front, served.url + path) as caller:
                await caller.refused("custom/thing")

        assert len(b.asked("custom/thing")) == 2
        assert not a.asked("custom/thing")


@in_both_fronts
async def test_completion_goes_by_the_names_of_the_view(front: str) -> None:
    async with pair(front) as (served, a, b), client(front, f"{served.url}/b") as caller:
        ref = {"type": "ref/prompt", "name": "greet"}
        argument = {"name": "who", "value": "x"}

        await caller.request("completion/complete", {"ref": ref, "argument": argument})

        (heard,) = b.asked("completion/complete")
        assert heard.params["ref"]["name"] == "greet"
        assert not a.asked("completion/complete")


def taken(served: Served, *, without: str | None = None, views: tuple[str, ...] = ()) -> None:
    """Let the source contribute something else: fewer backends, other views."""
    registry = served.gateway.registry
    now = registry.snapshot.value
    rules = tuple(ViewRules(name, None, ("b",)) for name in views)
    kept = tuple(each for each in now.backends if each.name != without)
    registry.take(Contribution("static", kept, rules=now.rules, views=rules))


async def test_views_that_come_up_are_served_at_once_and_tell_of_themselves() -> None:
    async with pair(SESSIONED) as (served, _, _):
        taken(served, views=("fresh",))

        async with sessioned(f"{served.url}/v/fresh") as caller:
            assert await caller.tools() == ["b_echo"]
        names = [each["name"] for each in served.status()["views"]]
        assert names == ["fresh"]


@pytest.mark.parametrize(
    ("path", "change"),
    [("/b", {"without": "b", "views": ("notes",)}), ("/v/notes", {"views": ()})],
    ids=["backend", "view"],
)
async def test_what_hangs_on_a_view_ends_with_it(path: str, change: Any) -> None:
    async with pair(SESSIONED) as (served, _, _):
        async with (
            sessioned(served.url) as whole,
            sessioned(served.url + path) as caller,
            stateless(served.url + path) as other,
        ):
            stream = await caller.listen()
            subscribed = await other.listen(toolsListChanged=True)

            taken(served, **change)

            assert await stream.next() is None
            assert (await subscribed.end())["result"]["resultType"] == "complete"
            assert (await caller.request("tools/list")).status == 404
            await until(lambda: len(served.gateway.sessions) == 1)
            assert await whole.tools()
        await served.is_idle()


async def test_a_changed_view_is_told_to_its_clients() -> None:
    async with pair(SESSIONED) as (served, _, _), sessioned(f"{served.url}/v/echoes") as caller:
        stream = await caller.listen()
        assert await caller.tools() == ["a_echo", "b_echo"]

        taken(served, views=("echoes",))

        await stream.heard(TOOLS)
        assert await caller.tools() == ["b_echo"]


async def test_status_counts_what_views_show_and_tells_their_problems() -> None:
    views = [{"name": "odd", "backends": ["b", "gone"], "tools": ["b_echo", "b_x*"]}]
    async with pair(SESSIONED, views=views) as (served, _, _):
        shown = served.status()

    assert shown["views"] == [
        {"name": "odd", "tools": 1, "prompts": 1, "resources": 2, "resourceTemplates": 0}
    ]
    assert [(each["object"], each["reason"]) for each in shown["problems"]][-2:] == [
        ("View/odd", "BackendUnknown"),
        ("View/odd", "ToolUnmatched"),
    ]
