"""Requests go out under a login that is renewed when it must be, and what fails is told in words."""

from __future__ import annotations

import asyncio
import json
import logging
import ssl
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest

from tests.support.virtual_time import LoopClock, in_virtual_time
from vmcp.kube.access import Access, Request
from vmcp.kube.client import ApiServer
from vmcp.kube.errors import CannotLogIn, Refused, Unreachable
from vmcp.model.secret import Secret


@dataclass
class Reply:
    """An answer in parts; after the last one it may stay silent."""

    status: int
    parts: tuple[bytes, ...]
    stays_open: bool = False
    retry_seconds: float = 0.0

    async def chunks(self) -> AsyncGenerator[bytes, None]:
        for part in self.parts:
            yield part
        if self.stays_open:
            await asyncio.get_running_loop().create_future()


OK = Reply(200, (b'{"good":', b"true}"))


@dataclass
class Server:
    """A server that takes some tokens, and the login to it: both are turned by tests."""

    token: str = "first"
    takes: set[str] = field(default_factory=lambda: {"first"})
    fingerprint: str = "a"
    good_seconds: float | None = None
    reply: Reply = field(default_factory=lambda: OK)
    is_broken: bool = False
    # What its certificates are as files.
    is_garbled: bool = False
    is_untrusted: bool = False
    logins: int = 0
    opened: int = 0
    closed: int = 0

    async def renew(self) -> Access:
        self.logins += 1
        if self.is_broken:
            raise CannotLogIn("There is no file.")
        return Access(self.fingerprint, Secret(self.token), None, self.good_seconds, self.open)

    def open(self) -> Server:
        if self.is_garbled:
            raise ssl.SSLError(1, "no certificate")
        self.opened += 1
        return self

    async def close(self) -> None:
        self.closed += 1

    @asynccontextmanager
    async def request(
        self,
        request: Request,  # noqa: ARG002 - the shape is that of a session
        authorization: Secret | None,
    ) -> AsyncIterator[Reply]:
        if self.is_untrusted:
            raise Unreachable("its certificate is not trusted", is_untrusted=True)
        is_known = authorization is not None and authorization.reveal() in self.takes
        yield self.reply if is_known else Reply(401, (b"{}",))


def client(server: Server) -> ApiServer:
    return ApiServer(server, LoopClock())


@in_virtual_time
async def test_a_login_that_is_refused_is_renewed_once_and_the_request_repeated() -> None:
    server = Server()
    api = client(server)
    await api.get("/x", {})
    server.token, server.takes = "second", {"second"}
    await asyncio.sleep(10)

    assert await api.get("/x", {}) == {"good": True}
    assert server.logins == 2


@in_virtual_time
async def test_many_requests_that_are_refused_at_once_log_in_once() -> None:
    server = Server()
    api = client(server)
    await api.get("/x", {})
    server.token, server.takes = "second", {"second"}
    await asyncio.sleep(10)

    async with asyncio.TaskGroup() as group:
        for _ in range(20):
            group.create_task(api.get("/x", {}))

    assert server.logins == 2


@in_virtual_time
async def test_a_token_that_stays_bad_is_told_and_not_asked_for_without_end() -> None:
    server = Server(takes=set())
    api = client(server)
    for _ in range(10):
        with pytest.raises(Refused) as refused:
            await api.get("/x", {})

    assert refused.value.status == 401
    assert server.logins == 1


@in_virtual_time
async def test_a_login_is_renewed_before_its_time_is_over() -> None:
    server = Server(good_seconds=60.0)
    api = client(server)
    await api.get("/x", {})
    server.token, server.takes = "second", {"second"}
    await asyncio.sleep(61)

    await api.get("/x", {})

    assert server.logins == 2


@in_virtual_time
async def test_a_login_that_cannot_be_renewed_goes_on_as_it_was() -> None:
    server = Server(good_seconds=60.0)
    api = client(server)
    await api.get("/x", {})
    server.is_broken = True
    await asyncio.sleep(61)

    assert await api.get("/x", {}) == {"good": True}


