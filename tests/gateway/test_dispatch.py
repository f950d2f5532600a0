from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest

from tests.gateway.builders import (
    OK,
    FakeClient,
    FakeReply,
    backend,
    call_of,
    document,
    inventory,
    key,
    params_of,
    request_client,
    session_client,
)
from tests.support.virtual_time import HandClock, in_virtual_time
from tests.support.waiting import until
from vmcp.catalog.build import build
from vmcp.gateway.deadline import CallCancelled
from vmcp.gateway.dispatch import Dispatch
from vmcp.gateway.inventories import Inventories
from vmcp.gateway.parked import ParkedCalls
from vmcp.gateway.pool import Pool
from vmcp.gateway.ports import Reply
from vmcp.gateway.seal import Seal
from vmcp.gateway.tasks import Tasks
from vmcp.gateway.views import Views
from vmcp.latest import Latest
from vmcp.model.health import DEFAULT_HEALTH, BreakerRules, PartialFailure, Stage
from vmcp.model.identity import Caller
from vmcp.model.inventory import Era, Inventory
from vmcp.model.rules import Conflict, Rules, ToolOverride, ToolRules
from vmcp.model.snapshot import Snapshot
from vmcp.protocol.call import Ask, Call, Done, Request, Retry
from vmcp.protocol.failures import (
    BackendFailed,
    Failure,
    HeaderMismatch,
    InvalidParams,
    UnknownMethod,
    UnknownName,
)


class World:
    """A dispatch with backends that are listed."""

    def __init__(self, rules: Rules, *inventories: Inventory) -> None:
        names = [each.backend.name for each in inventories]
        self.snapshot = Snapshot(tuple(backend(name, 10.0) for name in names), rules=rules)
        self.inventories = Inventories(HandClock())
        self.pool = Pool(FakeClient, self.inventories)
        self.views = Views(Latest(self.snapshot), self.inventories.known)
        self.dispatch = Dispatch(
            self.views, self.pool, Seal(HandClock()), ParkedCalls(), Tasks(HandClock())
        )
        for each in inventories:
            self.list(each)

    def list(self, listed: Inventory) -> None:
        self.inventories.listed(listed)
        self.views.catalog.renew(build(self.snapshot, self.inventories.known.value))

    def client(self, name: str) -> FakeClient:
        found = self.pool.members[key(name)].client
        assert isinstance(found, FakeClient)
        return found

    async def call(self, call: Call) -> Any:
        return json.loads((await self.dispatch.call(call, FakeReply())).payload)

    async def refused(self, call: Call) -> Failure:
        with pytest.raises(Failure) as caught:
            await self.dispatch.call(call, FakeReply())
        return caught.value


@asynccontextmanager
async def world(*inventories: Inventory, rules: Rules | None = None) -> AsyncIterator[World]:
    made = World(rules or Rules(), *inventories)
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(made.pool.run(Latest(made.snapshot)))
        await until(lambda: len(made.pool.members) == len(inventories))
        yield made
        running.cancel()


async def test_a_call_reaches_the_backend_under_its_own_name() -> None:
    async with world(inventory("a", "tool"), inventory("b", "tool")) as here:
        await here.call(call_of("tools/call", name="b_tool", arguments={"x": 1}, more=[1]))

        (call,) = here.client("b").calls
        assert params_of(call) == {"name": "tool", "arguments": {"x": 1}, "more": [1]}
        assert here.client("a").calls == []


async def test_a_prompt_and_a_resource_reach_theirs() -> None:
    async with world(inventory("a", prompts=("p",), resources=("x://1",)), inventory("b")) as here:
        await here.call(call_of("prompts/get", name="a_p"))
        await here.call(call_of("resources/read", uri="x://1"))

        assert [params_of(call) for call in here.client("a").calls] == [
            {"name": "p"},
            {"uri": "x://1"},
        ]


HIDING = Rules(tools={"a": ToolRules(filter=frozenset({"shown"}))})


@pytest.mark.parametrize("name", ["a_hidden", "a_nothing", "shown", "", "a_shown "])
async def test_a_hidden_tool_is_as_unknown_as_one_that_never_was(name: str) -> None:
    async with world(inventory("a", "shown", "hidden"), rules=HIDING) as here:
        failure = await here.refused(call_of("tools/call", name=name))

        assert isinstance(failure, UnknownName)
        assert (failure.message, failure.data) == (f"Unknown tool: {name}", None)
        assert here.client("a").calls == []


