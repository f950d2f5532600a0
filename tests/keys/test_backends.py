"""Each key of `backends` and `outgoingAuth` changes something that backends or clients see."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.edge_cases.front import Door, behind, door
from tests.net.certificates import authority, identity
from tests.support.scripted import SESSIONED, Json, Scripted, scripted
from tests.support.stdio_servers.harness import SERVER
from vmcp.gateway.status import status

ENVIRONMENT = {"VALUE": "of-the-variable"}
FILED = "of-the-file"


def one(backend: Scripted, **more: Any) -> Json:
    """Return a config with one backend and more keys of it."""
    return {"backends": [{"name": "a", "url": backend.url, **more}]}


async def told(gateway: Door, name: str) -> Json:
    """Return what a tool of the fake child says, which is JSON."""
    content = (await gateway.call(name)).result["content"]
    found: Json = json.loads(content[0]["text"])
    return found


@pytest.mark.config_key("backends[].name")
async def test_a_backend_gives_its_name_to_its_tools() -> None:
    backend = Scripted()
    async with scripted(backend):
        settings = one(backend, name="other")
        async with door(settings) as gateway:
            assert await gateway.tools() == ["other_echo"]


@pytest.mark.config_key("backends[].url")
async def test_a_backend_is_asked_where_its_url_says() -> None:
    backend = Scripted()
    async with scripted(backend):
        settings = one(backend, url=f"{backend.url}/deeper?part=1")
        async with door(settings) as gateway:
            assert await gateway.tools() == ["a_echo"]

    assert {heard.path for heard in backend.heard.all} == {"/mcp/deeper?part=1"}


@pytest.mark.config_key("backends[].transport")
@pytest.mark.parametrize(
    ("more", "first"), [({}, "POST"), ({"transport": "sse"}, "GET")], ids=["absent", "sse"]
)
async def test_the_older_transport_is_spoken_where_it_is_named(more: Json, first: str) -> None:
    backend = Scripted()
    async with scripted(backend), door(one(backend, **more)) as gateway:
        assert (await backend.heard.first(lambda _: True)).http == first
        (shown,) = json.loads(status(gateway.gateway))["backends"]
        assert shown["transport"] == more.get("transport", "streamable-http")


@pytest.mark.config_key("backends[].stdio.command", "backends[].stdio.args[]")
@pytest.mark.parametrize("era", ["sessioned", "stateless"])
async def test_a_command_is_run_with_its_arguments(era: str) -> None:
    stdio = {"command": sys.executable, "args": ["-S", SERVER, "--era", era]}

    async with door({"backends": [{"name": "a", "stdio": stdio}]}) as gateway:
        (shown,) = json.loads(status(gateway.gateway))["backends"]

    assert (shown["transport"], shown["era"]) == ("stdio", era)


@pytest.mark.config_key(
    "backends[].stdio.env.*",
    "backends[].stdio.env.*.valueEnv",
    "backends[].stdio.env.*.valueFile",
    "backends[].stdio.cwd",
)
async def test_a_command_has_its_variables_and_runs_in_its_folder(tmp_path: Path) -> None:
    (tmp_path / "value").write_text(FILED)
    stdio = {
        "command": sys.executable,
        "args": ["-S", SERVER],
        "env": {
            "PLAIN": "of-the-config",
            "FROM_ENV": {"valueEnv": "VALUE"},
            "FROM_FILE": {"valueFile": str(tmp_path / "value")},
        },
        "cwd": str(tmp_path),
    }
    settings = {"backends": [{"name": "a", "stdio": stdio}]}

    async with door(settings, environment=ENVIRONMENT) as gateway:
        about = await told(gateway, "a_about")

    assert about["cwd"] == str(tmp_path)
    env = about["env"]
    assert (env["PLAIN"], env["FROM_ENV"]) == ("of-the-config", "of-the-variable")
    assert env["FROM_FILE"] == FILED


@pytest.mark.config_key("backends[].caBundle", "backends[].caBundlePath")
@pytest.mark.parametrize("key", ["caBundle", "caBundlePath", None])
async def test_an_authority_is_trusted_where_it_is_given(key: str | None, tmp_path: Path) -> None:
    backend, root = Scripted(), authority("of-keys")
    (tmp_path / "ca.pem").write_text(root.pem)
    bundles = {"caBundle": root.pem, "caBundlePath": str(tmp_path / "ca.pem")}
    given = {key: bundles[key]} if key else {}

    async with backend.serving(tls=identity("127.0.0.1", signer=root).server()):
        url = backend.url.replace("http:", "https:")
        async with door(one(backend, url=url, **given)) as gateway:
            assert await gateway.tools() == (["a_echo"] if key else [])


@pytest.mark.config_key("backends[].clientCert.certFile", "backends[].clientCert.keyFile")
@pytest.mark.parametrize("is_given", [True, False])
async def test_a_certificate_is_shown_to_a_backend_that_asks(
    tmp_path: Path, *, is_given: bool
) -> None:
    backend, root = Scripted(), authority("of-keys")
    mine = identity("gateway", signer=root)
    (tmp_path / "crt").write_text(mine.pem)
    (tmp_path / "key").write_text(mine.key_pem)
    shown = {"certFile": str(tmp_path / "crt"), "keyFile": str(tmp_path / "key")}
    more = {"clientCert": shown} if is_given else {}

    async with backend.serving(tls=identity("127.0.0.1", signer=root).server(root.pem)):
        url = backend.url.replace("http:", "https:")
        async with door(one(backend, url=url, caBundle=root.pem, **more)) as gateway:
            assert await gateway.tools() == (["a_echo"] if is_given else [])


@pytest.mark.config_key("backends[].sessionScope")
@pytest.mark.parametrize(
    ("more", "sessions"),
    [({}, 3), ({"sessionScope": "shared"}, 1)],
    ids=["absent", "shared"],
)
async def test_clients_without_a_session_share_one_of_the_backend(
    more: Json, sessions: int
) -> None:
    backend = Scripted(SESSIONED)
    async with scripted(backend), door(one(backend, **more)) as gateway:
        before = len(backend.asked("initialize"))
        for _ in range(3):
            await gateway.call("a_echo")

        opened = len(backend.asked("initialize")) - before

    assert opened == sessions


@pytest.mark.config_key("backends[].metadata.*")
async def test_metadata_is_shown_in_the_status() -> None:
    backend = Scripted()
    async with scripted(backend), door(one(backend, metadata={"team": "tools"})) as gateway:
        (shown,) = json.loads(status(gateway.gateway))["backends"]

    assert shown["metadata"] == {"team": "tools"}


HEADER = "X-Wanted"
FILE = "{folder}/value"
FORWARDED = [
    ({"addPlaintextHeaders": {HEADER: "of-the-config"}}, "of-the-config"),
    ({"addHeadersFromSecret": [{"headerName": HEADER, "valueEnv": "VALUE"}]}, "of-the-variable"),
    ({"addHeadersFromSecret": [{"headerName": HEADER, "valueFile": FILE}]}, FILED),
]
INJECTED = [
    ({"headerValue": "of-the-config"}, "of-the-config"),
    ({"headerValueEnv": "VALUE"}, "of-the-variable"),
    ({"headerValueFile": FILE}, FILED),
]
BEARERS = [({"tokenEnv": "VALUE"}, "of-the-variable"), ({"tokenFile": FILE}, FILED)]


def filled(settings: Json, folder: Path) -> Json:
    """Put the folder of the test into a config."""
    (folder / "value").write_text(FILED)
    found: Json = json.loads(json.dumps(settings).replace("{folder}", str(folder)))
    return found


async def sent(backend: Scripted, settings: Json, name: str) -> set[tuple[str, ...]]:
    """Run a gateway and return the values of a header over all requests to the backend."""
    async with door(settings, environment=ENVIRONMENT) as gateway:
        await gateway.call("a_echo")
    return {tuple(heard.all(name)) for heard in backend.heard.all}


@pytest.mark.config_key(
    "backends[].headerForward.addPlaintextHeaders.*",
    "backends[].headerForward.addHeadersFromSecret[].headerName",
    "backends[].headerForward.addHeadersFromSecret[].valueEnv",
    "backends[].headerForward.addHeadersFromSecret[].valueFile",
)
@pytest.mark.parametrize(("forward", "value"), FORWARDED)
async def test_a_header_that_is_configured_is_sent(
    forward: Json, value: str, tmp_path: Path
) -> None:
    backend = Scripted()
    async with scripted(backend):
        settings = filled(one(backend, headerForward=forward), tmp_path)
        assert await sent(backend, settings, HEADER) == {(value,)}


@pytest.mark.config_key(
    "outgoingAuth.default.type",
    "outgoingAuth.default.headerInjection.headerName",
    "outgoingAuth.default.headerInjection.headerValue",
    "outgoingAuth.default.headerInjection.headerValueEnv",
    "outgoingAuth.default.headerInjection.headerValueFile",
    "outgoingAuth.backends.*.type",
    "outgoingAuth.backends.*.headerInjection.headerName",
    "outgoingAuth.backends.*.headerInjection.headerValue",
    "outgoingAuth.backends.*.headerInjection.headerValueEnv",
    "outgoingAuth.backends.*.headerInjection.headerValueFile",
)
@pytest.mark.parametrize(("injected", "value"), INJECTED)
@pytest.mark.parametrize("place", ["default", "backends"])
async def test_a_header_is_injected_where_a_strategy_says_so(
    place: str, injected: Json, value: str, tmp_path: Path
) -> None:
    injection = {"headerName": HEADER, **injected}
    strategy = {"type": "header_injection", "headerInjection": injection}
    backend = Scripted()
    async with scripted(backend):
        auth = {place: {"a": strategy} if place == "backends" else strategy}
        settings = filled({**one(backend), "outgoingAuth": auth}, tmp_path)
        assert await sent(backend, settings, HEADER) == {(value,)}


@pytest.mark.config_key(
    "outgoingAuth.default.bearerToken.tokenEnv",
    "outgoingAuth.default.bearerToken.tokenFile",
    "outgoingAuth.backends.*.bearerToken.tokenEnv",
    "outgoingAuth.backends.*.bearerToken.tokenFile",
)
@pytest.mark.parametrize(("bearer", "value"), BEARERS)
@pytest.mark.parametrize("place", ["default", "backends"])
async def test_a_token_is_sent_where_a_strategy_says_so(
    place: str, bearer: Json, value: str, tmp_path: Path
) -> None:
    strategy = {"type": "bearer_token", "bearerToken": bearer}
    backend = Scripted()
    async with scripted(backend):
        auth = {place: {"a": strategy} if place == "backends" else strategy}
        settings = filled({**one(backend), "outgoingAuth": auth}, tmp_path)
        assert await sent(backend, settings, "authorization") == {(f"Bearer {value}",)}


@pytest.mark.config_key("outgoingAuth.backends.*.type", "outgoingAuth.default.type")
async def test_a_backend_may_have_no_credential_where_the_others_have_one() -> None:
    bearer = {"type": "bearer_token", "bearerToken": {"tokenEnv": "VALUE"}}
    auth = {"default": bearer, "backends": {"b": {"type": "unauthenticated"}}}
    a, b = Scripted(), Scripted()
    async with scripted(a, b):
        settings = behind(a, b, outgoingAuth=auth)
        assert await sent(a, settings, "authorization") == {("Bearer of-the-variable",)}

    assert {tuple(heard.all("authorization")) for heard in b.heard.all} == {()}


@pytest.mark.config_key("passthroughHeaders[]")
async def test_a_header_of_the_client_is_copied_where_it_is_listed() -> None:
    backend = Scripted()
    async with (
        scripted(backend),
        door({**one(backend), "passthroughHeaders": ["X-Tenant"]}) as gateway,
    ):
        await gateway.call("a_echo", X_Tenant="blue", X_Other="1")

    (called,) = backend.asked("tools/call")
    assert (called.all("x-tenant"), called.all("x-other")) == (["blue"], [])
