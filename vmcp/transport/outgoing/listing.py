"""Ask a backend for its lists, every page, and keep what clients can read."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from vmcp.model.document import Document
from vmcp.model.inventory import Era, Inventory, Named, Peer, Tool
from vmcp.model.keys import ObjectKey
from vmcp.model.problem import Problem
from vmcp.protocol.annotations import param_headers
from vmcp.protocol.document import (
    EMPTY,
    MalformedJson,
    is_object,
    quote,
    split,
    split_array,
    unquote,
)
from vmcp.protocol.failures import METHOD_NOT_FOUND, BackendFailed
from vmcp.protocol.methods import LISTS
from vmcp.transport.outgoing.speech import Asking, Refused

_MOST_PAGES = 100
_CAPABILITY = {
    "tools/list": b'"tools"',
    "prompts/list": b'"prompts"',
    "resources/list": b'"resources"',
    "resources/templates/list": b'"resources"',
}
ALL_LISTS = frozenset(LISTS)


async def inventory(
    ask: Asking,
    key: ObjectKey,
    name: str,
    peer: Peer,
    known: Inventory | None,
    wanted: Iterable[str],
) -> Inventory:
    """Return the inventory with the `wanted` lists asked anew, the others as `known`; raise BackendFailed."""
    base = replace(known, peer=peer) if known is not None else Inventory(key, peer)
    problems = [p for p in base.problems if p.reason not in {_REASON[method] for method in wanted}]
    for method in sorted(wanted):
        items = (
            await _items(ask, name, method) if peer.capabilities.get(_CAPABILITY[method]) else ()
        )
        base = _with(base, method, items, problems)
    return replace(base, problems=tuple(sorted(problems)))


async def _items(ask: Asking, name: str, method: str) -> tuple[bytes, ...]:
    items: list[bytes] = []
    params, seen = EMPTY, set[bytes]()
    for _ in range(_MOST_PAGES):
        try:
            page = await ask(method, params)
        except Refused as refused:
            if refused.code == METHOD_NOT_FOUND:
                return ()
            raise BackendFailed(
                name, "ListRefused", f"{method} was refused with code {refused.code}."
            ) from None
        items.extend(_array(page, LISTS[method], name, method))
        cursor = page.get(b'"nextCursor"')
        if cursor is None or cursor == b"null":
            return tuple(items)
        if cursor in seen:
            raise BackendFailed(name, "InvalidAnswer", f"{method} gave the same cursor twice.")
        seen.add(cursor)
        params = Document(((b'"cursor"', cursor),))
    raise BackendFailed(name, "InvalidAnswer", f"{method} has more than {_MOST_PAGES} pages.")


def _array(page: Document, member: str, name: str, method: str) -> tuple[bytes, ...]:
    try:
        return split_array(page.get(quote(member)) or b"")
    except MalformedJson:
        raise BackendFailed(name, "InvalidAnswer", f"{method} has no array '{member}'.") from None


_REASON = {
    "tools/list": "ToolInvalid",
    "prompts/list": "PromptInvalid",
    "resources/list": "ResourceInvalid",
    "resources/templates/list": "TemplateInvalid",
}


def _with(
    base: Inventory, method: str, items: tuple[bytes, ...], problems: list[Problem]
) -> Inventory:
    def left_out(at: int, why: str) -> None:
        message = f"Item {at} of {method} is left out: {why}."
        problems.append(Problem(base.backend, _REASON[method], message))

    if method == "tools/list":
        return replace(base, tools=tuple(_tools(items, base.peer.era, left_out)))
    if method == "prompts/list":
        return replace(base, prompts=tuple(_named(items, b'"name"', left_out)))
    if method == "resources/list":
        return replace(base, resources=tuple(_named(items, b'"uri"', left_out)))
    return replace(base, templates=tuple(_named(items, b'"uriTemplate"', left_out)))


LeftOut = Callable[[int, str], None]
_STRINGS = (b'"title"', b'"description"', b'"mimeType"')
_OBJECTS = (b'"annotations"', b'"_meta"', b'"outputSchema"', b'"execution"')


def _tools(items: Iterable[bytes], era: Era, left_out: LeftOut) -> Iterable[Tool]:
    for at, raw in enumerate(items):
        try:
            document = _checked(raw, (b'"name"',))
            schema = document.get(b'"inputSchema"')
            if schema is None or not _is_object_schema(schema):
                raise MalformedJson("its inputSchema is no schema with 'type: object'")
            headers = param_headers(schema)
        except ValueError as error:
            left_out(at, str(error))
            continue
        output = document.get(b'"outputSchema"')
        plain = era is Era.SESSIONED or output is None or _is_object_schema(output)
        yield Tool(
            unquote(document.get(b'"name"') or b'""'), document, headers, object_output=plain
        )


def _named(items: Iterable[bytes], key: bytes, left_out: LeftOut) -> Iterable[Named]:
    for at, raw in enumerate(items):
        try:
            document = _checked(raw, (key, b'"name"'))
        except ValueError as error:
            left_out(at, str(error))
            continue
        yield Named(unquote(document.get(key) or b'""'), document)


def _checked(raw: bytes, required: tuple[bytes, ...]) -> Document:
    if not is_object(raw):
        raise MalformedJson("it is no object")
    document = split(raw)
    for key in required:
        value = document.get(key)
        if value is None or value[:1] != b'"' or value == b'""':
            raise MalformedJson(f"it has no {key.decode()} that is a text")
    for key, value in document.members:
        if key in _STRINGS and value[:1] not in (b'"', b"n"):
            raise MalformedJson(f"its {key.decode()} is no text")
        if key in _OBJECTS and value[:1] not in (b"{", b"n") and key != b'"outputSchema"':
            raise MalformedJson(f"its {key.decode()} is no object")
    return document


def _is_object_schema(raw: bytes) -> bool:
    return is_object(raw) and split(raw).get(b'"type"') == b'"object"'