async def test_a_tool_that_is_called_otherwise_here_is_known_by_that_name_alone() -> None:
    override = ToolRules(overrides={"old": ToolOverride(name="new")})
    rules = Rules(conflict=Conflict.PREFIX_ON_CONFLICT, tools={"a": override})
    async with world(inventory("a", "old"), rules=rules) as here:
        await here.call(call_of("tools/call", name="new"))

        assert params_of(here.client("a").calls[0]) == {"name": "old"}
        assert isinstance(await here.refused(call_of("tools/call", name="old")), UnknownName)


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("tools/call", {}),
        ("tools/call", {"name": 7}),
        ("prompts/get", {"name": None}),
        ("resources/read", {"uri": ["x"]}),
        ("completion/complete", {}),
        ("completion/complete", {"ref": "x"}),
        ("completion/complete", {"ref": {"type": "ref/prompt"}}),
        ("completion/complete", {"ref": {"type": "ref/resource"}}),
        ("completion/complete", {"ref": {"type": "ref/prompt", "name": "nothing"}}),
        ("completion/complete", {"ref": {"type": "ref/resource", "uri": "y://{x}"}}),
        ("prompts/get", {"name": "nothing"}),
    ],
)
async def test_params_that_name_nothing_are_refused(method: str, params: dict[str, Any]) -> None:
    async with world(inventory("a", "tool"), inventory("b")) as here:
        failure = await here.refused(call_of(method, **params))

        assert isinstance(failure, InvalidParams)


async def test_a_uri_that_nobody_serves_is_told_with_the_uri() -> None:
    async with world(inventory("a"), inventory("b")) as here:
        failure = await here.refused(call_of("resources/read", uri="y://1"))

        assert failure.data == {"uri": "y://1"}


@pytest.mark.parametrize(
    ("ref", "sent"),
    [
        ({"type": "ref/prompt", "name": "a_p"}, {"type": "ref/prompt", "name": "p"}),
        ({"type": "ref/resource", "uri": "x://{n}"}, {"type": "ref/resource", "uri": "x://{n}"}),
        ({"type": "ref/resource", "uri": "x://1"}, {"type": "ref/resource", "uri": "x://1"}),
    ],
    ids=["prompt", "template", "resource"],
)
async def test_a_completion_goes_where_its_reference_leads(
    ref: dict[str, str], sent: dict[str, str]
) -> None:
    listed = inventory("a", prompts=("p",), resources=("x://1",), templates=("x://{n}",))
    async with world(listed, inventory("b", prompts=("p",))) as here:
        await here.call(call_of("completion/complete", ref=ref, argument={"name": "n"}))

        assert params_of(here.client("a").calls[0]) == {"ref": sent, "argument": {"name": "n"}}


async def test_an_unknown_method_goes_to_the_only_backend() -> None:
    async with world(inventory("a")) as here:
        await here.call(call_of("vendor/act", x=1))

        assert here.client("a").calls[0].method == "vendor/act"


async def test_an_unknown_method_is_unknown_where_there_are_several_backends_or_none() -> None:
    for listed in ((inventory("a"), inventory("b")), ()):
        async with world(*listed) as here:
            assert isinstance(await here.refused(call_of("vendor/act")), UnknownMethod)


async def test_a_link_that_a_tool_gave_leads_its_client_to_that_backend() -> None:
    async def give(_call: Call, _reply: Reply) -> Done:
        return Done(b'{"content":[{"type":"resource_link","uri":"y://1","name":"y"}]}')

    async with world(inventory("a", "tool"), inventory("b", "tool")) as here:
        here.client("a").act = give
        mine, other = session_client(), session_client()
        await here.call(call_of("tools/call", mine, name="a_tool"))
        here.client("a").act = FakeClient(backend("a")).act

        await here.call(call_of("resources/read", mine, uri="y://1"))

        assert here.client("a").calls[-1].method == "resources/read"
        stranger = await here.refused(call_of("resources/read", other, uri="y://1"))
        assert isinstance(stranger, UnknownName)


