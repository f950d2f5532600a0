"""Tools that do the same in both eras, each in the way of its backend's own."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Sequence

from tests.support.shelf import Invocation, Json, text

FORM = ("elicitation/create", {"message": "Who?", "requestedSchema": {"type": "object"}})
PAGE = ("elicitation/create", {"mode": "url", "message": "Go", "url": "https://page.test/"})
SAMPLING = ("sampling/createMessage", {"messages": [], "maxTokens": 9})
ROOTS = ("roots/list", {})

Question = tuple[str, Json]
Tool = Callable[[Invocation], Awaitable[Json]]


def is_stateless(invocation: Invocation) -> bool:
    """Tell in which era a call came."""
    return "io.modelcontextprotocol/protocolVersion" in invocation.params.get("_meta", {})


def asking(*rounds: Sequence[Question]) -> Tool:
    """Return a tool that asks in rounds, each all at once, and tells what was answered, in order."""

    async def run(invocation: Invocation) -> Json:
        if is_stateless(invocation):
            return _required(invocation, rounds)
        said: list[Json] = []
        for questions in rounds:
            async with asyncio.TaskGroup() as tasks:
                asks = [tasks.create_task(_asked(invocation, each)) for each in questions]
            said.extend(each.result() for each in asks)
        return text(json.dumps(said))

    return run


async def _asked(invocation: Invocation, question: Question) -> Json:
    answer = await invocation.ask(*question)
    found: Json = answer.get("result", answer.get("error"))
    return found


def _required(invocation: Invocation, rounds: Sequence[Sequence[Question]]) -> Json:
    past, said = json.loads(invocation.params.get("requestState", "[0, []]"))
    if "inputResponses" in invocation.params:
        said += [each for _, each in sorted(invocation.params["inputResponses"].items())]
        past += 1
    if past == len(rounds):
        return text(json.dumps(said))
    return {
        "resultType": "input_required",
        "inputRequests": {
            f"q{number}": {"method": method, "params": params}
            for number, (method, params) in enumerate(rounds[past])
        },
        "requestState": json.dumps([past, said]),
    }
