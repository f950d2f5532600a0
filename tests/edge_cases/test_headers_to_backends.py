"""Backends get the headers of the configuration, then those that it lets through; nothing else of a client's."""

from __future__ import annotations

from typing import Any

import pytest

from tests.edge_cases.front import META, VERSION, Door, Seen, door, request
from tests.support.scripted import SESSIONED, STATELESS, Heard, Json, Scripted, scripted
from vmcp.config.errors import ConfigInvalid

ERAS = pytest.mark.parametrize("era", [SESSIONED, STATELESS])
ENVIRONMENT = {"TOKEN": "t0ken", "SECRET": "s3cret", "OTHER": "0ther"}
TRACE = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

BEARER: Json = {"default": {"type": "bearer_token", "bearerToken": {"tokenEnv": "TOKEN"}}}
INJECTED: Json = {
    "default": {
        "type": "header_injection",
        "headerInjection": {"headerName": "X-Api-Key", "headerValueEnv": "TOKEN"},
    }
}


def config(backend: Scripted, forward: Json | None = None, **more: Any) -> Json:
    one = {"name": "a", "url": backend.url}
    return {"backends": [one if forward is None else {**one, "headerForward": forward}], **more}


def secret(name: str) -> Json:
    return {"addHeadersFromSecret": [{"headerName": name, "valueEnv": "SECRET"}]}


async def call(gateway: Door, era: str, headers: dict[str, str], meta: Json | None = None) -> Seen:
    if era == STATELESS:
        told = {"mcp-protocol-version": VERSION, "mcp-method": "tools/call", "mcp-name": "a_echo"}
        params: Json = {"name": "a_echo", "_meta": {**META, **(meta or {})}}
    else:
        told = await gateway.session()
        params = {"name": "a_echo", **({"_meta": meta} if meta else {})}
    seen = await gateway.post(request("tools/call", params), {**told, **headers})
    assert seen.result
    return seen


async def heard_by(
    backend: Scripted, settings: Json, era: str, headers: dict[str, str]
) -> tuple[Heard, list[Heard]]:
    """Make a call with these headers, and return it and all else as the backend heard it."""
    async with door(settings, environment=ENVIRONMENT) as gateway:
        await call(gateway, era, headers)
    (called,) = backend.asked("tools/call")
    return called, backend.heard.having(lambda heard: heard.method != "tools/call")


CLIENTS_OWN = {
    "authorization": "Bearer client",
    "cookie": "session=client",
    "proxy-authorization": "Basic client",
    "x-forwarded-for": "192.0.2.1",
    "x-forwarded-proto": "https",
    "x-forwarded-host": "client.example.test",
    "forwarded": "for=192.0.2.1",
    "x-real-ip": "192.0.2.1",
    "x-api-key": "client",
    "x-request-id": "client-1",
    "user-agent": "client/1",
    "accept-language": "de",
    "referer": "http://localhost/client",
    "origin": "http://localhost",
    "te": "trailers",
    "connection": "keep-alive, x-hop",
    "x-hop": "client",
    "mcp-vendor": "client",
    "last-event-id": "client-1",
}


@ERAS
async def test_of_a_clients_own_headers_none_reaches_a_backend(era: str) -> None:
    backend = Scripted(era)

    async with scripted(backend):
        called, others = await heard_by(backend, config(backend), era, CLIENTS_OWN)

    for heard in (called, *others):
        told = dict(heard.headers)
        assert told.keys() & CLIENTS_OWN.keys() <= {"user-agent"}
        assert told["host"] == f"127.0.0.1:{backend.port}"
        assert "client" not in str({k: v for k, v in told.items() if not k.startswith("mcp-")})


@ERAS
async def test_a_clients_session_and_version_are_not_the_backends(era: str) -> None:
    backend = Scripted(era)

    async with scripted(backend), door(config(backend)) as gateway:
        session = await gateway.session("2025-06-18")
        seen = await gateway.post(request("tools/call", {"name": "a_echo"}), session)
        assert seen.result

    (called,) = backend.asked("tools/call")
    assert session["mcp-session-id"] not in called.all("mcp-session-id")
    expected = ["session-1"] if era == SESSIONED else []
    assert called.all("mcp-session-id") == expected
    assert called.all("mcp-protocol-version") == [VERSION if era == STATELESS else backend.version]


