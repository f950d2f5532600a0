"""Lead each call to its backend and bring the answer back, or answer it from the catalog."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace

from vmcp.catalog.entries import Entry
from vmcp.catalog.lookup import Catalog
from vmcp.gateway import lists
from vmcp.gateway.bridge import crossed
from vmcp.gateway.links import Links
from vmcp.gateway.pool import Member, Pool
from vmcp.gateway.ports import Reply
from vmcp.gateway.seal import Seal, binding
from vmcp.gateway.views import Views
from vmcp.model.document import Document
from vmcp.model.inventory import Era
from vmcp.model.keys import ObjectKey
from vmcp.protocol import headers
from vmcp.protocol.call import Ask, Call, Client, Done, Retry
from vmcp.protocol.document import MalformedJson, is_object, split, unquote
from vmcp.protocol.failures import BackendFailed, InvalidParams, UnknownMethod, UnknownName
from vmcp.protocol.methods import INTERACTIVE, LISTS

_MOST_CALLS = 256
_NAME, _URI, _STATE, _ARGUMENTS, _REF = (
    b'"name"',
    b'"uri"',
    b'"requestState"',
    b'"arguments"',
    b'"ref"',
)


class CallCancelled(Exception):
    """The client has cancelled the call: it gets no answer."""


class Dispatch:
    """Answer calls; it knows names and backends, not sessions and streams."""

    def __init__(self, views: Views, pool: Pool, seal: Seal) -> None:
        self._views = views
        self._pool = pool
        self._seal = seal
        self._links = Links()
        self._routes: Mapping[str, Callable[[Call, Reply, Catalog], Awaitable[Done]]] = {
            "tools/call": self._tool,
            "prompts/get": self._prompt,
            "resources/read": self._resource,
            "completion/complete": self._completion,
            **dict.fromkeys(LISTS, self._list),
        }

    async def call(self, call: Call, reply: Reply) -> Done:
        """Return the end of a call, in the client's era; raise a Failure, or CallCancelled."""
        catalog = self._views.catalog_of(call.client.caller)
        route = self._routes.get(call.method, self._unknown)
        return await route(call, reply, catalog)

    async def _list(self, call: Call, _reply: Reply, catalog: Catalog) -> Done:
        return Done(lists.page(catalog, call.method, call.params, call.client.era))

    async def _tool(self, call: Call, reply: Reply, catalog: Catalog) -> Done:
        entry = catalog.tool(name_of(call.params, _NAME))
        if entry is None:
            raise UnknownName(f"Unknown tool: {name_of(call.params, _NAME)}")
        call = _for_headers(call, entry)
        done = await self._forward(call, _NAME, entry, reply)
        if not done.is_error:
            self._links.learn(_holder(call.client), entry.backend, done.payload)
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
        entry = self._views.catalog_of(client.caller).resource(uri)
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

    async def _unknown(self, call: Call, reply: Reply, _catalog: Catalog) -> Done:
        """Pass a method that we do not know to the only backend there is."""
        if len(self._pool.members) != 1:
            raise UnknownMethod(f"Method not found: {call.method}")
        return await self._carry(call, next(iter(self._pool.members)), reply)

    async def _forward(self, call: Call, member: bytes, entry: Entry, reply: Reply) -> Done:
        if entry.renamed:
            call.params = call.params.with_member(member, entry.own_json)
        return await self._carry(call, entry.backend, reply)

    async def _carry(self, call: Call, key: ObjectKey, reply: Reply) -> Done:
        member = self._pool.members.get(key)
        if member is None:
            raise BackendFailed(key.name, "Unreachable", "it was removed.")
        if call.params.get(_STATE) is not None and call.method in INTERACTIVE:
            self._unseal(call, key)
        end = await _bounded(member, call, reply)
        if isinstance(end, Ask):
            return self._asked(end, call, key, member)
        era = self._views.era_of(key)
        if era is not None and era is not call.client.era:
            return crossed(end, call.method, call.params, call.client.era)
        return end

    def _asked(self, ask: Ask, call: Call, key: ObjectKey, member: Member) -> Done:
        if (
            call.client.era is not Era.STATELESS
            or ask.result is None
            or not isinstance(ask.resume, Retry)
        ):
            raise BackendFailed(
                member.client.backend.name,
                "InteractionNotSupported",
                "it asks for what this client cannot give.",
            )
        result, state = ask.result, ask.resume.state
        if state is not None:
            result = result.with_member(_STATE, self._seal.close(state, _binding(call, key)))
        return Done(result.join())

    def _unseal(self, call: Call, key: ObjectKey) -> None:
        # The backend sees one credential for all, so a state must come back from whom it was given to.
        sealed = name_of(call.params, _STATE)
        call.params = call.params.with_member(_STATE, self._seal.open(sealed, _binding(call, key)))


async def _bounded(member: Member, call: Call, reply: Reply) -> Done | Ask:
    backend = member.client.backend
    if member.calls >= _MOST_CALLS:
        raise BackendFailed(
            backend.name, "Overloaded", f"{_MOST_CALLS} calls are under way.", retryAfterSeconds=1
        )
    member.calls += 1
    try:
        async with reply.deadline.start(backend.timeout_seconds):
            return await member.client.call(call, reply)
    except TimeoutError:
        if reply.deadline.is_cancelled:
            raise CallCancelled from None
        message = f"no answer within {backend.timeout_seconds:g} s."
        raise BackendFailed(backend.name, "TimedOut", message) from None
    finally:
        member.calls -= 1


def _binding(call: Call, key: ObjectKey) -> bytes:
    caller = call.client.caller
    name = call.params.get(_NAME) or call.params.get(_URI) or b""
    arguments = call.params.get(_ARGUMENTS) or b""
    parts = (caller.issuer, caller.subject, str(key), call.method)
    return binding(*(part.encode() for part in parts), name, arguments)


def _holder(client: Client) -> object:
    return client if client.lasting else client.caller


def _for_headers(call: Call, entry: Entry) -> Call:
    """Check, or make, the headers that repeat arguments where the tool asks for them."""
    if not entry.param_headers:
        return call
    arguments = call.params.get(_ARGUMENTS)
    if call.client.era is Era.STATELESS:
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
