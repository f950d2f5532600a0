"""A login that leads to the fake API server without sockets, so that tests of it may turn the time."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from aiohttp import web

from tests.support.kube_api import FakeApi
from vmcp.kube.access import Access, Request
from vmcp.model.secret import Secret

Seen = Callable[[Request], None]


@dataclass(frozen=True)
class Asked:
    """As much of a request of aiohttp as the fake reads."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: Any

    async def json(self) -> Any:
        return json.loads(json.dumps(self.body))


@dataclass(frozen=True)
class Given:
    """An answer that is there as a whole."""

    status: int
    body: bytes
    retry_seconds: float = 0.0

    async def chunks(self) -> AsyncGenerator[bytes, None]:
        yield self.body


class DirectLogin:
    """Logs in at the fake; `seen` is shown each request before it is answered."""

    def __init__(self, api: FakeApi, seen: Seen) -> None:
        self._api = api
        self._seen = seen

    async def renew(self) -> Access:
        return Access("direct", Secret("Bearer good"), "apps", None, lambda: self)

    @asynccontextmanager
    async def request(self, request: Request, authorization: Secret | None) -> AsyncIterator[Given]:
        self._seen(request)
        headers = {"Authorization": authorization.reveal() if authorization else ""}
        asked = Asked(request.method, request.path, request.query, headers, request.body)
        answer = await self._api.handle(asked)  # type: ignore[arg-type]
        assert isinstance(answer, web.Response)
        assert isinstance(answer.body, bytes)
        yield Given(answer.status, answer.body)

    async def close(self) -> None:
        """There is nothing to close."""
