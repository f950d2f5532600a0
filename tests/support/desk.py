"""Tasks of a fake backend, in the way of its era: made by the tool `work`, ended by the test."""

from __future__ import annotations

import asyncio
import itertools

from tests.support.backends import Fake
from tests.support.shelf import INVALID_PARAMS, Fault, Invocation, Json, text
from tests.support.stateless_backend import StatelessFake

EXTENSION = "io.modelcontextprotocol/tasks"
ELICIT = {"message": "Who?", "requestedSchema": {"type": "object", "properties": {}}}
_WHEN = "2026-11-25T10:30:00Z"


class Desk:
    """The tasks that a fake has made; `page_size` is that of its list."""

    def __init__(self, fake: Fake, prefix: str, ttl_ms: int | None = 60_000) -> None:
        self.tasks: dict[str, Json] = {}
        self.answers: dict[str, Json] = {}
        self.page_size = 10
        self._is_stateless = isinstance(fake, StatelessFake)
        self._ids = (f"{prefix}-{number}" for number in itertools.count(1))
        self._ttl_ms = ttl_ms
        self._ended = asyncio.Event()
        fake.shelf.tools["work"] = self._work
        fake.shelf.more["tasks/get"] = self._told
        fake.shelf.more["tasks/cancel"] = self._cancel
        if self._is_stateless:
            fake.capabilities["extensions"] = {EXTENSION: {}}
            fake.shelf.more["tasks/update"] = self._update
            return
        calls = {"tools": {"call": {}}}
        fake.capabilities["tasks"] = {"list": {}, "cancel": {}, "requests": calls}
        fake.shelf.more["tasks/list"] = self._list
        fake.shelf.streams["tasks/result"] = self._result

    def end(self, identity: str) -> None:
        """Complete a task."""
        self.tasks[identity]["status"] = "completed"
        if self._is_stateless:
            self.tasks[identity]["result"] = text(f"end of {identity}")
        self._ended.set()

    async def _work(self, invocation: Invocation) -> Json:
        is_wished = EXTENSION in invocation.capabilities.get("extensions", {})
        if not (is_wished if self._is_stateless else "task" in invocation.params):
            return text("done at once")
        identity = next(self._ids)
        ttl = "ttlMs" if self._is_stateless else "ttl"
        self.tasks[identity] = {
            "taskId": identity,
            "status": "working",
            "createdAt": _WHEN,
            "lastUpdatedAt": _WHEN,
            ttl: self._ttl_ms,
        }
        if self._is_stateless:
            return {"resultType": "task", **self.tasks[identity]}
        return {"task": self.tasks[identity]}

    def _told(self, params: Json) -> Json:
        if params["taskId"] not in self.tasks:
            raise Fault(INVALID_PARAMS, "Task not found")
        return self.tasks[params["taskId"]]

    def _cancel(self, params: Json) -> Json:
        task = self._told(params)
        task["status"] = "cancelled"
        return {} if self._is_stateless else task

    def _update(self, params: Json) -> Json:
        self._told(params)
        self.answers |= params["inputResponses"]
        return {}

    def _list(self, params: Json) -> Json:
        start = int(params.get("cursor", 0))
        end = start + self.page_size
        more = {"nextCursor": str(end)} if end < len(self.tasks) else {}
        return {"tasks": list(self.tasks.values())[start:end], **more}

    async def _result(self, invocation: Invocation) -> Json:
        task = self._told(invocation.params)
        if "elicitation" in invocation.capabilities:
            answer = await invocation.ask("elicitation/create", ELICIT)
            self.answers[task["taskId"]] = answer["result"]
        await self._ended.wait()
        return text(f"end of {task['taskId']}")