@ERAS
async def test_allow_listed_headers_are_copied_and_others_are_not(era: str) -> None:
    backend = Scripted(era)
    settings = None

    async with scripted(backend):
        settings = config(backend, passthroughHeaders=["X-Tenant", "accept-language"])
        headers = {"x-tenant": "blue", "accept-language": "de", "x-other": "1"}
        called, others = await heard_by(backend, settings, era, headers)

    assert called.all("x-tenant") == ["blue"]
    assert called.all("accept-language") == ["de"]
    assert called.all("x-other") == []
    # What we ask for ourselves is asked for no client.
    assert not any(heard.all("x-tenant") for heard in others)


@ERAS
@pytest.mark.parametrize("name", ["J\u00fcrgen", "\u65e5\u672c", "J\u00fcrgen \u65e5\u672c"])
@pytest.mark.parametrize("configured", ["plain", "\u00e9", "\u65e5\u672c"])
async def test_the_bytes_of_a_copied_header_stay_beside_configured_ones(
    era: str, name: str, configured: str
) -> None:
    backend = Scripted(era)

    async with scripted(backend):
        forward = {"addPlaintextHeaders": {"X-Team": configured}}
        settings = config(backend, forward, passthroughHeaders=["X-Name"])
        sent = name.encode().decode("latin-1")
        called, _ = await heard_by(backend, settings, era, {"x-name": sent})

    assert called.all("x-name") == [sent]
    assert called.all("x-team") == [configured.encode().decode("latin-1")]


@ERAS
@pytest.mark.parametrize(
    ("more", "forward", "name", "value"),
    [
        pytest.param({"outgoingAuth": INJECTED}, None, "x-api-key", "t0ken", id="injected"),
        pytest.param({}, secret("X-Api-Key"), "x-api-key", "s3cret", id="secret"),
        pytest.param(
            {},
            {"addPlaintextHeaders": {"X-API-KEY": "plain"}},
            "x-api-key",
            "plain",
            id="plaintext",
        ),
        pytest.param(
            {},
            {"addPlaintextHeaders": {"user-agent": "mine/1"}},
            "user-agent",
            "mine/1",
            id="agent",
        ),
    ],
)
async def test_a_configured_header_stands_once_whatever_the_client_sends(
    era: str, more: Json, forward: Json | None, name: str, value: str
) -> None:
    backend = Scripted(era)

    async with scripted(backend):
        settings = config(backend, forward, passthroughHeaders=["X-Api-Key", "User-Agent"], **more)
        sent = {"x-api-key": "client", "user-agent": "client/1"}
        called, others = await heard_by(backend, settings, era, sent)

    for heard in (called, *others):
        assert heard.all(name) == [value]


@ERAS
async def test_an_allow_listed_user_agent_replaces_ours_on_calls(era: str) -> None:
    backend = Scripted(era)

    async with scripted(backend):
        settings = config(backend, passthroughHeaders=["User-Agent"])
        called, others = await heard_by(backend, settings, era, {"user-agent": "client/1"})

    assert called.all("user-agent") == ["client/1"]
    assert {tuple(heard.all("user-agent")) for heard in others} == {("vmcp",)}


@ERAS
async def test_the_credential_is_on_every_request_and_never_the_clients(era: str) -> None:
    backend = Scripted(era)

    async with scripted(backend):
        settings = config(backend, outgoingAuth=BEARER)
        called, others = await heard_by(backend, settings, era, CLIENTS_OWN)

    for heard in (called, *others):
        assert heard.all("authorization") == ["Bearer t0ken"]


async def test_the_credential_of_one_backend_does_not_reach_another() -> None:
    a, b = Scripted(), Scripted()
    settings = {
        "backends": [{"name": "a", "url": a.url}, {"name": "b", "url": b.url}],
        "outgoingAuth": {"backends": {"a": BEARER["default"]}},
    }

    async with scripted(a, b):
        settings["backends"] = [{"name": "a", "url": a.url}, {"name": "b", "url": b.url}]
        async with door(settings, environment=ENVIRONMENT) as gateway:
            headers = await gateway.session()
            for name in ("a_echo", "b_echo"):
                await gateway.post(request("tools/call", {"name": name}), headers)

    assert {tuple(heard.all("authorization")) for heard in a.heard.all} == {("Bearer t0ken",)}
    assert not any(heard.all("authorization") for heard in b.heard.all)


