"""A small API server that behaves as the real one does in what we ask of it; the same tests hold both to it.

It keeps objects of any kind that is installed, their versions and their history, and tells watches of changes.
Tests make it forget history, refuse, fall silent and end its watches.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

from aiohttp import web

from vmcp.kube.resource import Resource

Object = dict[str, Any]
_REASONS = {
    400: "BadRequest",
    401: "Unauthorized",
    403: "Forbidden",
    404: "NotFound",
    409: "Conflict",
    410: "Expired",
    429: "TooManyRequests",
    500: "InternalError",
}


@dataclass(frozen=True)
class At:
    """Which objects a path means."""

    group: str
    version: str
    namespace: str
    plural: str
    name: str = ""
    below: str = ""

    @property
    def kind(self) -> tuple[str, str, str]:
        return (self.group, self.namespace, self.plural)


@dataclass(frozen=True)
class Change:
    """One entry of the history."""

    number: int
    type: str
    kind: tuple[str, str, str]
    found: Object


@dataclass
class FakeApi:
    """The server with its handles."""

    served: set[tuple[str, str, str]] = field(default_factory=set)
    tokens: set[str] = field(default_factory=lambda: {"good"})
    denied: set[str] = field(default_factory=set)
    only_by_name: set[str] = field(default_factory=set)
    number: int = 1
    forgotten: int = 0
    is_silent: bool = False
    failing: int = 0
    # How long lists of a kind take, by its plural.
    list_seconds: dict[str, float] = field(default_factory=dict)
    # What the server says of the schemas of its kinds, by path.
    described: dict[str, Object] = field(default_factory=dict)
    asked: list[tuple[str, str]] = field(default_factory=list)
    url: str = ""

    def __post_init__(self) -> None:
        self._objects: dict[tuple[str, str, str], dict[str, Object]] = {}
        self._history: list[Change] = []
        self._moved = asyncio.Condition()
        self._cuts = 0
        self._snaps = 0

    def install(self, resource: Resource, *versions: str) -> None:
        """Serve a kind in these versions, or in all that it has."""
        for version in versions or resource.versions:
            self.served.add((resource.group, version, resource.plural))

    async def put(self, resource: Resource, namespace: str, found: Object) -> Object:
        """Make an object, or change it."""
        at = At(resource.group, resource.versions[0], namespace, resource.plural)
        return await self._put(at, found["metadata"]["name"], found)

    async def delete(self, resource: Resource, namespace: str, name: str) -> None:
        """Remove an object."""
        at = At(resource.group, resource.versions[0], namespace, resource.plural)
        await self._delete(at, name)

    def found(self, resource: Resource, namespace: str, name: str) -> Object:
        """Return an object as it is now."""
        return deepcopy(self._objects[(resource.group, namespace, resource.plural)][name])

    async def forget(self) -> None:
        """Make every version older than now unknown."""
        self.number += 1
        self.forgotten = self.number
        await self._wake()

    async def cut(self) -> None:
        """End all watches in good order."""
        self._cuts += 1
        await self._wake()

    async def snap(self) -> None:
        """Cut all watches off in the middle, as what stands between may."""
        self._snaps += 1
        await self._wake()

    async def _put(self, at: At, name: str, found: Object) -> Object:
        objects = self._objects.setdefault(at.kind, {})
        before = objects.get(name)
        self.number += 1
        metadata = {
            "uid": uuid4().hex,
            **(before["metadata"] if before else {}),
            **found.get("metadata", {}),
            "namespace": at.namespace,
            "resourceVersion": str(self.number),
        }
        objects[name] = made = {**deepcopy(found), "metadata": metadata}
        await self._tell("MODIFIED" if before else "ADDED", at, made)
        return made

    async def _delete(self, at: At, name: str) -> Object:
        gone = self._objects.get(at.kind, {}).pop(name)
        self.number += 1
        last = {**gone, "metadata": {**gone["metadata"], "resourceVersion": str(self.number)}}
        await self._tell("DELETED", at, last)
        return gone

    async def _tell(self, type_: str, at: At, found: Object) -> None:
        self._history.append(Change(self.number, type_, at.kind, found))
        await self._wake()

    async def _wake(self) -> None:
        async with self._moved:
            self._moved.notify_all()

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Answer one request."""
        if request.path.startswith("/openapi/"):
            found = self.described.get(request.path)
            return _fault(404) if found is None else web.json_response(found)
        at = _at(request.path)
        self.asked.append((request.method, at.plural))
        if self.is_silent:
            await asyncio.get_running_loop().create_future()
        refusal = self._refusal(request, at)
        if refusal is not None:
            return refusal
        if request.method == "GET":
            return await self._read(request, at)
        return await self._write(request, at)

    def _refusal(self, request: web.Request, at: At) -> web.Response | None:
        if self.failing:
            return _fault(self.failing)
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        if scheme != "Bearer" or token not in self.tokens:
            return _fault(401)
        # Whoever may not, is not told whether it is there.
        unnamed = not at.name and "fieldSelector" not in request.query
        if at.plural in self.denied or (unnamed and at.plural in self.only_by_name):
            return _fault(403)
        if (at.group, at.version, at.plural) not in self.served:
            return _fault(404)
        return None

    async def _read(self, request: web.Request, at: At) -> web.StreamResponse:
        objects = self._objects.get(at.kind, {})
        if at.name:
            return web.json_response(objects[at.name]) if at.name in objects else _fault(404)
        only = request.query.get("fieldSelector", "").removeprefix("metadata.name=")
        if request.query.get("watch") == "1":
            return await self._watch(request, at, only)
        await asyncio.sleep(self.list_seconds.get(at.plural, 0.0))
        found = [objects[name] for name in sorted(objects) if not only or name == only]
        return self._page(request, found)

    def _page(self, request: web.Request, found: list[Object]) -> web.Response:
        number, begin = self.number, 0
        if "continue" in request.query:
            number, begin = map(int, request.query["continue"].split("."))
            if number < self.forgotten:
                return _fault(410)
        end = begin + int(request.query.get("limit", len(found) or 1))
        metadata = {"resourceVersion": str(number)}
        if end < len(found):
            metadata["continue"] = f"{number}.{end}"
        return web.json_response({"metadata": metadata, "items": found[begin:end]})

    async def _watch(self, request: web.Request, at: At, only: str) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        await response.prepare(request)
        since, cuts = int(request.query["resourceVersion"]), self._cuts
        snaps = self._snaps
        if since < self.forgotten:
            await _say(response, "ERROR", _status(410))
            return response
        with_bookmarks = request.query.get("allowWatchBookmarks") == "true"
        while (self._cuts, self._snaps) == (cuts, snaps):
            for change in self._after(since, at, only):
                since = change.number
                await _say(response, change.type, _told(change, at))
            async with self._moved:
                is_over = (self._cuts, self._snaps) != (cuts, snaps)
                if not self._after(since, at, only) and not is_over:
                    await self._moved.wait()
        if self._snaps != snaps and request.transport is not None:
            request.transport.abort()
            return response
        # A bookmark never passes over what was not told.
        number, rest = self.number, self._after(since, at, only)
        for change in rest:
            await _say(response, change.type, _told(change, at))
        if with_bookmarks:
            mark = {"metadata": {"resourceVersion": str(number)}}
            await _say(response, "BOOKMARK", mark)
        return response

    def _after(self, since: int, at: At, only: str) -> list[Change]:
        return [
            change
            for change in self._history
            if change.number > since
            and change.kind == at.kind
            and (not only or change.found["metadata"]["name"] == only)
        ]

    async def _write(self, request: web.Request, at: At) -> web.Response:
        body = await request.json()
        objects = self._objects.get(at.kind, {})
        name = at.name or body["metadata"]["name"]
        before = objects.get(name)
        if request.method == "POST":
            if before is not None:
                return _fault(409)
            return web.json_response(await self._put(at, name, body), status=201)
        if before is None:
            return _fault(404)
        if request.method == "DELETE":
            return web.json_response(await self._delete(at, name))
        if request.method == "PATCH":
            # Applying a status touches nothing else.
            body = {**before, "status": {**before.get("status", {}), **body["status"]}}
        stale = body["metadata"].get("resourceVersion", before["metadata"]["resourceVersion"])
        if stale != before["metadata"]["resourceVersion"]:
            return _fault(409)
        return web.json_response(await self._put(at, name, body))


