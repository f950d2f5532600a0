"""Lead each call to its backend and bring the answer back, or answer it from the catalog."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial

from vmcp.catalog.entries import Entry
from vmcp.catalog.lookup import Catalog
from vmcp.gateway import lists
from vmcp.gateway.bridge import crossed
from vmcp.gateway.legs import noted
from vmcp.gateway.links import Links
from vmcp.gateway.meter import CANCELLED, ERROR, FAILED, OK
from vmcp.gateway.parked import ParkedCalls, RunningCall
from vmcp.gateway.pool import Member, Pool
from vmcp.gateway.ports import Reply
from vmcp.gateway.questions import Questions, answered
from vmcp.gateway.seal import Seal
from vmcp.gateway.taskcalls import TaskCalls
from vmcp.gateway.tasks import Tasks
from vmcp.gateway.taskstreams import TaskStreams
from vmcp.gateway.views import Views
from vmcp.model.document import Document
from vmcp.model.inventory import Era
from vmcp.model.keys import ObjectKey
from vmcp.protocol import headers
from vmcp.protocol.call import Ask, Call, Client, Done
from vmcp.protocol.document import MalformedJson, is_object, split, unquote
from vmcp.protocol.failures import BackendFailed, InvalidParams, UnknownMethod, UnknownName
from vmcp.protocol.jsonrpc import error_code
from vmcp.protocol.methods import INTERACTIVE, LISTS
from vmcp.protocol.tasks import METHODS as TASK_METHODS
from vmcp.protocol.tasks import RESULT as TASK_RESULT

_MOST_CALLS = 256
# The result of a task is awaited as long as the task takes.
_TASK_SECONDS = 3600.0
# A backend that asks more often for one call asks without end.
_MOST_ROUNDS = 16
_VISIT_FIRST = -32042
_NAME, _URI, _ARGUMENTS, _REF = b'"name"', b'"uri"', b'"arguments"', b'"ref"'
_STATE = b'"requestState"'
_ASKABLE = (b'"elicitation"', b'"sampling"', b'"roots"')


class Dispatch:
    """Answer calls; it knows names and backends, not sessions and streams."""

    def __init__(
        self, views: Views, pool: Pool, seal: Seal, parked: ParkedCalls, tasks: Tasks
    ) -> None:
        self._views = views
        self._pool = pool
        self._parked = parked
        self._questions = Questions(seal, parked)
        self._links = Links()
        self._tasks = TaskCalls(tasks, self._carry, views.era_of)
        self.task_streams = TaskStreams(tasks, pool)
        self._routes: Mapping[str, Callable[[Call, Reply, Catalog], Awaitable[Done]]] = {
            "tools/call": self._tool,
            "prompts/get": self._prompt,
            "resources/read": self._resource,
            "completion/complete": self._completion,
            **dict.fromkeys(LISTS, self._list),
            **dict.fromkeys(frozenset().union(*TASK_METHODS.values()), self._tasks.answer),
        }

    async def call(self, call: Call, reply: Reply) -> Done:
        """Return the end of a call, in the client's era; raise a Failure, or CallCancelled."""
        catalog = self._views.catalog_of(call.client)
        route = self._routes.get(call.method, self._unknown)
        return await route(call, reply, catalog)

    async def _list(self, call: Call, _reply: Reply, catalog: Catalog) -> Done:
        self._pool.health.require(catalog.backends)
        return Done(lists.page(catalog, call.method, call.params, call.client.era))

    async def _tool(self, call: Call, reply: Reply, catalog: Catalog) -> Done:
        entry = catalog.tool(name_of(call.params, _NAME))
        if entry is None:
            raise UnknownName(f"Unknown tool: {name_of(call.params, _NAME)}")
        call = _for_headers(call, entry)
        done = await self._forward(call, _NAME, entry, reply)
        if not done.is_error:
            if not catalog.has_only_reader:
                self._links.learn(_holder(call.client), entry.backend, done.payload)
            return await self._tasks.made(call, entry.backend, done, reply)
        return done

    async def _prompt(self, call: Call, reply: Reply, catalog: Catalog) -> Done:
        entry = catalog.prompt(name_of(call.params, _NAME))
        if entry is None:
            raise UnknownName(f"Unknown prompt: {name_of(call.params, _NAME)}")
        return await self._forward(call, _NAME, entry, reply)

    async def _resource(self, call: Call, reply: Reply, _catalog: Catalog) -> Done:
        key = self.owner(call.client, name_of(call.params, _URI))
        return await self._carry(call, key, reply)

    def owner(self, client: Client, uri: str) -> ObjectKey:
        """Return the backend that serves a URI to a client; raise UnknownName."""
        entry = self._views.catalog_of(client).resource(uri)
        key = entry.backend if entry is not None else self._links.giver(_holder(client), uri)
        if key is None:
            raise UnknownName("Resource not found", {"uri": uri})
        return key

    async def _completion(self, call: Call, reply: Reply, catalog: Catalog) -> Done:
        ref = _object(call.params, _REF)
        if ref.get(b'"type"') == b'"ref/prompt"':
            entry = catalog.prompt(name_of(ref, _NAME))
            if entry is not None and entry.renamed:
                renamed = ref.with_member(_NAME, entry.own_json)
                call.params = call.params.with_member(_REF, renamed.join())
        else:
            uri = name_of(ref, _URI)
            entry = catalog.template(uri) or catalog.resource(uri)
        if entry is None:
            raise UnknownName(
                "The prompt or resource template that the reference names is unknown."
            )
        return await self._carry(call, entry.backend, reply)

    async def _unknown(self, call: Call, reply: Reply, catalog: Catalog) -> Done:
        """Pass a method that we do not know to the only backend there is."""
        if len(catalog.backends) != 1:
            raise UnknownMethod(f"Method not found: {call.method}")
        return await self._carry(call, catalog.backends[0], reply)

    async def _forward(self, call: Call, member: bytes, entry: Entry, reply: Reply) -> Done:
        if entry.renamed:
            call.params = call.params.with_member(member, entry.own_json)
        return await self._carry(call, entry.backend, reply)

    async def _carry(self, call: Call, key: ObjectKey, reply: Reply) -> Done:
        member = self._pool.members.get(key)
        if member is None:
            raise BackendFailed(key.name, "Unreachable", "it was removed.")
        # What goes on was begun before, and a person may have answered: only what is new can be refused.
        carry = self._bounded if _goes_on(call) else self._admitted
        resumed = self._questions.resumed(call, key)
        if resumed is not None:
            running: RunningCall | None = resumed.call
            end = resumed.asked or await resumed.call.turn(reply)
        elif self._views.era_of(key) is Era.SESSIONED and _may_be_parked(call):
            running = self._parked.start(call, member, partial(carry, member, call))
            end = await running.turn(reply)
        else:
            running = None
            end = await carry(member, call, reply)
        if isinstance(end, Ask):
            return self._questions.put(end, call, key, running)
        # Read only now: the call itself may have shown that the backend's era is another one.
        era = self._views.era_of(key)
        if era is None or era is call.client.era:
            return end
        return self._crossed(end, call, key)

    async def _admitted(self, member: Member, call: Call, reply: Reply) -> Done | Ask:
        """Carry a new call, unless the backend is to be left alone."""
        # Where too many are under way it would be the turn of this one for nothing.
        if member.calls < _MOST_CALLS:
            try:
                member.vitals.admit()
            except BackendFailed as failure:
                member.meter.failed(failure.reason)
                raise
        return await self._bounded(member, call, reply)

    async def _bounded(self, member: Member, call: Call, reply: Reply) -> Done | Ask:
        if call.account is None:
            return await self._counted(member, reply, call)
        carry = partial(self._counted, member, reply)
        return await noted(call, call.account, member.client.backend, carry)

    async def _counted(self, member: Member, reply: Reply, call: Call) -> Done | Ask:
        backend, clock = member.client.backend, self._pool.clock
        if member.calls >= _MOST_CALLS:
            member.meter.failed("Overloaded")
            message = f"{_MOST_CALLS} calls are under way."
            raise BackendFailed(backend.name, "Overloaded", message, retryAfterSeconds=1)
        member.begin()
        began, outcome = clock.monotonic(), CANCELLED
        try:
            end = await _ended(member, call, reply)
            outcome = ERROR if isinstance(end, Done) and end.is_error else OK
        except BackendFailed as failure:
            outcome = FAILED
            member.meter.failed(failure.reason)
            member.vitals.call_failed(failure)
            raise
        else:
            return end
        finally:
            now = clock.monotonic()
            member.finish()
            member.meter.count(call.method, began, now, outcome)
            if outcome == CANCELLED:
                member.vitals.undecided()
            elif outcome != FAILED:
                member.vitals.answered(now)

    def _crossed(self, end: Done, call: Call, key: ObjectKey) -> Done:
        is_stateless_error = end.is_error and call.client.era is Era.STATELESS
        if is_stateless_error and error_code(end.payload) == _VISIT_FIRST:
            with suppress(MalformedJson):
                return self._questions.visit(end, call, key)
        return crossed(end, call.method, call.params, call.client.era)


