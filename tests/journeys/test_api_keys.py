"""API keys on the way in: who has none is told so, what one key opened no other one sees, and keys come and go."""

from __future__ import annotations

import json
import logging
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path
from typing import Any

import aiohttp
import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError

from tests.journeys.pairs import CLIENTS, STATELESS, at_both_backs, backend, in_both_fronts
from tests.support.backends import serving
from tests.support.clients import Way, named, sessioned, stateless, words
from tests.support.gateways import config, gateway_of
from tests.support.sessioned_backend import SessionedFake
from tests.support.shelf import Invocation, Json, text
from tests.support.waiting import until
from vmcp.config.keysfile import line

ADA, BOB = "ada-" + "a" * 40, "bob-" + "b" * 40
JSON = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}


def bearing(key: str) -> Way:
    return Way({"Authorization": f"Bearer {key}"})


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / "keys"
    file.write_text(f"{line('ada', ADA)}\nbob: {BOB}\n")
    return file


def holds(file: Path, text: str) -> None:
    file.write_text(f"{text}\n")


def guarded(*fakes: SessionedFake, file: Path, **more: Any) -> dict[str, Any]:
    return config(*fakes, incomingAuth={"type": "api_key", "keysFile": str(file)}, **more)


async def asks(invocation: Invocation) -> Json:
    answer = await invocation.ask("elicitation/create", {"message": "?", "requestedSchema": {}})
    return text(answer["result"]["action"])


@pytest.mark.config_key("incomingAuth.type", "incomingAuth.keysFile")
@in_both_fronts
@at_both_backs
async def test_a_key_opens_and_never_reaches_a_backend(front: str, back: str, file: Path) -> None:
    fake = backend(back)
    async with serving(fake), gateway_of(guarded(fake, file=file)) as served:
        for way in (bearing(ADA), Way({"X-API-Key": BOB})):
            async with CLIENTS[front](served.url, way=way) as caller:
                assert words(await caller.ask("tools/call", named("echo")))

    sent = json.dumps([dict(heard.headers) for heard in fake.heard.all])
    assert ADA not in sent
    assert BOB not in sent


REQUESTS = [
    ("POST", "", b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}'),
    ("POST", "/", b"no JSON at all"),
    ("GET", "", None),
    ("DELETE", "", None),
    ("PUT", "", None),
    ("GET", "/a", None),
    ("POST", "/no-such-backend", b"{}"),
]


@pytest.mark.parametrize("headers", [{}, {"X-API-Key": "x" * 40}, {"Authorization": "Basic eDp5"}])
async def test_without_a_known_key_nothing_is_told(file: Path, headers: Mapping[str, str]) -> None:
    fake = SessionedFake()
    async with serving(fake), gateway_of(guarded(fake, file=file)) as served:
        sse, messages = (served.url.replace("/mcp", path) for path in ("/sse", "/messages"))
        beside = [("GET", sse, None), ("POST", f"{messages}?sessionId=x", b"{}")]
        asked = [(method, served.url + path, body) for method, path, body in REQUESTS] + beside
        seen = set()
        async with aiohttp.ClientSession(headers={**JSON, **headers}) as http:
            for method, url, body in asked:
                async with http.request(method, url, data=body) as answer:
                    told = answer.headers["WWW-Authenticate"], answer.headers["Content-Type"]
                    assert answer.headers["X-Request-Id"]
                    seen.add((answer.status, *told, await answer.text()))
        assert not len(served.gateway.sessions)

    ((status, challenge, kind, body),) = seen
    assert (status, challenge, kind) == (401, 'Bearer realm="vmcp"', "application/json")
    assert json.loads(body) == {
        "jsonrpc": "2.0",
        "id": None,
        "error": {
            "code": -32600,
            "message": "A valid API key is needed: send Authorization: Bearer KEY, or X-API-Key: KEY.",
        },
    }


async def endless() -> AsyncIterator[bytes]:
    yield b"x"


@pytest.mark.parametrize(
    ("body", "connection"),
    [(lambda: b"x" * 100_000, None), (endless, "close")],
    ids=["bounded", "without an end"],
)
async def test_nobody_unknown_keeps_us_busy_with_a_body(
    file: Path, body: Callable[[], Any], connection: str | None
) -> None:
    async with (
        gateway_of(guarded(file=file)) as served,
        aiohttp.ClientSession() as http,
        http.post(served.url, data=body()) as answer,
    ):
        assert (answer.status, answer.headers.get("Connection")) == (401, connection)


async def test_probes_need_no_key(file: Path) -> None:
    async with gateway_of(guarded(file=file)) as served, aiohttp.ClientSession() as http:
        for path in ("/health", "/readyz"):
            assert (await http.get(served.url.replace("/mcp", path))).status == 200


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_the_official_client_reads_the_refusal(file: Path, mode: str) -> None:
    async with gateway_of(guarded(file=file)) as served, httpx2.AsyncClient() as http:
        with pytest.RaisesGroup(
            pytest.RaisesExc(MCPError, match="A valid API key is needed"),
            allow_unwrapped=True,
            flatten_subgroups=True,
        ):
            async with Client(streamable_http_client(served.url, http_client=http), mode=mode):
                pass


async def test_a_session_is_unknown_to_another_key(file: Path) -> None:
    fake = SessionedFake()
    async with (
        serving(fake),
        gateway_of(guarded(fake, file=file)) as served,
        sessioned(served.url, way=bearing(ADA)) as ada,
        aiohttp.ClientSession(headers={**JSON, "Mcp-Session-Id": ada.session}) as http,
    ):
        for method in ("POST", "GET", "DELETE"):
            body = b'{"jsonrpc":"2.0","id":1,"method":"ping"}' if method == "POST" else None
            answer = await http.request(method, served.url, data=body, headers=bearing(BOB).headers)
            assert answer.status == 404

        assert await ada.tools() == ["echo"]