@pytest.mark.parametrize(
    ("forward", "more"),
    [
        pytest.param(
            {**secret("X-Key"), "addPlaintextHeaders": {"x-key": "1"}},
            {},
            id="secret and plaintext",
        ),
        pytest.param(secret("Authorization"), {"outgoingAuth": BEARER}, id="token and secret"),
        pytest.param(
            {"addPlaintextHeaders": {"x-api-key": "1"}},
            {"outgoingAuth": INJECTED},
            id="injected and plaintext",
        ),
        *(
            pytest.param({"addPlaintextHeaders": {name: "1"}}, {}, id=f"{name} configured")
            for name in ("Host", "Cookie", "Mcp-Session-Id", "X-Forwarded-For", "Content-Length")
        ),
        *(
            pytest.param(None, {"passthroughHeaders": [name]}, id=f"{name} passed")
            for name in (
                "Authorization",
                "Cookie",
                "Host",
                "Mcp-Name",
                "MCP-Protocol-Version",
                "X-Forwarded-Proto",
                "Connection",
                "Accept-Encoding",
            )
        ),
    ],
)
async def test_what_may_not_be_configured_is_refused_at_the_start(
    forward: Json | None, more: Json
) -> None:
    with pytest.raises(ConfigInvalid):
        async with door(config(Scripted(), forward, **more), environment=ENVIRONMENT):
            pass


@ERAS
async def test_trace_context_is_carried_in_headers_and_meta(era: str) -> None:
    backend = Scripted(era)
    context = {"traceparent": TRACE, "tracestate": "vendor=1", "baggage": "user=7"}

    async with scripted(backend), door(config(backend)) as gateway:
        await call(gateway, era, dict(context), meta=dict(context))

    (called,) = backend.asked("tools/call")
    for name, value in context.items():
        assert called.all(name) == [value]
        assert called.params["_meta"][name] == value


@pytest.mark.parametrize("to", [SESSIONED, STATELESS])
async def test_trace_context_crosses_eras(to: str) -> None:
    backend = Scripted(to)
    era = SESSIONED if to == STATELESS else STATELESS

    async with scripted(backend), door(config(backend)) as gateway:
        await call(gateway, era, {"traceparent": TRACE}, meta={"traceparent": TRACE})

    (called,) = backend.asked("tools/call")
    assert called.all("traceparent") == [TRACE]
    assert called.params["_meta"]["traceparent"] == TRACE
    assert ("io.modelcontextprotocol/protocolVersion" in called.params["_meta"]) == (
        to == STATELESS
    )


@ERAS
async def test_each_header_of_ours_stands_once(era: str) -> None:
    backend = Scripted(era)

    async with scripted(backend):
        called, others = await heard_by(backend, config(backend), era, {})

    for heard in (called, *others):
        names = [name for name, _ in heard.headers]
        assert sorted(names) == sorted(set(names))
        assert heard.header("accept-encoding") == "identity"


@ERAS
async def test_what_a_backend_puts_into_its_headers_stays_there(era: str) -> None:
    backend = Scripted(era)

    def marked(heard: Heard) -> bytes:
        mark = b"\r\nSet-Cookie: crumb=1\r\nX-Backend: crumb\r\nServer: crumb\r\n"
        return backend.behaves(heard).replace(b"\r\n", mark, 1)

    backend.script["else"] = marked
    async with scripted(backend), door(config(backend)) as gateway:
        seen = await call(gateway, era, {})

    assert "crumb" not in str(seen.headers)
    assert not any(heard.all("cookie") for heard in backend.heard.all)


async def test_an_answer_carries_the_clients_request_id_where_it_can_be_logged() -> None:
    backend = Scripted()

    async with scripted(backend), door(config(backend)) as gateway:
        mine = await gateway.call("a_echo", x_request_id="mine-1.2:3/4")
        odd = await gateway.call("a_echo", x_request_id="with a\tspace")
        none = await gateway.call("a_echo")

    assert mine.headers["x-request-id"] == "mine-1.2:3/4"
    assert odd.headers["x-request-id"] != none.headers["x-request-id"]
    assert " " not in odd.headers["x-request-id"]
