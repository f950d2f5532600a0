"""Lead what clients say of tasks to the backends that made them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import replace

from vmcp.catalog.lookup import Catalog
from vmcp.gateway.ports import Reply
from vmcp.gateway.tasks import Tasks
from vmcp.model.document import Document
from vmcp.model.inventory import Era, Peer
from vmcp.model.keys import ObjectKey
from vmcp.protocol import paging, tasks
from vmcp.protocol.call import Call, Done
from vmcp.protocol.document import MalformedJson, quote, split, split_array, unquote
from vmcp.protocol.failures import (
    INVALID_PARAMS,
    BackendFailed,
    CapabilityMissing,
    Failure,
    UnknownMethod,
    UnknownName,
)

Carry = Callable[[Call, ObjectKey, Reply], Awaitable[Done]]
EraOf = Callable[[ObjectKey], Era | None]

_ID, _META, _TASKS = b'"taskId"', b'"_meta"', b'"tasks"'
_CURSOR, _NEXT = b'"cursor"', b'"nextCursor"'
_LONGEST_ID = 1024
# Between a backend and its own cursor, in ours.
_MARK = "\n"


class TaskCalls:
    """Answer the task methods of both eras; `carry` brings a call to a backend."""

    def __init__(self, known: Tasks, carry: Carry, era_of: EraOf) -> None:
        self._known = known
        self._carry = carry
        self._era_of = era_of

    async def made(self, call: Call, key: ObjectKey, done: Done, reply: Reply) -> Done:
        """Take note of the task that a tool made instead of its result; raise BackendFailed.

        A task that its client cannot follow, or that has the id of another backend's task, is none.
        """
        if self._era_of(key) not in (None, call.client.era):
            if tasks.is_stray(done.payload):
                message = "it made a task, which a client of the other era cannot follow."
                raise BackendFailed(key.name, "InvalidAnswer", message)
            return done
        task = tasks.created(done.payload, call.client.era)
        if task is not None and len(task.id) > _LONGEST_ID:
            message = f"it gave a task an id of more than {_LONGEST_ID} characters."
            raise BackendFailed(key.name, "InvalidAnswer", message)
        if task is None or self._known.made(call.client, key, task):
            return done
        await self._cancel(call, key, task.id, reply)
        message = "another backend has a task with the id that it gave, so its own is cancelled."
        raise BackendFailed(key.name, "TaskIdTaken", message)

    async def _cancel(self, call: Call, key: ObjectKey, identity: str, reply: Reply) -> None:
        params = Document(((_ID, quote(identity)),))
        if (meta := call.params.get(_META)) is not None:
            params = params.with_member(_META, meta)
        kept = {k: v for k, v in call.headers.items() if not k.startswith("mcp-param-")}
        with suppress(Failure):
            await self._carry(
                replace(call, method="tasks/cancel", params=params, headers=kept), key, reply
            )

    async def answer(self, call: Call, reply: Reply, catalog: Catalog) -> Done:
        """Answer a task method; raise a Failure."""
        client = call.client
        if call.method not in tasks.METHODS[client.era]:
            raise UnknownMethod(f"Method not found: {call.method}")
        require(call.client.era, client.capabilities)
        if call.method == tasks.LIST:
            return await self._list(call, reply, catalog)
        identity = tasks.id_of(call.params)
        key = self._known.maker(client, identity)
        if key is None or self._era_of(key) not in (None, client.era):
            raise _unknown(catalog, client.era, call.method)
        done = await self._carry(call, key, reply)
        self._answered(call, identity, done)
        return done

    def _answered(self, call: Call, identity: str, done: Done) -> None:
        if call.method != "tasks/get":
            return
        if done.is_error:
            if _is_unknown(done):
                self._known.forget(call.client, identity)
        elif (told := tasks.read(done.payload, call.client.era)) is not None:
            self._known.told(call.client, told)

    async def _list(self, call: Call, reply: Reply, catalog: Catalog) -> Done:
        """Return a page of one backend's list; the next one may be another backend's.

        A backend that cannot tell is left out; what it would list is found again by its ids.
        """
        if not any(map(tasks.can_list, _of_era(catalog, call.client.era))):
            raise UnknownMethod(f"Method not found: {call.method}")
        start, mark, cursor = (paging.after(call.params) or "").partition(_MARK)
        held = {
            key: ids
            for key, ids in self._known.of(call.client).items()
            if str(key) >= start and key in catalog.peers and tasks.can_list(catalog.peers[key])
        }
        for at, (key, ids) in enumerate(held.items(), 1):
            inner = cursor if mark and str(key) == start else None
            page = await self._page(call, key, reply, inner)
            if page is not None:
                following = [str(other) for other in list(held)[at : at + 1]]
                return _listed(page, ids, key, *following)
        return Done(b'{"tasks":[]}')

    async def _page(
        self, call: Call, key: ObjectKey, reply: Reply, cursor: str | None
    ) -> Document | None:
        params = call.params.without(_CURSOR)
        if cursor is not None:
            params = params.with_member(_CURSOR, quote(cursor))
        try:
            done = await self._carry(replace(call, params=params), key, reply)
            page = None if done.is_error else split(done.payload)
        except (BackendFailed, MalformedJson):
            return None
        return None if page is None or (page.get(_TASKS) or b"")[:1] != b"[" else page


def require(era: Era, capabilities: bytes) -> None:
    """Raise CapabilityMissing where a stateless client did not declare the extension."""
    if era is Era.STATELESS and not tasks.is_declared(capabilities):
        raise CapabilityMissing(
            "Missing required client capability",
            {"requiredCapabilities": {"extensions": {tasks.EXTENSION_NAME: {}}}},
        )


def _of_era(catalog: Catalog, era: Era) -> list[Peer]:
    return [peer for peer in catalog.peers.values() if peer.era is era]


def _unknown(catalog: Catalog, era: Era, method: str) -> Failure:
    if any(map(tasks.is_offered, _of_era(catalog, era))):
        return UnknownName("Unknown task: it never was, has expired, or is another caller's.")
    return UnknownMethod(f"Method not found: {method}")


def _is_unknown(done: Done) -> bool:
    try:
        return split(done.payload).get(b'"code"') == b"%d" % INVALID_PARAMS
    except MalformedJson:
        return False


def _listed(
    page: Document, ids: frozenset[str], key: ObjectKey, following: str | None = None
) -> Done:
    """Return a backend's page with no tasks but those of the caller, and with our own cursor."""
    items = split_array(page.get(_TASKS) or b"[]")
    shown = b",".join([raw for raw in items if _is_among(raw, ids)])
    own = page.get(_NEXT)
    if own is not None and own[:1] == b'"':
        following = f"{key}{_MARK}{unquote(own)}"
    page = page.with_member(_TASKS, b"[" + shown + b"]").without(_NEXT)
    if following is not None:
        page = page.with_member(_NEXT, quote(paging.cursor(following)))
    return Done(page.join())


def _is_among(raw: bytes, ids: frozenset[str]) -> bool:
    task = tasks.read(raw, Era.SESSIONED)
    return task is not None and task.id in ids