async def test_calls_past_the_bound_are_refused_and_there_is_room_when_one_ends() -> None:
    gate = asyncio.Event()

    async def wait(_call: Call, _reply: Reply) -> Done:
        await gate.wait()
        return OK

    async with world(inventory("a", "tool")) as here, asyncio.TaskGroup() as tasks:
        here.client("a").act = wait
        for _ in range(256):
            tasks.create_task(here.call(call_of("tools/call", name="a_tool")))
        await until(lambda: here.pool.members[key("a")].calls == 256)

        failure = await here.refused(call_of("tools/call", name="a_tool"))
        gate.set()
        await until(lambda: here.pool.members[key("a")].calls == 0)

        assert failure.data == {"backend": "a", "reason": "Overloaded", "retryAfterSeconds": 1}
        assert await here.call(call_of("tools/call", name="a_tool"))


async def hang(_call: Call, _reply: Reply) -> Done:
    return await asyncio.get_running_loop().create_future()


@in_virtual_time
async def test_a_call_takes_no_longer_than_its_backend_may() -> None:
    async with world(inventory("a", "tool")) as here:
        here.client("a").act = hang
        began = asyncio.get_running_loop().time()

        failure = await here.refused(call_of("tools/call", name="a_tool"))

        assert asyncio.get_running_loop().time() - began == 10
        assert failure.data == {"backend": "a", "reason": "TimedOut"}
        assert here.pool.members[key("a")].calls == 0


async def test_a_cancelled_call_has_no_answer() -> None:
    async with world(inventory("a", "tool")) as here:
        here.client("a").act = hang
        reply = FakeReply()
        asyncio.get_running_loop().call_soon(reply.deadline.cancel)

        with pytest.raises(CallCancelled):
            await here.dispatch.call(call_of("tools/call", name="a_tool"), reply)

        assert here.pool.members[key("a")].calls == 0


async def test_a_backend_that_was_removed_meanwhile_is_told_as_such() -> None:
    async with world(inventory("a", "tool")) as here:
        del here.pool.members[key("a")]

        failure = await here.refused(call_of("tools/call", name="a_tool"))

        assert isinstance(failure, BackendFailed)
        assert failure.reason == "Unreachable"


async def test_an_answer_is_that_of_the_clients_era_even_when_the_backend_has_just_changed() -> (
    None
):
    async with world(inventory("a", "tool", era=Era.STATELESS)) as here:
        before = await here.call(call_of("tools/call", request_client(), name="a_tool"))
        here.inventories.listed(inventory("a", "tool", era=Era.SESSIONED))

        after = await here.call(call_of("tools/call", request_client(), name="a_tool"))

        assert ("resultType" in before, "resultType" in after) == (False, True)


QUESTION = Request("who", "elicitation/create", b"{}")


def asking(state: bytes | None) -> Any:
    async def ask(call: Call, _reply: Reply) -> Done | Ask:
        if call.params.get(b'"inputResponses"') is not None:
            return OK
        result = document({"resultType": "input_required", "inputRequests": {}, "more": 1})
        if state is not None:
            result = result.with_member(b'"requestState"', state)
        return Ask((QUESTION,), Retry(state), result)

    return ask


async def test_a_state_goes_out_sealed_and_comes_back_as_it_was() -> None:
    async with world(inventory("a", "tool", era=Era.STATELESS)) as here:
        here.client("a").act = asking(b'"its own"')
        asked = await here.call(call_of("tools/call", request_client(), name="a_tool"))
        again = {"name": "a_tool", "inputResponses": {}, "requestState": asked["requestState"]}

        await here.call(call_of("tools/call", request_client(), **again))

        assert asked["more"] == 1
        assert asked["requestState"] != "its own"
        assert params_of(here.client("a").calls[-1])["requestState"] == "its own"


@pytest.mark.parametrize(
    "change",
    [{"name": "a_other"}, {"arguments": {}}, {"requestState": "its own"}],
    ids=["another tool", "arguments", "the raw state"],
)
async def test_a_state_is_refused_where_it_was_not_given(change: dict[str, Any]) -> None:
    async with world(inventory("a", "tool", "other", era=Era.STATELESS)) as here:
        here.client("a").act = asking(b'"its own"')
        asked = await here.call(call_of("tools/call", request_client(), name="a_tool"))
        again = {"name": "a_tool", "requestState": asked["requestState"], **change}

        failure = await here.refused(call_of("tools/call", request_client(), **again))

        assert isinstance(failure, InvalidParams)
        assert len(here.client("a").calls) == 1