async def test_a_stream_of_the_older_transport_takes_messages_of_its_own_key_alone(
    file: Path,
) -> None:
    body = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'
    async with gateway_of(guarded(file=file)) as served, aiohttp.ClientSession() as http:
        sse = served.url.replace("/mcp", "/sse")
        stream = await http.get(sse, headers=bearing(ADA).headers)
        event = await stream.content.readuntil(b"\n\n")
        address = sse.replace("/sse", event.decode().split("data: ")[1].strip())

        statuses = [
            (await http.post(address, data=body, headers={**JSON, **bearing(key).headers})).status
            for key in (BOB, ADA)
        ]

    assert statuses == [404, 202]


async def test_what_a_client_is_asked_is_answered_by_its_own_key_alone(file: Path) -> None:
    fake = SessionedFake(asks=asks)
    async with (
        serving(fake),
        gateway_of(guarded(fake, file=file)) as served,
        stateless(served.url, {"elicitation": {}}, bearing(ADA)) as ada,
        stateless(served.url, {"elicitation": {}}, bearing(BOB)) as bob,
    ):
        asked = await ada.ask("tools/call", named("asks"))
        (question,) = asked["inputRequests"]
        answered = {
            **named("asks"),
            "requestState": asked["requestState"],
            "inputResponses": {question: {"action": "accept"}},
        }
        refused = await bob.refused("tools/call", answered)
        result = await ada.ask("tools/call", answered)

    assert refused["code"] == -32602
    assert "belongs to no request of this caller" in refused["message"]
    assert words(result) == "accept"


async def test_a_key_that_is_removed_takes_its_sessions_and_streams_along(file: Path) -> None:
    fake = SessionedFake()
    async with (
        serving(fake),
        gateway_of(guarded(fake, file=file)) as served,
        sessioned(served.url, way=bearing(ADA)) as ada,
        sessioned(served.url, way=bearing(BOB)) as bob,
        stateless(served.url, way=bearing(ADA)) as lonely,
        aiohttp.ClientSession(headers=bearing(ADA).headers) as http,
    ):
        heard, kept = await ada.listen(), await bob.listen()
        told = await lonely.listen(toolsListChanged=True)
        older = await http.get(served.url.replace("/mcp", "/sse"))
        holds(file, f"bob: {BOB}")
        served.apply(guarded(fake, file=file))

        ends = [await heard.next(), (await told.end())["result"]["resultType"]]
        while await older.content.readany():
            pass

        assert ends == [None, "complete"]
        assert (await ada.send("POST", {}, {})).status == 401
        assert len(served.gateway.sessions) == 1
        fake.shelf.tools["new"] = fake.shelf.tools["echo"]
        fake.tell("notifications/tools/list_changed")
        assert await kept.heard("notifications/tools/list_changed")


async def test_a_key_can_be_exchanged_while_its_client_goes_on(file: Path) -> None:
    fake = SessionedFake()
    newer = "n" * 40
    async with (
        serving(fake),
        gateway_of(guarded(fake, file=file)) as served,
        sessioned(served.url, way=bearing(ADA)) as old,
    ):
        holds(file, f"ada: {ADA}\nada: {newer}")
        served.apply(guarded(fake, file=file))
        await until(lambda: _admits(served, newer))

        assert await old.tools() == ["echo"]
        async with sessioned(served.url, way=bearing(newer)) as fresh:
            assert await fresh.tools() == ["echo"]


def _admits(served: Any, key: str) -> bool:
    auth = served.endpoint._entrance.value.auth
    return auth.keyring.caller(key) is not None


async def test_keys_that_are_wanted_from_now_on_end_what_anonymous_clients_had(file: Path) -> None:
    fake = SessionedFake()
    async with (
        serving(fake),
        gateway_of(config(fake)) as served,
        sessioned(served.url) as nobody,
    ):
        stream = await nobody.listen()
        served.apply(guarded(fake, file=file))

        assert await stream.next() is None
        assert (await nobody.request("tools/list")).status == 401


@in_both_fronts
async def test_a_key_that_is_removed_while_a_body_comes_opens_nothing(
    front: str, file: Path
) -> None:
    method = "server/discover" if front == STATELESS else "initialize"
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": {}}).encode()
    async with gateway_of(guarded(file=file)) as served, aiohttp.ClientSession() as http:

        async def slow() -> Any:
            yield body[:5]
            holds(file, f"bob: {BOB}")
            served.apply(guarded(file=file))
            await until(lambda: not _admits(served, ADA))
            yield body[5:]

        headers = {**JSON, **bearing(ADA).headers}
        async with http.post(served.url, data=slow(), headers=headers) as answer:
            assert answer.status == 401
        assert not len(served.gateway.sessions)


async def test_a_flood_of_guesses_is_one_line_without_values(
    file: Path, caplog: pytest.LogCaptureFixture
) -> None:
    guess = "guess-" + "g" * 40
    with caplog.at_level(logging.INFO):
        async with gateway_of(guarded(file=file)) as served, aiohttp.ClientSession() as http:
            for _ in range(50):
                await http.post(served.url, headers={"X-API-Key": guess})

    lines = [each for each in caplog.records if "without a known credential" in each.message]
    assert [each.client for each in lines] == ["127.0.0.1"]  # type: ignore[attr-defined]
    assert guess not in "".join(str(vars(each)) for each in caplog.records)
