"""Tasks of a real server: npm server-everything makes them, and asks while they run."""

from __future__ import annotations

import asyncio
from typing import Any

from tests.real.conftest import World
from tests.support.clients import SessionedClient, sessioned, words
from tests.support.waiting import moment

TOOL = "everything_simulate-research-query"
SECONDS = 30


async def made(caller: SessionedClient, **arguments: Any) -> str:
    """Have a task made and return its id."""
    wish = {"name": TOOL, "arguments": {"topic": "python", **arguments}, "task": {"ttl": 60_000}}
    result = await caller.ask("tools/call", wish)
    identity: str = result["task"]["taskId"]
    return identity


async def left(caller: SessionedClient, identity: str, *states: str) -> str:
    """Poll, as clients do, until a task is in none of these states; return its state."""
    async with asyncio.timeout(SECONDS):
        while True:
            task = await caller.ask("tasks/get", {"taskId": identity})
            if task["status"] not in states:
                return str(task["status"])
            await moment()


async def test_a_real_task_is_followed_to_its_result_from_another_session(world: World) -> None:
    async with sessioned(world.url, name="maker") as maker:
        assert maker.welcome["capabilities"]["tasks"]["requests"] == {"tools": {"call": {}}}
        identity = await made(maker)
        listed = await maker.ask("tasks/list")
        assert identity in [task["taskId"] for task in listed["tasks"]]

    async with sessioned(world.url, name="reader") as reader:
        assert await left(reader, identity, "working") == "completed"
        result = await reader.ask("tasks/result", {"taskId": identity})

    assert "python" in words(result)


async def test_a_real_task_asks_on_the_stream_of_its_result(world: World) -> None:
    async with sessioned(world.url, {"elicitation": {}}, "asked") as caller:
        identity = await made(caller, ambiguous=True)
        assert await left(caller, identity, "working") == "input_required"
        answer = await caller.request("tasks/result", {"taskId": identity})
        asked = await answer.heard("elicitation/create")
        choice = asked["params"]["requestedSchema"]["properties"]["interpretation"]

        content = {"interpretation": (choice.get("enum") or [choice["oneOf"][0]["const"]])[0]}
        await caller.answer(asked["id"], result={"action": "accept", "content": content})

        async with asyncio.timeout(SECONDS):
            assert "python" in words((await answer.end())["result"])
