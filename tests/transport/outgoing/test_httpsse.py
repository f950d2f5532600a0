"""Backends of the older HTTP+SSE transport, behind a whole gateway."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.support.backends import serving
from tests.support.clients import named, sessioned, stateless, words
from tests.support.gateways import Served, config, gateway_of
from tests.support.health import failures
from tests.support.shelf import Invocation, Json, text
from tests.support.sse_backend import SseFake
from tests.support.waiting import until

FORCED = {"transport": "sse"}


async def works(invocation: Invocation) -> Json:
    invocation.progress(0.5)
    return text("done")


async def asks(invocation: Invocation) -> Json:
    answer = await invocation.ask("roots/list", {})
    return text(str(answer["result"]["roots"]))


def hangs_in(started: asyncio.Event) -> Any:
    async def hangs(_: Invocation) -> Json:
        started.set()
        await asyncio.get_running_loop().create_future()
        return text("never")

    return hangs


async def trouble(served: Served) -> str:
    """Return why the only backend cannot be used, once it is known."""
    await until(lambda: failures(served.gateway))
    return next(iter(failures(served.gateway).values())).message


@pytest.mark.parametrize("each", [{}, FORCED], ids=["found", "forced"])
async def test_it_is_listed_and_called(each: Json) -> None:
    fake = SseFake()
    async with (
        serving(fake),
        gateway_of(config(fake, each=each)) as served,
        sessioned(served.url) as client,
    ):
        result = await client.ask("tools/call", {"name": "echo", "arguments": {"n": 1}})

    assert words(result) == '{"n": 1}'
    posted = {
        heard.method
        for heard in fake.heard.all
        if heard.headers.get("accept") and heard.http == "POST"
    }
    assert ("server/discover" in posted) == (each == {})


async def test_what_was_found_is_remembered() -> None:
    fake = SseFake()
    async with serving(fake), gateway_of(config(fake)):
        fake.end_streams()
        await fake.heard.nth(2, lambda heard: heard.http == "GET" and not heard.message)

        assert len(fake.asked("server/discover")) == 1


async def test_each_client_has_a_connection_of_its_own_which_ends_with_it() -> None:
    fake = SseFake()
    async with serving(fake), gateway_of(config(fake)) as served:
        async with sessioned(served.url, name="x") as x, sessioned(served.url, name="y") as y:
            for client in (x, y, x, y):
                await client.ask("tools/call", named("echo"))

            assert [len(fake.of(name)) for name in "xy"] == [1, 1]
        await until(lambda: len(fake.outs) == 1)
        await served.is_idle()


async def test_a_call_of_a_client_without_a_session_leaves_none() -> None:
    fake = SseFake()
    async with (
        serving(fake),
        gateway_of(config(fake)) as served,
        stateless(served.url) as client,
    ):
        result = await client.ask("tools/call", named("echo"))

        await until(lambda: len(fake.outs) == 1)
    assert words(result) == "{}"


async def test_progress_comes_under_the_clients_own_token() -> None:
    fake = SseFake(works=works)
    async with (
        serving(fake),
        gateway_of(config(fake)) as served,
        sessioned(served.url) as client,
    ):
        answer = await client.call("works", progressToken="mine")
        note = await answer.heard("notifications/progress")

        assert note["params"] == {"progressToken": "mine", "progress": 0.5}
        assert words((await answer.end())["result"]) == "done"


@pytest.mark.parametrize("posts", ["answered at once", "held"])
async def test_a_question_is_put_to_the_client_even_where_the_post_is_held(posts: str) -> None:
    fake = SseFake(asks=asks)
    fake.holds_posts = posts == "held"
    async with (
        serving(fake),
        gateway_of(config(fake)) as served,
        sessioned(served.url, {"roots": {}}) as client,
    ):
        answer = await client.call("asks")
        asked = await answer.heard("roots/list")
        await client.answer(asked["id"], result={"roots": []})

        assert words((await answer.end())["result"]) == "[]"


async def test_a_cancelled_call_is_cancelled_at_the_backend() -> None:
    started = asyncio.Event()
    fake = SseFake(hangs=hangs_in(started))
    async with (
        serving(fake),
        gateway_of(config(fake)) as served,
        sessioned(served.url) as client,
    ):
        client.call("hangs", 7)
        await started.wait()

        await client.notify("notifications/cancelled", requestId=7)

        await fake.cancelled.first(lambda name: name == "hangs")


async def test_the_loss_of_the_stream_fails_the_call_and_the_next_one_has_a_new_session() -> None:
    started = asyncio.Event()
    fake = SseFake(hangs=hangs_in(started))
    async with (
        serving(fake),
        gateway_of(config(fake)) as served,
        sessioned(served.url, name="x") as client,
    ):
        call = client.call("hangs")
        await started.wait()
        (session,) = fake.of("x")
        assert session.stream is not None
        session.stream.put_nowait(None)

        failed = await (await call).end()
        assert failed["error"]["data"] == {"backend": "a", "reason": "ConnectionLost"}
        assert words(await client.ask("tools/call", named("echo"))) == "{}"
        assert fake.of("x") != [session]


async def test_a_changed_list_is_heard() -> None:
    fake = SseFake()
    async with serving(fake), gateway_of(config(fake)) as served:
        fake.shelf.tools["more"] = works

        fake.tell("notifications/tools/list_changed")

        await served.shows("echo", "more")


async def test_updates_of_a_resource_are_heard() -> None:
    fake = SseFake()
    fake.shelf.resources["x://1"] = "one"
    async with (
        serving(fake),
        gateway_of(config(fake)) as served,
        sessioned(served.url) as client,
    ):
        stream = await client.listen()
        await client.ask("resources/subscribe", {"uri": "x://1"})

        fake.tell("notifications/resources/updated", uri="x://1")

        note = await stream.heard("notifications/resources/updated")
        assert note["params"]["uri"] == "x://1"


@pytest.mark.parametrize(
    "address",
    ["http://localhost:{}/messages", "https://127.0.0.1/messages", "//h.test/{}", "ftp:x"],
)
async def test_an_address_of_another_origin_is_refused_by_name(address: str) -> None:
    fake = SseFake()
    fake.address = address.replace("{}", "1")
    async with serving(fake), gateway_of(config(fake, each=FORCED)) as served:
        assert "endpoint" in await trouble(served)
    assert not fake.asked("initialize")


async def test_a_relative_address_is_taken_from_the_stream() -> None:
    fake = SseFake()
    fake.address = "messages?session={}"
    async with serving(fake), gateway_of(config(fake)) as served:
        await served.shows("echo")


async def test_a_server_of_neither_transport_is_told_by_the_status_of_the_newer_one() -> None:
    fake = SseFake()
    fake.paths = ("/elsewhere",)
    async with serving(fake), gateway_of(config(fake)) as served:
        assert "status 404" in await trouble(served)
