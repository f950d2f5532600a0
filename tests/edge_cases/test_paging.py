"""Every page of a backend's lists is asked for, with a bound; what it does not have is empty, not an error."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest

from tests.edge_cases.front import behind, door, request
from tests.support.health import failures
from tests.support.scripted import (
    SESSIONED,
    STATELESS,
    Heard,
    Json,
    Scripted,
    error,
    result,
    scripted,
)
from vmcp.model.health import Stage

ERAS = pytest.mark.parametrize("era", [SESSIONED, STATELESS])
MOST_PAGES = 100


def pages(cursors: Mapping[object, Json]) -> Callable[[Heard], bytes]:
    """Answer a list by the cursor that is asked for; an unknown one is an error."""

    def answer(heard: Heard) -> bytes:
        found = cursors.get(heard.params.get("cursor"))
        return error(heard, -32602) if found is None else result(heard, found)

    return answer


def page(name: str, following: object = None, **more: object) -> Json:
    tool = {"name": name, "inputSchema": {"type": "object"}}
    return {"tools": [tool], **({} if following is None else {"nextCursor": following}), **more}


@ERAS
@pytest.mark.parametrize(
    "cursors",
    [
        pytest.param({None: page("x", "2"), "2": page("y")}, id="two pages"),
        pytest.param({None: page("x", ""), "": page("y")}, id="an empty cursor"),
        pytest.param({None: page("x", " \u00e9/?"), " \u00e9/?": page("y")}, id="odd characters"),
        pytest.param({None: page("x", "2"), "2": {**page("y"), "nextCursor": None}}, id="null"),
        pytest.param(
            {None: page("x", "2"), "2": {"tools": [], "nextCursor": "3"}, "3": page("y")},
            id="an empty page between",
        ),
        pytest.param({None: page("x", 7), 7: page("y")}, id="a number as the cursor"),
    ],
)
async def test_all_pages_are_listed(era: str, cursors: Mapping[object, Json]) -> None:
    backend = Scripted(era, {"tools/list": pages(cursors)})

    async with scripted(backend), door(behind(backend)) as gateway:
        assert await gateway.tools() == ["a_x", "a_y"]

    asked = [heard.params.get("cursor") for heard in backend.asked("tools/list")]
    assert asked == list(cursors)
    assert "cursor" not in backend.asked("tools/list")[0].params


@ERAS
@pytest.mark.parametrize(
    "cursors",
    [
        pytest.param({None: page("x", "1"), "1": page("y", "1")}, id="the same"),
        pytest.param({None: page("x", "1"), "1": page("y", ""), "": page("z", "1")}, id="a circle"),
        pytest.param({None: page("x", ""), "": page("y", "")}, id="the empty one"),
    ],
)
async def test_a_cursor_that_repeats_fails_the_backend(
    era: str, cursors: Mapping[object, Json]
) -> None:
    backend, good = Scripted(era, {"tools/list": pages(cursors)}), Scripted(era)

    async with scripted(backend, good), door(behind(backend, good)) as gateway:
        assert await gateway.tools() == ["b_echo"]
        found = failures(gateway.gateway)["a"]

    assert (found.stage, found.reason) == (Stage.LIST, "InvalidAnswer")
    assert "cursor" in found.message
    assert len(backend.asked("tools/list")) == len(cursors)


def endless(heard: Heard) -> bytes:
    number = int(heard.params.get("cursor", "0"))
    return result(heard, page(f"t{number}", str(number + 1)))


async def test_pages_without_end_fail_the_backend_after_the_bound() -> None:
    backend = Scripted(script={"tools/list": endless})

    async with scripted(backend), door(behind(backend)) as gateway:
        found = failures(gateway.gateway)["a"]

    assert found.reason == "InvalidAnswer"
    assert str(MOST_PAGES) in found.message
    assert len(backend.asked("tools/list")) == MOST_PAGES


async def test_as_many_pages_as_the_bound_allows_are_listed() -> None:
    def answer(heard: Heard) -> bytes:
        number = int(heard.params.get("cursor", "1"))
        return result(heard, page(f"t{number}", str(number + 1) if number < MOST_PAGES else None))

    backend = Scripted(script={"tools/list": answer})

    async with scripted(backend), door(behind(backend)) as gateway:
        assert len(await gateway.tools()) == MOST_PAGES


@ERAS
async def test_a_list_that_the_backend_does_not_know_is_empty(era: str) -> None:
    backend = Scripted(era)
    for method in ("prompts/list", "resources/list", "resources/templates/list"):
        backend.script[method] = lambda heard: error(
            heard, -32601, 404 if era == STATELESS else 200
        )

    async with scripted(backend), door(behind(backend)) as gateway:
        assert await gateway.tools() == ["a_echo"]
        for method, member in (
            ("prompts/list", "prompts"),
            ("resources/list", "resources"),
            ("resources/templates/list", "resourceTemplates"),
        ):
            assert (await gateway.stateless(method)).result[member] == []


@ERAS
async def test_only_what_a_backend_declares_is_asked_for(era: str) -> None:
    backend = Scripted(era)
    backend.declared = {"prompts": {}}

    async with scripted(backend), door(behind(backend)) as gateway:
        assert await gateway.tools() == []

    lists = {heard.method for heard in backend.heard.all if heard.method.endswith("/list")}
    assert lists == {"prompts/list"}


@ERAS
@pytest.mark.parametrize("code", [-32602, -32603, -32000])
async def test_a_list_that_is_refused_otherwise_fails_the_backend(era: str, code: int) -> None:
    backend = Scripted(era)
    backend.script["resources/list"] = lambda heard: error(heard, code)

    async with scripted(backend), door(behind(backend)) as gateway:
        found = failures(gateway.gateway)["a"]

    assert found.reason == "ListRefused"
    assert str(code) in found.message


@ERAS
@pytest.mark.parametrize(
    "wrong",
    [
        pytest.param({}, id="no array"),
        pytest.param({"tools": {}}, id="an object"),
        pytest.param({"tools": None}, id="null"),
    ],
)
async def test_a_list_without_its_array_fails_the_backend(era: str, wrong: Json) -> None:
    backend = Scripted(era)
    backend.script["tools/list"] = lambda heard: result(heard, wrong)

    async with scripted(backend), door(behind(backend)) as gateway:
        found = failures(gateway.gateway)["a"]

    assert found.reason == "InvalidAnswer"


async def test_what_no_client_can_read_is_left_out_of_the_list_and_the_rest_stays() -> None:
    backend = Scripted()
    good = {"name": "good", "inputSchema": {"type": "object"}}
    backend.tools = (
        good,
        {"inputSchema": {"type": "object"}},
        {"name": "", "inputSchema": {"type": "object"}},
        {"name": 7, "inputSchema": {"type": "object"}},
        {"name": "no_schema"},
        {"name": "no_type", "inputSchema": {}},
        {"name": "wrong_type", "inputSchema": {"type": "array"}},
        {"name": "two_types", "inputSchema": {"type": ["object", "null"]}},
        {"name": "null_schema", "inputSchema": None},
        {"name": "wrong_words", "description": 7, "inputSchema": {"type": "object"}},
    )

    async with scripted(backend), door(behind(backend)) as gateway:
        assert await gateway.tools() == ["a_good"]
        problems = gateway.gateway.views.catalog.value.problems

    assert len(problems) == len(backend.tools) - 1
    assert {problem.reason for problem in problems} == {"ToolInvalid"}


@ERAS
async def test_our_own_pages_lead_through_the_whole_list_in_order(era: str) -> None:
    backend = Scripted()
    backend.tools = tuple(
        {"name": f"t{number:04}", "inputSchema": {"type": "object"}} for number in range(2500)
    )

    async with scripted(backend), door(behind(backend)) as gateway:
        headers = await gateway.session()
        names: list[str] = []
        sizes: list[int] = []
        params: Json = {}
        while True:
            if era == STATELESS:
                found = (await gateway.stateless("tools/list", params)).result
            else:
                found = (await gateway.post(request("tools/list", params), headers)).result
            names += [tool["name"] for tool in found["tools"]]
            sizes.append(len(found["tools"]))
            if (following := found.get("nextCursor")) is None:
                break
            params = {"cursor": following}

    assert names == [f"a_t{number:04}" for number in range(2500)]
    assert sizes == [1000, 1000, 500]
