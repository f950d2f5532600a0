"""What tells backends apart without telling of their secrets."""

from __future__ import annotations

from dataclasses import replace

import pytest

from vmcp.model.auth import BearerToken, HeaderInjection
from vmcp.model.backend import Backend, HttpEndpoint
from vmcp.model.fingerprint import fingerprint
from vmcp.model.guard import Guard
from vmcp.model.keys import ObjectKey
from vmcp.model.secret import Secret

ENDPOINT = HttpEndpoint("https://a.example/mcp")
BACKEND = Backend(
    ObjectKey("MCPServerEntry", "a", "n"),
    "a",
    ENDPOINT,
    30.0,
    BearerToken(Secret("one")),
    (("X-A", Secret("one")),),
)


@pytest.mark.parametrize(
    "other",
    [
        replace(BACKEND, endpoint=replace(ENDPOINT, url="https://b.example/mcp")),
        replace(BACKEND, endpoint=replace(ENDPOINT, ca_bundle="PEM")),
        replace(BACKEND, endpoint=replace(ENDPOINT, transport="sse")),
        replace(BACKEND, auth=HeaderInjection("X-B", Secret("one"))),
        replace(BACKEND, headers=(("X-B", Secret("one")),)),
        replace(BACKEND, timeout_seconds=5.0),
        replace(BACKEND, passthrough=("x-c",)),
    ],
)
def test_what_differs_has_another_fingerprint(other: Backend) -> None:
    assert fingerprint(other) != fingerprint(BACKEND)


@pytest.mark.parametrize(
    "other",
    [
        replace(BACKEND, auth=BearerToken(Secret("two"))),
        replace(BACKEND, headers=(("X-A", Secret("two")),)),
        replace(
            BACKEND,
            endpoint=replace(ENDPOINT, guard=Guard(allow_private=True, allow_loopback=True)),
        ),
    ],
)
def test_secrets_and_what_is_the_process_s_own_do_not_count(other: Backend) -> None:
    assert fingerprint(other) == fingerprint(BACKEND)
