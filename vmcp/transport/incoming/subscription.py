"""One `subscriptions/listen` of a stateless client: what it asked to hear, and nothing else."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

from vmcp.gateway.core import Gateway
from vmcp.gateway.outbox import Outbox
from vmcp.gateway.taskcalls import require
from vmcp.gateway.taskstreams import Wish
from vmcp.gateway.watchers import PROMPTS, RESOURCES, TOOLS, Seen
from vmcp.model.document import Document
from vmcp.model.identity import Caller
from vmcp.model.inventory import Era
from vmcp.model.view import View
from vmcp.protocol import jsonrpc
from vmcp.protocol.call import Call, Client
from vmcp.protocol.document import EMPTY, MalformedJson, quote, split, split_array, unquote
from vmcp.protocol.failures import Failure, InvalidParams
from vmcp.protocol.methods import (
    META_CAPABILITIES,
    META_CLIENT_INFO,
    META_SUBSCRIPTION,
    STATELESS_VERSION,
)
from vmcp.transport.incoming.answer import HttpAnswer
from vmcp.transport.incoming.keeper import Keeper
from vmcp.transport.incoming.request import HttpRequest

_FLAGS = {
    TOOLS: b'"toolsListChanged"',
    PROMPTS: b'"promptsListChanged"',
    RESOURCES: b'"resourcesListChanged"',
}
_CHANGED = {kind: b'"notifications/%b/list_changed"' % kind.encode() for kind in _FLAGS}
_ACKNOWLEDGED = b'"notifications/subscriptions/acknowledged"'
_UPDATED = b'"notifications/resources/updated"'
_TASK_TOLD = b'"notifications/tasks"'
_META, _RESOURCES, _TASKS = b'"_meta"', b'"resourceSubscriptions"', b'"taskIds"'
_MOST_AT_ONCE = 1000


class Subscription(HttpAnswer):
    """A stream of changes; it is a watcher while it is open."""

    __slots__ = (
        "_caller",
        "_changes",
        "_id",
        "_kinds",
        "_seen",
        "_tag",
        "_uris",
        "_wish",
        "outbox",
    )

    def __init__(
        self, request: HttpRequest, keeper: Keeper, message: jsonrpc.Request, caller: Caller
    ) -> None:
        super().__init__(request, keeper)
        wanted = _wanted(message.params)
        self._caller = caller
        self._id = message.id
        self._tag = Document(((META_SUBSCRIPTION, message.id),)).join()
        self._kinds = tuple(kind for kind, flag in _FLAGS.items() if wanted.get(flag) == b"true")
        self._uris = _texts(wanted, _RESOURCES)
        tasks = _texts(wanted, _TASKS)
        client = Client(Era.STATELESS, STATELESS_VERSION, caller=caller, view=request.view)
        self._wish = Wish(_call(message, client), tasks, self._told) if tasks else None
        self._seen: Seen = {}
        self._changes: Counter[str] = Counter()
        self.outbox = Outbox()

    @property
    def caller(self) -> Caller:
        """Whose catalog it sees."""
        return self._caller

    @property
    def view(self) -> View:
        """What it sees of it."""
        return self._request.view

    async def run(self, gateway: Gateway, now: Seen) -> None:
        """Acknowledge what is honoured, then tell of it until the client leaves or we end."""
        self._seen = dict(now)
        self._changes = gateway.watchers.changes
        gateway.watchers.add(self)
        try:
            joined = await self._join(gateway)
            if self._wish is None:
                await self._tell(self._honoured(joined, ()))
            else:
                async with gateway.dispatch.task_streams.following(self._wish) as followed:
                    await self._tell(self._honoured(joined, followed))
        finally:
            gateway.watchers.remove(self)
            await gateway.watchers.leave_all(self, self._uris)

    async def _tell(self, honoured: bytes) -> None:
        await self.event(self._message(_ACKNOWLEDGED, Document(((b'"notifications"', honoured),))))
        while (message := await self.outbox.get()) is not None:
            await self.event(message)
        if not self.has_left:
            result = b'{"resultType":"complete","_meta":' + self._tag + b"}"
            await self.finish(jsonrpc.response(self._id, result, is_error=False))

    async def _join(self, gateway: Gateway) -> tuple[str, ...]:
        """Subscribe to the resources, and return those for which a backend took it."""
        async with asyncio.TaskGroup() as tasks:
            works = {uri: tasks.create_task(self._joined(gateway, uri)) for uri in self._uris}
        return tuple(uri for uri, work in works.items() if work.result())

    async def _joined(self, gateway: Gateway, uri: str) -> bool:
        client = Client(Era.STATELESS, STATELESS_VERSION, caller=self._caller, view=self.view)
        try:
            await gateway.watchers.join(self, uri, gateway.reader(client, uri))
        except Failure as failure:
            gateway.failed("subscriptions/listen", failure, self._request.id)
            return False
        return True

    def _honoured(self, joined: tuple[str, ...], followed: tuple[str, ...]) -> bytes:
        members = [(_FLAGS[kind], b"true") for kind in self._kinds]
        for key, texts in ((_RESOURCES, joined), (_TASKS, followed)):
            if texts:
                members.append((key, b"[" + b",".join(map(quote, texts)) + b"]"))
        return Document(tuple(members)).join()

    def _message(self, method: bytes, params: Document) -> bytes:
        raw = params.get(_META)
        meta = Document(()) if raw is None else split(raw)
        tagged = meta.with_member(META_SUBSCRIPTION, self._id)
        return jsonrpc.notification(method, params.with_member(_META, tagged.join()).join())

    def changed(self, now: Mapping[str, bytes]) -> None:
        """Tell of the lists that the client asked about and that are others now."""
        for kind in self._kinds:
            if self._seen[kind] != now[kind]:
                self._seen[kind] = now[kind]
                if self.outbox.put(self._message(_CHANGED[kind], Document(()))):
                    self._changes[kind] += 1

    def updated(self, params: bytes) -> None:
        """Tell of an updated resource."""
        self.outbox.put(self._message(_UPDATED, split(params)))

    def _told(self, params: Document) -> None:
        """Tell of a task."""
        self.outbox.put(self._message(_TASK_TOLD, params))

    def lost(self) -> None:
        """End: its view is no more."""
        self.outbox.close()

    def left(self) -> None:
        """End with the client."""
        self.outbox.close()


def _wanted(params: Document) -> Document:
    try:
        return split(params.get(b'"notifications"') or b"")
    except MalformedJson:
        raise InvalidParams('The params need a member "notifications" that is an object.') from None


def _texts(wanted: Document, key: bytes) -> tuple[str, ...]:
    raw = wanted.get(key)
    if raw is None:
        return ()
    try:
        texts = tuple(dict.fromkeys(unquote(item) for item in split_array(raw)))
    except MalformedJson:
        raise InvalidParams(f"The {unquote(key)} must be an array of texts.") from None
    if len(texts) > _MOST_AT_ONCE:
        raise InvalidParams(f"At most {_MOST_AT_ONCE} {unquote(key)} can be listened to at once.")
    return texts


def _call(message: jsonrpc.Request, client: Client) -> Call:
    """Return the request as a call to the backends that made the tasks; raise CapabilityMissing."""
    raw = message.params.get(_META)
    meta = EMPTY if raw is None else split(raw)
    declared = meta.get(META_CAPABILITIES) or b"{}"
    require(Era.STATELESS, declared)
    told = replace(client, capabilities=declared, info=meta.get(META_CLIENT_INFO))
    return Call(told, message.method, message.params, meta)
