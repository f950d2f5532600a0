from __future__ import annotations

import json
from typing import Any

import pytest

from vmcp.model.document import Document
from vmcp.model.inventory import Era, Peer
from vmcp.protocol import tasks
from vmcp.protocol.document import split
from vmcp.protocol.failures import InvalidParams
from vmcp.protocol.tasks import Task

EXTENSION = tasks.EXTENSION_NAME
TASK = {"taskId": "t", "status": "working", "ttl": 1500, "ttlMs": 2500}


def raw(value: Any) -> bytes:
    return json.dumps(value).encode()


@pytest.mark.parametrize(
    ("era", "result", "expected"),
    [
        (Era.SESSIONED, {"task": TASK}, Task("t", 1.5)),
        (Era.SESSIONED, {"task": {**TASK, "ttl": None}}, Task("t", None)),
        (Era.SESSIONED, {"task": {"taskId": "t"}}, Task("t", None)),
        (Era.SESSIONED, {"task": {**TASK, "taskId": 7}}, None),
        (Era.SESSIONED, {"task": ["taskId"]}, None),
        (Era.SESSIONED, {"task": TASK, "content": []}, None),
        (Era.SESSIONED, {"content": [], "structuredContent": TASK}, None),
        (Era.SESSIONED, TASK, None),
        (Era.STATELESS, {"resultType": "task", **TASK}, Task("t", 2.5)),
        (Era.STATELESS, {"resultType": "task", **TASK, "ttlMs": -1}, Task("t", 0.0)),
        (Era.STATELESS, {"resultType": "complete", **TASK}, None),
        (Era.STATELESS, {"content": []}, None),
    ],
)
def test_a_result_tells_of_the_task_that_was_made(
    era: Era, result: Any, expected: Task | None
) -> None:
    assert tasks.created(raw(result), era) == expected


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        ({"task": TASK}, True),
        (TASK, True),
        ({"content": [], "structuredContent": TASK}, False),
        ({"content": [], "task": TASK}, False),
        ({"other": {"taskId": "t"}}, False),
        ({"content": []}, False),
    ],
)
def test_a_task_in_the_place_of_a_result_is_seen_in_either_shape(
    result: Any, *, expected: bool
) -> None:
    assert tasks.is_stray(raw(result)) is expected


@pytest.mark.parametrize("params", [{}, {"taskId": 7}, {"taskId": None}])
def test_params_that_name_no_task_are_refused(params: Any) -> None:
    with pytest.raises(InvalidParams, match="taskId"):
        tasks.id_of(split(raw(params)))


@pytest.mark.parametrize(
    ("declared", "expected"),
    [
        ({}, {}),
        ({"tasks": {"list": {}}, "sampling": {}}, {"sampling": {}}),
        ({"extensions": {EXTENSION: {}}}, {}),
        ({"extensions": {EXTENSION: {}, "org/x": 1}}, {"extensions": {"org/x": 1}}),
        ({"extensions": {"org/tasks": {}}}, {"extensions": {"org/tasks": {}}}),
        ({"extensions": [EXTENSION]}, {"extensions": [EXTENSION]}),
    ],
)
def test_capabilities_lose_their_tasks_and_nothing_else(declared: Any, expected: Any) -> None:
    assert json.loads(tasks.without_tasks(raw(declared))) == expected


def test_capabilities_without_tasks_keep_their_bytes() -> None:
    declared = b'{ "sampling" : {} }'

    assert tasks.without_tasks(declared) is declared


@pytest.mark.parametrize(
    ("declared", "expected"),
    [
        ({"extensions": {EXTENSION: {}}}, True),
        ({"extensions": {"org/x": {"name": EXTENSION}}}, False),
        ({EXTENSION: {}}, False),
        ({}, False),
    ],
)
def test_the_extension_is_declared_in_its_place_alone(declared: Any, *, expected: bool) -> None:
    assert tasks.is_declared(raw(declared)) is expected


def peer(era: Era, capabilities: Any) -> Peer:
    return Peer(era, "", split(raw(capabilities)), b"{}")


@pytest.mark.parametrize(
    ("era", "capabilities", "offered", "lists"),
    [
        (Era.SESSIONED, {"tasks": {"list": {}}}, True, True),
        (Era.SESSIONED, {"tasks": {}}, True, False),
        (Era.SESSIONED, {"extensions": {EXTENSION: {}}}, False, False),
        (Era.STATELESS, {"extensions": {EXTENSION: {}}}, True, False),
        (Era.STATELESS, {"tasks": {}}, False, False),
    ],
)
def test_backends_offer_tasks_in_the_way_of_their_era(
    era: Era, capabilities: Any, *, offered: bool, lists: bool
) -> None:
    found = peer(era, capabilities)

    assert (tasks.is_offered(found), tasks.can_list(found)) == (offered, lists)


def test_a_call_loses_the_wish_for_a_task() -> None:
    params = Document(((b'"name"', b'"x"'), (b'"task"', b'{"ttl":1}')))

    assert tasks.without_task(params).join() == b'{"name":"x"}'