@in_virtual_time
async def test_certificates_that_are_garbled_leave_the_connections_as_they_were() -> None:
    server = Server(good_seconds=60.0)
    api = client(server)
    await api.get("/x", {})
    server.fingerprint, server.is_garbled = "b", True
    await asyncio.sleep(61)

    assert await api.get("/x", {}) == {"good": True}

    server.is_garbled = False
    await asyncio.sleep(10)
    assert await api.get("/x", {}) == {"good": True}
    assert (server.opened, server.closed) == (2, 1)


@pytest.mark.parametrize("fault", ["is_broken", "is_garbled"])
@in_virtual_time
async def test_that_a_login_cannot_be_renewed_is_logged_once_and_so_is_its_end(
    caplog: pytest.LogCaptureFixture, fault: str
) -> None:
    server = Server(good_seconds=60.0)
    api = client(server)
    await api.get("/x", {})
    caplog.set_level(logging.INFO)

    server.fingerprint = "b"
    setattr(server, fault, True)
    for _ in range(20):
        await asyncio.sleep(61)
        await api.get("/x", {})
    setattr(server, fault, False)
    for _ in range(20):
        await asyncio.sleep(61)
        await api.get("/x", {})

    assert [each.message for each in caplog.records] == [
        "login at the API server could not be renewed",
        "login at the API server is renewed again",
    ]


@in_virtual_time
async def test_who_can_never_log_in_is_told_why() -> None:
    with pytest.raises(CannotLogIn, match="There is no file"):
        await client(Server(is_broken=True)).get("/x", {})


@in_virtual_time
async def test_connections_are_made_anew_where_certificates_have_changed() -> None:
    server = Server(good_seconds=60.0)
    api = client(server)
    await api.get("/x", {})
    await asyncio.sleep(61)
    await api.get("/x", {})
    assert (server.opened, server.closed) == (1, 0)
    server.fingerprint = "b"
    await asyncio.sleep(61)

    await api.get("/x", {})

    assert (server.opened, server.closed) == (2, 1)


@in_virtual_time
async def test_a_certificate_that_is_not_trusted_any_more_is_looked_up_anew() -> None:
    server = Server()
    api = client(server)
    await api.get("/x", {})
    server.is_untrusted = True
    await asyncio.sleep(10)
    with pytest.raises(Unreachable, match="not trusted"):
        await api.get("/x", {})

    assert server.logins == 2


@in_virtual_time
async def test_an_answer_that_does_not_come_is_waited_for_so_long() -> None:
    server = Server(reply=Reply(200, (b"{",), stays_open=True))
    with pytest.raises(Unreachable, match="silent for 30 s"):
        await client(server).get("/x", {})


@in_virtual_time
async def test_a_stream_that_falls_silent_has_ended() -> None:
    server = Server(reply=Reply(200, (b"one\ntw", b"o\n"), stays_open=True))
    begun = asyncio.get_running_loop().time()
    async with client(server).stream("/x", {}, silent_seconds=90.0) as lines:
        found = [line async for line in lines]

    assert found == [b"one", b"two"]
    assert asyncio.get_running_loop().time() - begun == 90.0


@in_virtual_time
async def test_a_refusal_tells_the_words_of_the_server() -> None:
    status = {"code": 403, "reason": "Forbidden", "message": "you may not list secrets"}
    server = Server(reply=Reply(403, (json.dumps(status).encode(),), retry_seconds=7.0))
    with pytest.raises(Refused, match="403 Forbidden: you may not list secrets") as refused:
        await client(server).get("/x", {})

    assert refused.value.retry_seconds == 7.0


@pytest.mark.parametrize("body", [b"", b"<html>", b"[1]", b'{"code":"x"}'])
def test_a_refusal_that_is_no_status_keeps_that_of_http(body: bytes) -> None:
    @in_virtual_time
    async def run() -> None:
        with pytest.raises(Refused) as refused:
            await client(Server(reply=Reply(502, (body,)))).get("/x", {})
        assert refused.value.status == 502

    run()


@in_virtual_time
async def test_what_is_no_json_is_no_answer() -> None:
    with pytest.raises(Unreachable, match="no JSON"):
        await client(Server(reply=Reply(200, (b"<html>",)))).get("/x", {})