async def test_a_state_of_another_caller_is_refused() -> None:
    async with world(inventory("a", "tool", era=Era.STATELESS)) as here:
        here.client("a").act = asking(b'"its own"')
        one, two = (request_client(caller=Caller("issuer", name)) for name in ("one", "two"))
        asked = await here.call(call_of("tools/call", one, name="a_tool"))
        again = {"name": "a_tool", "requestState": asked["requestState"]}

        assert isinstance(await here.refused(call_of("tools/call", two, **again)), InvalidParams)
        assert await here.call(call_of("tools/call", one, inputResponses={}, **again))


async def test_a_question_without_a_state_goes_out_without_one() -> None:
    async with world(inventory("a", "tool", era=Era.STATELESS)) as here:
        here.client("a").act = asking(None)

        asked = await here.call(call_of("tools/call", request_client(), name="a_tool"))

        assert "requestState" not in asked


async def test_a_session_answers_on_the_way_and_gets_the_end() -> None:
    async with world(inventory("a", "tool", era=Era.STATELESS)) as here:
        here.client("a").act = asking(b'"its own"')

        assert await here.call(call_of("tools/call", session_client(), name="a_tool"))


async def test_a_backend_that_asks_a_session_without_end_is_an_error_that_names_it() -> None:
    async def ask(_call: Call, _reply: Reply) -> Ask:
        return Ask((QUESTION,), Retry(None), document({}))

    async with world(inventory("a", "tool", era=Era.STATELESS)) as here:
        here.client("a").act = ask

        failure = await here.refused(call_of("tools/call", session_client(), name="a_tool"))

        assert failure.data == {"backend": "a", "reason": "AsksWithoutEnd"}


def with_header(era: Era) -> Inventory:
    listed = inventory("a", "tool", era=era)
    (tool,) = listed.tools
    return replace(listed, tools=(replace(tool, param_headers=(("Region", ("r",), "string"),)),))


async def test_a_stateless_call_repeats_in_its_headers_what_the_tool_wants() -> None:
    async with world(with_header(Era.STATELESS)) as here:
        call = call_of("tools/call", request_client(), name="a_tool", arguments={"r": "eu"})
        call.headers = {"mcp-method": "tools/call"}

        assert isinstance(await here.refused(call), HeaderMismatch)
        call.headers = {**call.headers, "mcp-param-region": "eu"}
        assert await here.call(call)


async def test_the_headers_are_made_for_a_client_that_does_not_know_them() -> None:
    async with world(with_header(Era.STATELESS)) as here:
        await here.call(call_of("tools/call", name="a_tool", arguments={"r": "eu"}))

        assert here.client("a").calls[0].headers == {"mcp-param-region": "eu"}


@pytest.mark.parametrize(
    ("method", "member"),
    [
        ("tools/list", "tools"),
        ("prompts/list", "prompts"),
        ("resources/list", "resources"),
        ("resources/templates/list", "resourceTemplates"),
    ],
)
async def test_lists_are_answered_without_any_backend(method: str, member: str) -> None:
    listed = inventory("a", "t", prompts=("p",), resources=("x://1",), templates=("x://{n}",))
    async with world(listed) as here:
        old = await here.call(call_of(method, session_client()))
        new = await here.call(call_of(method, request_client()))

        assert here.client("a").calls == []
        assert len(old[member]) == 1
        assert new == {**old, "resultType": "complete", "ttlMs": 5000, "cacheScope": "public"}


TASK = {"taskId": "t", "status": "working", "ttl": None, "ttlMs": None}


@pytest.mark.parametrize(
    ("era", "result"),
    [(Era.STATELESS, TASK | {"resultType": "task"}), (Era.SESSIONED, {"task": TASK})],
    ids=["to a session", "to a request"],
)
async def test_a_task_made_against_the_rules_for_the_other_era_is_no_result(
    era: Era, result: dict[str, Any]
) -> None:
    async def makes(_call: Call, _reply: Reply) -> Done:
        return Done(json.dumps(result).encode())

    client = session_client() if era is Era.STATELESS else request_client()
    async with world(inventory("a", "work", era=era)) as here:
        here.client("a").act = makes

        failure = await here.refused(call_of("tools/call", client, name="a_work"))

        assert failure.data == {"backend": "a", "reason": "InvalidAnswer"}


