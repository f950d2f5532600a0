"""What a login gives: who we are to the API server, and a way to it; the shapes that its parts share."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Any, Protocol

from vmcp.model.secret import Secret


@dataclass(frozen=True, slots=True)
class Request:
    """One request; a body is written as JSON, and `content_type` says what kind of."""

    method: str
    path: str
    query: Mapping[str, str]
    body: Mapping[str, Any] | None
    content_type: str


class Answer(Protocol):
    """The head of an answer, and its body as it comes."""

    @property
    def status(self) -> int:
        """The status of HTTP."""
        ...

    @property
    def retry_seconds(self) -> float:
        """How long the server asks us to stay away."""
        ...

    def chunks(self) -> AsyncGenerator[bytes, None]:
        """Yield the body; raise Unreachable where it breaks off."""
        ...


class Session(Protocol):
    """Connections to one server under one set of certificates."""

    def request(
        self, request: Request, authorization: Secret | None
    ) -> AbstractAsyncContextManager[Answer]:
        """Send it and give its answer for the block; raise Unreachable where none comes."""
        ...

    async def close(self) -> None:
        """End all its connections."""
        ...


@dataclass(frozen=True, slots=True)
class Access:
    """Who we are, and how the server is reached; where `fingerprint` differs, connections are made anew."""

    fingerprint: str
    authorization: Secret | None
    namespace: str | None
    good_seconds: float | None
    open: Callable[[], Session] = field(repr=False, compare=False)


class Login(Protocol):
    """A way to be somebody at an API server."""

    async def renew(self) -> Access:
        """Read anew what there is to read, or raise CannotLogIn."""
        ...