def _may_be_parked(call: Call) -> bool:
    """Tell whether a sessioned backend may ask something that this stateless client would answer."""
    is_stateless = call.client.era is Era.STATELESS and call.method in INTERACTIVE
    return is_stateless and any(each in call.client.capabilities for each in _ASKABLE)


def _goes_on(call: Call) -> bool:
    """Tell whether a request brings answers for a call that began before."""
    is_round = call.method in INTERACTIVE and call.client.era is Era.STATELESS
    return is_round and call.params.get(_STATE) is not None


async def _ended(member: Member, call: Call, reply: Reply) -> Done | Ask:
    """Carry a call within its time; raise BackendFailed when that is over, or what ended it before."""
    backend = member.client.backend
    seconds = _TASK_SECONDS if call.method == TASK_RESULT else backend.timeout_seconds
    try:
        async with reply.deadline.start(seconds):
            end = await member.client.call(call, reply)
            if isinstance(end, Ask) and call.client.era is Era.SESSIONED:
                return await _answered(end, member, call, reply)
            return end
    except TimeoutError:
        if (why := reply.deadline.ended_by) is not None:
            raise why from None
        message = f"no answer within {seconds:g} s."
        raise BackendFailed(backend.name, "TimedOut", message) from None


async def _answered(ask: Ask, member: Member, call: Call, reply: Reply) -> Done:
    """Ask a sessioned client and call again with its answers, until the backend asks no more."""
    for _ in range(_MOST_ROUNDS):
        if (refused := await answered(ask, call, reply)) is not None:
            return refused
        end = await member.client.call(call, reply)
        if isinstance(end, Done):
            return end
        ask = end
    name = member.client.backend.name
    raise BackendFailed(name, "AsksWithoutEnd", f"it asked the client {_MOST_ROUNDS} times.")


def _holder(client: Client) -> object:
    return client if client.lasting else (client.caller, client.view)


def _for_headers(call: Call, entry: Entry) -> Call:
    """Check, or make, the headers that repeat arguments where the tool asks for them."""
    if not entry.param_headers:
        return call
    arguments = call.params.get(_ARGUMENTS)
    # Over stdio there are no headers, and none that could differ from the arguments.
    if call.client.era is Era.STATELESS and "mcp-method" in call.headers:
        headers.check_params(call.headers, arguments, entry.param_headers)
        return call
    made = headers.param_values(arguments, entry.param_headers)
    return replace(call, headers={**call.headers, **made})


def name_of(params: Document, member: bytes) -> str:
    """Return a member of params that must be a text; raise InvalidParams."""
    raw = params.get(member)
    try:
        if raw is not None:
            return unquote(raw)
    except MalformedJson:
        pass
    raise InvalidParams(f"The params need a member {member.decode()} that is a text.")


def _object(params: Document, member: bytes) -> Document:
    raw = params.get(member)
    if raw is None or not is_object(raw):
        raise InvalidParams(f"The params need a member {member.decode()} that is an object.")
    return split(raw)