def _at(path: str) -> At:
    parts = path.strip("/").split("/")
    group, version, rest = (
        ("", parts[1], parts[2:]) if parts[0] == "api" else (parts[1], parts[2], parts[3:])
    )
    _, namespace, plural, *below = rest
    return At(group, version, namespace, plural, *below)


def _told(change: Change, at: At) -> Object:
    api_version = f"{at.group}/{at.version}" if at.group else at.version
    return {**change.found, "apiVersion": api_version}


def _status(code: int) -> Object:
    reason = _REASONS.get(code, "Unknown")
    return {"kind": "Status", "code": code, "reason": reason, "message": f"it is {reason}"}


def _fault(code: int) -> web.Response:
    return web.json_response(_status(code), status=code)


async def _say(response: web.StreamResponse, type_: str, found: Object) -> None:
    line = json.dumps({"type": type_, "object": found})
    await response.write(f"{line}\n".encode())


@asynccontextmanager
async def fake_api() -> AsyncIterator[FakeApi]:
    """Serve a fake on 127.0.0.1 for the block."""
    api = FakeApi()
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", api.handle)
    runner = web.AppRunner(app, shutdown_timeout=0.1, handler_cancellation=True)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    host, port = runner.addresses[0]
    api.url = f"http://{host}:{port}"
    try:
        yield api
    finally:
        await runner.cleanup()


def kubeconfig(path: Path, url: str, user: Object) -> Path:
    """Write a kubeconfig for somebody at a server."""
    text = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "c", "cluster": {"server": url}}],
        "users": [{"name": "u", "user": user}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u", "namespace": "apps"}}],
        "current-context": "x",
    }
    path.write_text(json.dumps(text))
    return path
