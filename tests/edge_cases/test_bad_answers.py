"""Whatever a backend answers, its client gets a JSON-RPC error that names it and why; the next call works."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from tests.edge_cases.answers import BAD, DONE, GOOD, told
from tests.edge_cases.front import Door, Seen, behind, door, request
from tests.support.health import failures
from tests.support.scripted import (
    JSON,
    SESSIONED,
    STATELESS,
    Answer,
    Cut,
    Heard,
    Script,
    Scripted,
    always,
    events,
    http,
    message,
    scripted,
    text,
)
from tests.support.waiting import until

ERAS = pytest.mark.parametrize("era", [SESSIONED, STATELESS])


def once(answer: Script, backend: Scripted) -> Script:
    """Give one answer, then behave."""
    answers = [answer]
    return lambda heard: answers.pop()(heard) if answers else backend.behaves(heard)


async def call(gateway: Door, era: str) -> Seen:
    if era == STATELESS:
        return await gateway.call("a_echo")
    headers = await gateway.session()
    return await gateway.post(request("tools/call", {"name": "a_echo"}), headers)


@ERAS
@pytest.mark.parametrize(("answer", "reason"), BAD)
async def test_a_bad_answer_to_a_call_is_an_error_and_the_next_call_works(
    era: str, answer: Script, reason: str
) -> None:
    backend = Scripted(era)
    backend.script["tools/call"] = once(answer, backend)

    async with scripted(backend), door(behind(backend)) as gateway:
        bad, good = await call(gateway, era), await call(gateway, era)

    assert (bad.status, bad.code) == (200, -32603)
    assert bad.error["data"] == {"backend": "a", "reason": reason}
    assert "127.0.0.1" not in json.dumps(bad.error)
    assert good.result["content"] == text("echo")["content"]
    assert len(backend.asked("tools/call")) == 2


@ERAS
@pytest.mark.parametrize("answer", GOOD)
async def test_an_odd_but_right_answer_to_a_call_is_taken(era: str, answer: Script) -> None:
    backend = Scripted(era)
    backend.script["tools/call"] = answer

    async with scripted(backend), door(behind(backend)) as gateway:
        assert (await call(gateway, era)).result["content"] == DONE["content"]


# In a session 404 says that the session is gone.
@pytest.mark.parametrize(
    ("era", "status"),
    [(STATELESS, 404), *((era, n) for era in (SESSIONED, STATELESS) for n in (200, 400, 401, 500))],
)
async def test_an_error_of_the_backend_passes_whatever_its_status(era: str, status: int) -> None:
    backend = Scripted(era)
    error = {"code": -31999, "message": "no such colour", "data": {"vendor": [1.0]}}
    backend.script["tools/call"] = lambda heard: http(status, told(heard, error=error), JSON)

    async with scripted(backend), door(behind(backend)) as gateway:
        assert (await call(gateway, era)).error == error


@ERAS
async def test_an_error_without_an_id_is_taken_as_the_answer(era: str) -> None:
    backend = Scripted(era)
    error = {"code": -32700, "message": "Parse error"}
    for body in (message(None, error=error), b'{"jsonrpc":"2.0","id":null,"error":%b}'):
        raw = body.replace(b"%b", json.dumps(error).encode())
        backend.script["tools/call"] = always(http(400, raw, JSON))

        async with scripted(backend), door(behind(backend)) as gateway:
            assert (await call(gateway, era)).error == error


@ERAS
@pytest.mark.parametrize("status", [429, 503])
@pytest.mark.parametrize(
    ("wait", "seconds"),
    [("7", 7), ("0", 0), ("soon", None), ("-1", None), ("9" * 40, None), ("7.5", None)],
)
async def test_a_busy_backend_tells_when_to_come_back(
    era: str, status: int, wait: str, seconds: int | None
) -> None:
    backend = Scripted(era)
    backend.script["tools/call"] = always(http(status, Retry_After=wait))

    async with scripted(backend), door(behind(backend)) as gateway:
        data = (await call(gateway, era)).error["data"]

    expected = {} if seconds is None else {"retryAfterSeconds": seconds}
    assert data == {"backend": "a", "reason": "Overloaded", **expected}


def named(case: Any) -> str:
    """Return the name of the backend that gives the answer of a case."""
    return str(case.id).replace(" ", "-").lower()


async def reasons(answers: Mapping[str, tuple[Script, str]], era: str) -> dict[str, str | None]:
    """Return why backends fail that give these answers to a method, beside one that must not fail."""
    bad = {name: Scripted(era, {method: answer}) for name, (answer, method) in answers.items()}
    good = Scripted(era)

    urls = {"good": good, **bad}
    async with scripted(*urls.values()):
        config = {"backends": [{"name": name, "url": each.url} for name, each in urls.items()]}
        async with door(config) as gateway:
            found = failures(gateway.gateway)
            assert "good_echo" in await gateway.tools()
            return {name: found[name].reason if name in found else None for name in urls}


@pytest.mark.parametrize(
    ("era", "method"),
    [(SESSIONED, "tools/list"), (STATELESS, "tools/list"), (SESSIONED, "initialize")],
)
async def test_a_bad_answer_to_what_we_ask_ourselves_fails_that_backend_alone(
    era: str, method: str
) -> None:
    answers = {named(case): (case.values[0], method) for case in BAD}

    found = await reasons(answers, era)

    expected = {named(case): case.values[1] for case in BAD}
    # A stream that ends without an answer to our own question is as wrong as any other answer.
    expected |= {name: "InvalidAnswer" for name in expected if name.startswith("a-stream")}
    assert found == {"good": None, **expected}


NO_DISCOVERY: list[Any] = [
    *(case for case in BAD if case.values[1] in ("InvalidAnswer", "Rejected")),
    pytest.param(
        lambda h: http(400, told(h, error={"code": -32000, "message": "no session"}), JSON),
        id="400 with a code",
    ),
    pytest.param(
        lambda h: http(200, told(h, error={"code": -32601, "message": "what?"}), JSON),
        id="200 with a code",
    ),
    pytest.param(
        always(http(400, message(None, error={"code": -32000, "message": "?"}), JSON)),
        id="no id in the error",
    ),
    pytest.param(
        lambda h: http(400, told(h, error={"code": -32022, "message": "?"}), JSON),
        id="version unsupported",
    ),
    pytest.param(always(http(404)), id="404"),
    pytest.param(always(http(405)), id="405"),
    pytest.param(always(http(406)), id="406"),
    pytest.param(lambda h: http(200, told(h, result={}), JSON), id="empty"),
    pytest.param(
        lambda h: http(200, told(h, result={"supportedVersions": ["2025-11-25"]}), JSON),
        id="older versions",
    ),
    pytest.param(
        lambda h: http(200, told(h, result={"supportedVersions": "2026-07-28"}), JSON), id="no list"
    ),
    pytest.param(
        lambda h: http(200, told(h, result={"supportedVersions": [None]}), JSON), id="null listed"
    ),
    pytest.param(lambda h: http(200, told(h, result=[]), JSON), id="a list as result"),
]


async def test_whatever_is_no_answer_to_discover_leads_to_initialize() -> None:
    answers = {named(case): (case.values[0], "server/discover") for case in NO_DISCOVERY}

    found = await reasons(answers, SESSIONED)

    assert found == dict.fromkeys(("good", *answers))


def acknowledged(heard: Heard) -> bytes:
    """Open a subscription that ends at once, so that it is opened again and the lists are asked anew."""
    tag = {"_meta": {"io.modelcontextprotocol/subscriptionId": heard.message["id"]}}
    method = "notifications/subscriptions/acknowledged"
    return events(message(None, method=method, params={"notifications": {}, **tag}))


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(http(503, Retry_After="3600"), id="503"),
        pytest.param(http(429), id="429"),
        pytest.param(http(500), id="500"),
        pytest.param(http(200, b"{", JSON), id="garbage"),
        pytest.param(Cut(b""), id="nothing"),
    ],
)
async def test_what_was_listed_stays_while_the_backend_answers_badly(answer: Answer) -> None:
    backend = Scripted(STATELESS)
    backend.script["subscriptions/listen"] = acknowledged

    async with scripted(backend), door(behind(backend)) as gateway:
        backend.script["tools/list"] = always(answer)
        await until(lambda: failures(gateway.gateway))

        assert await gateway.tools() == ["a_echo"]
        assert (await gateway.call("a_echo")).result


@ERAS
async def test_a_backend_may_answer_everything_with_streams(era: str) -> None:
    backend = Scripted(era)

    def streamed(heard: Heard) -> bytes:
        whole = backend.behaves(heard)
        head, _, body = whole.partition(b"\r\n\r\n")
        if b"application/json" not in head or heard.method == "subscriptions/listen":
            return whole
        note = message(None, method="notifications/message", params={"level": "info", "data": 1})
        stream = events(note, body)
        session = b"Mcp-Session-Id: session-1\r\n" if b"Mcp-Session-Id" in head else b""
        return stream.replace(b"Content-Type", session + b"Content-Type", 1)

    backend.script["else"] = streamed
    async with scripted(backend), door(behind(backend)) as gateway:
        assert await gateway.tools() == ["a_echo"]
        assert (await call(gateway, era)).result["content"] == text("echo")["content"]

    sessions = {heard.header("mcp-session-id") for heard in backend.asked("tools/call")}
    assert sessions == ({"session-1"} if era == SESSIONED else {None})


async def test_an_empty_session_id_is_none() -> None:
    backend = Scripted()
    backend.script["initialize"] = lambda heard: http(
        200, told(heard, result=backend.welcome()), JSON, Mcp_Session_Id=""
    )

    async with scripted(backend), door(behind(backend)) as gateway:
        assert (await call(gateway, SESSIONED)).result["content"] == text("echo")["content"]

    assert not any(heard.all("mcp-session-id") for heard in backend.heard.all)
    assert backend.asked("DELETE") == []
