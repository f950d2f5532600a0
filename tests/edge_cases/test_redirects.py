"""A redirect on the same origin is followed with all that belongs to the request; any other is an error."""

from __future__ import annotations

from typing import Any

import pytest

from tests.edge_cases.front import META, Door, behind, door, request
from tests.support.health import failures
from tests.support.scripted import (
    SESSIONED,
    STATELESS,
    Heard,
    Json,
    Scripted,
    error,
    http,
    scripted,
)
from vmcp.net.url import parse
from vmcp.transport.outgoing.pipe import target

TOKEN = "s3cret-token"


def guarded(*backends: Scripted) -> Json:
    auth: Json = {"default": {"type": "bearer_token", "bearerToken": {"tokenEnv": "TOKEN"}}}
    return behind(*backends, outgoingAuth=auth)


def redirecting(backend: Scripted, status: int, place: str) -> None:
    """Answer with a redirect on every path but /target, with the real thing there."""

    def answer(heard: Heard) -> bytes:
        if heard.path == "/target/":
            return backend.behaves(heard)
        return http(status, b"moved", "text/plain", Location=place)

    backend.script["else"] = answer


def failure(gateway: Door) -> tuple[str, str]:
    (found,) = failures(gateway.gateway).values()
    return found.reason, found.message


@pytest.mark.parametrize("status", [307, 308])
@pytest.mark.parametrize("era", [SESSIONED, STATELESS])
@pytest.mark.parametrize("form", ["/target/", "{origin}/target/", "target/", "//{host}/target/"])
async def test_a_redirect_on_the_same_origin_is_followed_and_remembered(
    era: str, status: int, form: str
) -> None:
    backend = Scripted(era)

    async with scripted(backend):
        host = f"127.0.0.1:{backend.port}"
        redirecting(backend, status, form.format(origin=f"http://{host}", host=host))
        async with door(guarded(backend), environment={"TOKEN": TOKEN}) as gateway:
            assert await gateway.tools() == ["a_echo"]
            seen = await gateway.call("a_echo", {"n": 1})

    assert seen.result
    first, second, *rest = backend.heard.all
    assert (first.path, second.path) == ("/mcp", "/target/")
    assert (first.http, first.body) == (second.http, second.body)
    assert first.headers == second.headers
    assert first.all("authorization") == [f"Bearer {TOKEN}"]
    assert {heard.path for heard in rest} == {"/target/"}


@pytest.mark.parametrize(
    ("status", "place", "words"),
    [
        pytest.param(301, "/target/", "301", id="301"),
        pytest.param(302, "/target/", "302", id="302"),
        pytest.param(303, "/target/", "303", id="303"),
        pytest.param(300, "/target/", "300", id="300"),
        pytest.param(307, "http://127.0.0.2:{port}/target/", "another origin", id="other host"),
        pytest.param(307, "http://127.0.0.1:1/target/", "another origin", id="other port"),
        pytest.param(308, "https://127.0.0.1:{port}/target/", "another origin", id="other scheme"),
        pytest.param(307, "ftp://127.0.0.1:{port}/target/", "redirects", id="no web at all"),
        pytest.param(307, "http://localhost:{port}/target/", "another origin", id="other name"),
        pytest.param(307, "mailto:me@example.test", "no URL", id="no host"),
        pytest.param(307, "http://[::1/target/", "no URL", id="no URL"),
        pytest.param(307, "http://127.0.0.1:99999/", "no URL", id="no port"),
        pytest.param(307, None, "without saying where", id="no Location"),
        pytest.param(307, "/elsewhere", "circle", id="endless"),
        pytest.param(307, "/mcp", "circle", id="to itself"),
    ],
)
@pytest.mark.parametrize("era", [SESSIONED, STATELESS])
async def test_any_other_redirect_is_an_error_that_names_its_cause(
    era: str, status: int, place: str | None, words: str
) -> None:
    backend = Scripted(era)

    async with scripted(backend):
        if place is None:
            backend.script["else"] = lambda _: http(status)
        else:
            redirecting(backend, status, place.format(port=backend.port))
        async with door(guarded(backend), environment={"TOKEN": TOKEN}) as gateway:
            reason, message = failure(gateway)

    assert reason == "Redirected"
    assert message is not None
    assert words in message
    assert TOKEN not in message
    assert "127.0.0" not in message


async def test_no_credential_goes_to_another_origin() -> None:
    backend, other = Scripted(), Scripted()

    async with scripted(backend, other):
        redirecting(backend, 307, f"http://127.0.0.1:{other.port}/target/")
        async with door(guarded(backend), environment={"TOKEN": TOKEN}):
            pass

    assert backend.heard.all
    assert other.heard.all == []


def test_https_is_not_left_for_http() -> None:
    with pytest.raises(ValueError, match="from https to http"):
        target(parse("https://a.example.test/mcp"), 307, "http://a.example.test/mcp/")


async def test_user_and_password_in_a_location_do_not_replace_the_credential() -> None:
    backend = Scripted()

    async with scripted(backend):
        redirecting(backend, 307, f"http://me:pw@127.0.0.1:{backend.port}/target/")
        async with door(guarded(backend), environment={"TOKEN": TOKEN}) as gateway:
            assert await gateway.tools() == ["a_echo"]

    assert {tuple(heard.all("authorization")) for heard in backend.heard.all} == {
        (f"Bearer {TOKEN}",)
    }


async def test_a_redirect_that_comes_later_is_followed_too_and_a_call_is_not_made_twice() -> None:
    backend = Scripted(STATELESS)

    async with scripted(backend), door(behind(backend)) as gateway:
        redirecting(backend, 307, "/target/")
        assert (await gateway.call("a_echo")).result

    served = [heard.path for heard in backend.asked("tools/call")]
    assert served == ["/mcp", "/target/"]


@pytest.mark.parametrize("path", ["/mcp", "/mcp/"])
@pytest.mark.parametrize("method", ["initialize", "server/discover"])
async def test_clients_are_served_with_and_without_a_slash(path: str, method: str) -> None:
    params: dict[str, Any] = {"_meta": META} if method == "server/discover" else {}
    params |= {"protocolVersion": "2025-11-25"} if method == "initialize" else {}

    async with door(behind()) as gateway:
        headers = {"mcp-protocol-version": "2026-07-28", "mcp-method": method}
        seen = await gateway.post(
            request(method, params), headers if "_meta" in params else {}, path=path
        )

    assert seen.status == 200
    assert seen.result


async def test_a_backend_that_is_opened_anew_is_sought_where_it_is_configured() -> None:
    backend = Scripted(STATELESS)

    async with scripted(backend):
        redirecting(backend, 307, "/target/")
        async with door(behind(backend)) as gateway:
            assert (await gateway.call("a_echo")).result
            # It moves back: the version is refused where it was, which has it opened anew.
            backend.script["else"] = lambda heard: (
                backend.behaves(heard) if heard.path == "/mcp" else error(heard, -32022, 400)
            )
            assert (await gateway.call("a_echo")).code == -32022

            assert (await gateway.call("a_echo")).result
