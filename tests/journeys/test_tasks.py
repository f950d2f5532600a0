"""Tasks within one era are followed through the gateway; across eras none is made."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from tests.journeys.pairs import SESSIONED, STATELESS, backend, client, in_both_fronts
from tests.support.backends import Fake, serving
from tests.support.clients import Client, SessionedClient, StatelessClient, words
from tests.support.desk import EXTENSION, Desk
from tests.support.gateways import Served, config, gateway_of
from tests.support.waiting import until

DECLARED: dict[str, dict[str, Any]] = {SESSIONED: {}, STATELESS: {"extensions": {EXTENSION: {}}}}
UNKNOWN = "made-by-nobody"


@asynccontextmanager
async def desks(*fakes: Fake, **prefixes: str) -> AsyncIterator[tuple[Served, list[Desk]]]:
    """Serve backends a, b, ... whose tool makes tasks; `prefixes` begin the ids of their tasks."""
    made = [
        Desk(fake, prefixes.get(name, f"{name}-task"))
        for name, fake in zip("abcd", fakes, strict=False)
    ]
    names = [f"{name}_work" for name in "abcd"[: len(fakes)]] if len(fakes) > 1 else ["work"]
    echoes = [name.replace("work", "echo") for name in names]
    async with serving(*fakes), gateway_of(config(*fakes)) as served:
        await served.shows(*names, *echoes)
        yield served, made


async def work(caller: Client, tool: str = "work") -> dict[str, Any]:
    """Have a task made and return what is told of it."""
    wish = {"task": {"ttl": 60_000}} if isinstance(caller, SessionedClient) else {}
    result = await caller.ask("tools/call", {"name": tool, **wish})
    found: dict[str, Any] = result.get("task", result)
    return found


async def get(caller: Client, identity: str) -> dict[str, Any]:
    return await caller.ask("tasks/get", {"taskId": identity})


@in_both_fronts
async def test_a_task_leads_to_the_backend_that_made_it(front: str) -> None:
    async with (
        desks(backend(front), backend(front)) as (served, (_, b)),
        client(front, served.url, **DECLARED[front]) as caller,
    ):
        made = await work(caller, "b_work")
        b.end(made["taskId"])

        found = await get(caller, made["taskId"])

        assert made["status"] == "working"
        assert found.pop("resultType", "complete") == "complete"
        assert found == b.tasks["b-task-1"]


@in_both_fronts
async def test_a_client_finds_its_task_again_after_it_was_away(front: str) -> None:
    async with desks(backend(front), backend(front)) as (served, (_, b)):
        async with client(front, served.url, **DECLARED[front]) as caller:
            made = await work(caller, "b_work")
        await served.is_idle()
        b.end(made["taskId"])

        async with client(front, served.url, **DECLARED[front]) as again:
            assert (await get(again, made["taskId"]))["status"] == "completed"


@in_both_fronts
async def test_a_task_is_cancelled_at_its_backend(front: str) -> None:
    async with (
        desks(backend(front), backend(front)) as (served, (a, _)),
        client(front, served.url, **DECLARED[front]) as caller,
    ):
        made = await work(caller, "a_work")

        await caller.ask("tasks/cancel", {"taskId": made["taskId"]})

        assert a.tasks[made["taskId"]]["status"] == "cancelled"


@in_both_fronts
async def test_a_task_that_nobody_made_is_unknown(front: str) -> None:
    async with (
        desks(backend(front)) as (served, _),
        client(front, served.url, **DECLARED[front]) as caller,
    ):
        refused = await caller.refused("tasks/get", {"taskId": UNKNOWN})

        assert refused["code"] == -32602


@in_both_fronts
async def test_a_task_that_its_backend_has_forgotten_is_forgotten(front: str) -> None:
    fake = backend(front)
    async with (
        desks(fake) as (served, (desk,)),
        client(front, served.url, **DECLARED[front]) as caller,
    ):
        made = await work(caller)
        desk.tasks.clear()

        told = [await caller.refused("tasks/get", {"taskId": made["taskId"]}) for _ in range(2)]

        assert [each["code"] for each in told] == [-32602, -32602]
        assert len(fake.asked("tasks/get")) == 1


@in_both_fronts
async def test_an_id_that_two_backends_give_is_the_first_ones(front: str) -> None:
    async with (
        desks(backend(front), backend(front), a="same", b="same") as (served, (a, b)),
        client(front, served.url, **DECLARED[front]) as caller,
    ):
        made = await work(caller, "a_work")
        wish = {"task": {}} if front == SESSIONED else {}

        refused = await caller.refused("tools/call", {"name": "b_work", **wish})

        assert refused["data"] == {"backend": "b", "reason": "TaskIdTaken"}
        assert b.tasks["same-1"]["status"] == "cancelled"
        a.end("same-1")
        assert (await get(caller, made["taskId"]))["status"] == "completed"


@in_both_fronts
async def test_a_backend_that_is_gone_is_named_when_its_task_is_asked_for(front: str) -> None:
    fakes = backend(front), backend(front)
    async with (
        desks(*fakes) as (served, _),
        client(front, served.url, **DECLARED[front]) as caller,
    ):
        made = await work(caller, "b_work")
        await fakes[1].stop()

        refused = await caller.refused("tasks/get", {"taskId": made["taskId"]})

        assert refused["data"]["backend"] == "b"


async def test_the_result_of_a_task_may_ask_its_client_first() -> None:
    async with (
        desks(backend(SESSIONED)) as (served, (desk,)),
        client(SESSIONED, served.url, elicitation={}) as caller,
    ):
        assert isinstance(caller, SessionedClient)
        made = await work(caller)
        answer = await caller.request("tasks/result", {"taskId": made["taskId"]})
        asked = await answer.heard("elicitation/create")

        await caller.answer(asked["id"], result={"action": "decline"})

        await until(lambda: desk.answers == {made["taskId"]: {"action": "decline"}})
        desk.end(made["taskId"])
        assert words((await answer.end())["result"]) == f"end of {made['taskId']}"


async def test_a_list_shows_the_tasks_of_the_session_at_all_backends() -> None:
    async with (
        desks(backend(SESSIONED), backend(SESSIONED)) as (served, (a, _)),
        client(SESSIONED, served.url) as caller,
        client(SESSIONED, served.url) as other,
    ):
        a.page_size = 1
        for tool in ("a_work", "b_work", "a_work"):
            await work(caller, tool)
        await work(other, "b_work")

        assert await listed(caller) == ["a-task-1", "a-task-2", "b-task-1"]
        assert await listed(other) == ["b-task-2"]


async def listed(caller: Client) -> list[str]:
    """Return the ids of all pages."""
    found: list[str] = []
    params: dict[str, Any] = {}
    while True:
        page = await caller.ask("tasks/list", params)
        found += [task["taskId"] for task in page["tasks"]]
        if "nextCursor" not in page:
            return found
        params = {"cursor": page["nextCursor"]}


async def test_a_backend_that_cannot_tell_is_left_out_of_the_list() -> None:
    fakes = backend(SESSIONED), backend(SESSIONED)
    async with desks(*fakes) as (served, _), client(SESSIONED, served.url) as caller:
        for tool in ("a_work", "b_work"):
            await work(caller, tool)
        await fakes[0].stop()

        assert await listed(caller) == ["b-task-1"]


async def test_a_session_without_tasks_lists_none() -> None:
    fake = backend(SESSIONED)
    async with desks(fake) as (served, _), client(SESSIONED, served.url) as caller:
        assert await caller.ask("tasks/list") == {"tasks": []}
        assert fake.asked("tasks/list") == []


async def test_a_task_takes_what_its_client_answers() -> None:
    async with (
        desks(backend(STATELESS)) as (served, (desk,)),
        client(STATELESS, served.url, **DECLARED[STATELESS]) as caller,
    ):
        made = await work(caller)
        answers = {"name": {"action": "accept", "content": {}}}

        await caller.ask("tasks/update", {"taskId": made["taskId"], "inputResponses": answers})

        assert desk.answers == answers


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("tasks/get", {"taskId": UNKNOWN}),
        ("subscriptions/listen", {"notifications": {"taskIds": [UNKNOWN]}}),
    ],
    ids=["get", "listen"],
)
async def test_a_client_that_did_not_declare_tasks_is_told_so(
    method: str, params: dict[str, Any]
) -> None:
    async with desks(backend(STATELESS)) as (served, _), client(STATELESS, served.url) as caller:
        answer = await caller.request(method, params)

        error = (await answer.end())["error"]
        assert (answer.status, error["code"]) == (400, -32021)
        assert error["data"] == {"requiredCapabilities": {"extensions": {EXTENSION: {}}}}


async def test_a_client_hears_of_the_tasks_that_it_listens_to() -> None:
    fake = backend(STATELESS)
    async with desks(backend(STATELESS), fake) as (served, (_, desk)):
        async with client(STATELESS, served.url, **DECLARED[STATELESS]) as caller:
            assert isinstance(caller, StatelessClient)
            heard, unheard = [(await work(caller, "b_work"))["taskId"] for _ in range(2)]
            stream = await caller.listen(taskIds=[heard, UNKNOWN])
            desk.end(heard)

            for identity in (unheard, heard):
                fake.tell("notifications/tasks", **desk.tasks[identity])

            told = await stream.heard("notifications/tasks")
            assert stream.notes[-1]["params"]["notifications"] == {"taskIds": [heard]}
            assert told["params"].pop("_meta") == {
                "io.modelcontextprotocol/subscriptionId": "listen"
            }
            assert told["params"] == desk.tasks[heard]
        await served.is_idle()
        await until(lambda: all("taskIds" not in e.notifications for e in _listening(fake)))


def _listening(fake: Any) -> list[Any]:
    return list(fake.listening.values())


@pytest.mark.parametrize(
    ("front", "back"), [(SESSIONED, STATELESS), (STATELESS, SESSIONED)], ids=["to new", "to old"]
)
async def test_no_task_is_made_for_a_client_of_the_other_era(front: str, back: str) -> None:
    declared = {"extensions": {EXTENSION: {}, "org.example/other": {"x": 1}}}
    fake = backend(back)
    async with desks(fake) as (served, _), client(front, served.url, **declared) as caller:
        result = await caller.ask("tools/call", {"name": "work", "task": {"ttl": 1000}})

        assert words(result) == "done at once"
        assert "task" not in fake.asked("tools/call")[0].params
        seen = fake.asked("tools/call" if back == STATELESS else "initialize")[-1].params
        capabilities = (
            seen.get("capabilities") or seen["_meta"]["io.modelcontextprotocol/clientCapabilities"]
        )
        assert capabilities["extensions"] == {"org.example/other": {"x": 1}}


@in_both_fronts
async def test_tasks_are_offered_to_the_clients_that_can_follow_them(front: str) -> None:
    async with desks(backend(SESSIONED), backend(STATELESS)) as (served, _):
        offered = await offers(front, served.url)

        if front == SESSIONED:
            assert offered["tasks"] == {
                "list": {},
                "cancel": {},
                "requests": {"tools": {"call": {}}},
            }
            assert "extensions" not in offered
        else:
            assert offered["extensions"] == {EXTENSION: {}}
            assert "tasks" not in offered


async def offers(front: str, url: str) -> dict[str, Any]:
    """Return the capabilities that a client of an era is told."""
    async with client(front, url) as caller:
        if isinstance(caller, SessionedClient):
            found: dict[str, Any] = caller.welcome["capabilities"]
        else:
            found = (await caller.ask("server/discover"))["capabilities"]
    return found


@in_both_fronts
async def test_a_task_of_the_other_era_is_unknown(front: str) -> None:
    back = STATELESS if front == SESSIONED else SESSIONED
    async with desks(backend(front), backend(back)) as (served, _):
        async with client(back, served.url, **DECLARED[back]) as maker:
            made = await work(maker, "b_work")
        async with client(front, served.url, **DECLARED[front]) as caller:
            refused = await caller.refused("tasks/get", {"taskId": made["taskId"]})

    assert refused["code"] == -32602


@pytest.mark.parametrize(
    ("front", "method"),
    [(SESSIONED, "tasks/update"), (STATELESS, "tasks/result"), (STATELESS, "tasks/list")],
)
async def test_a_task_method_of_the_other_era_is_unknown(front: str, method: str) -> None:
    async with (
        desks(backend(front)) as (served, _),
        client(front, served.url, **DECLARED[front]) as caller,
    ):
        assert (await caller.refused(method, {"taskId": UNKNOWN}))["code"] == -32601