@in_virtual_time
async def test_the_result_of_a_task_is_awaited_longer_than_other_answers() -> None:
    async def makes(call: Call, _reply: Reply) -> Done:
        if call.method == "tools/call":
            return Done(json.dumps({"task": TASK}).encode())
        await asyncio.sleep(3000)
        return OK

    client = session_client()
    async with world(inventory("a", "work", capabilities={"tasks": {}})) as here:
        here.client("a").act = makes
        await here.call(call_of("tools/call", client, name="a_work", task={}))

        assert await here.call(call_of("tasks/result", client, taskId="t")) == {"content": []}
        failure = await here.refused(call_of("tasks/get", client, taskId="t"))
        assert failure.data == {"backend": "a", "reason": "TimedOut"}


@pytest.mark.parametrize("params", [{}, {"taskId": 7}])
async def test_a_task_method_that_names_no_task_is_refused(params: dict[str, Any]) -> None:
    async with world(inventory("a", "work")) as here:
        failure = await here.refused(call_of("tasks/get", session_client(), **params))

        assert isinstance(failure, InvalidParams)


@pytest.mark.parametrize("method", ["tasks/get", "tasks/list"])
async def test_task_methods_are_unknown_where_no_backend_makes_tasks(method: str) -> None:
    async with world(inventory("a", "work")) as here:
        failure = await here.refused(call_of(method, session_client(), taskId="t"))

        assert isinstance(failure, UnknownMethod)
        assert here.client("a").calls == []


async def test_a_task_with_an_endless_id_is_refused() -> None:
    async def makes(_call: Call, _reply: Reply) -> Done:
        return Done(json.dumps({"task": TASK | {"taskId": "x" * 1025}}).encode())

    async with world(inventory("a", "work", capabilities={"tasks": {}})) as here:
        here.client("a").act = makes

        failure = await here.refused(call_of("tools/call", session_client(), name="a_work"))

        assert failure.data == {"backend": "a", "reason": "InvalidAnswer"}


def spare(here: World, failures: int = 1) -> None:
    """Switch the breakers on."""
    breaker = BreakerRules(failures, open_seconds=60.0)
    here.inventories.health.rules.set(replace(DEFAULT_HEALTH, breaker=breaker))
    for name in here.pool.members:
        here.inventories.vitals(name).judge()


async def lost(_call: Call, _reply: Reply) -> Done:
    raise BackendFailed("a", "Unreachable", "nobody is there.")


async def test_a_backend_that_fails_again_and_again_gets_no_calls() -> None:
    async with world(inventory("a", "tool"), inventory("b", "tool")) as here:
        spare(here, failures=2)
        here.client("a").act = lost
        for _ in range(2):
            await here.refused(call_of("tools/call", name="a_tool"))

        failure = await here.refused(call_of("tools/call", name="a_tool"))

        assert failure.data == {"backend": "a", "reason": "CircuitOpen", "retryAfterSeconds": 60}
        assert len(here.client("a").calls) == 2
        assert await here.call(call_of("tools/call", name="b_tool"))


async def test_what_answers_a_question_goes_through_all_the_same() -> None:
    async with world(inventory("a", "tool", era=Era.STATELESS)) as here:
        spare(here)
        here.client("a").act = asking(b'"its own"')
        asked = await here.call(call_of("tools/call", request_client(), name="a_tool"))
        here.client("a").act = lost
        await here.refused(call_of("tools/call", request_client(), name="a_tool"))
        here.client("a").act = asking(b'"its own"')
        again = {"name": "a_tool", "inputResponses": {}, "requestState": asked["requestState"]}

        assert await here.call(call_of("tools/call", request_client(), **again))


async def test_lists_fail_where_they_must_be_whole_and_a_backend_is_unhealthy() -> None:
    async with world(inventory("a", "tool"), inventory("b", "tool")) as here:
        rules = replace(DEFAULT_HEALTH, partial_failure=PartialFailure.FAIL, unhealthy_threshold=1)
        here.inventories.health.rules.set(rules)
        here.inventories.failed(key("a"), Stage.PROBE, BackendFailed("a", "TimedOut", "slow."))

        failure = await here.refused(call_of("tools/list"))

        assert failure.data == {"reason": "BackendsUnhealthy", "backends": ["a"]}
