"""What we say that we can do: our own part, and what the backends can."""

from __future__ import annotations

from collections.abc import Iterable

from vmcp import __version__
from vmcp.model.document import Document
from vmcp.model.inventory import Era, Peer
from vmcp.protocol.document import EMPTY, MalformedJson, is_object, quote, split
from vmcp.protocol.tasks import EXTENSION, EXTENSIONS

_VERSION = quote(__version__)
SERVER_INFO = b'{"name":"vmcp","title":"vmcp gateway","version":' + _VERSION + b"}"


def part_info(name: str, description: str | None) -> bytes:
    """Return our `serverInfo` where we show a part of the whole, as raw JSON."""
    title = quote(f"{name} (vmcp gateway)")
    more = b"" if description is None else b',"description":' + quote(description)
    return b'{"name":"vmcp","title":%b,"version":%b%b}' % (title, _VERSION, more)


_EXPERIMENTAL, _TASKS = b'"experimental"', b'"tasks"'


def capabilities(peers: tuple[Peer, ...], era: Era) -> bytes:
    """Return our capabilities towards clients of an era as raw JSON.

    Lists may always grow, so they are always offered; the rest only where a backend has it. What is carried
    within an era alone is offered where a backend of that era has it; the first of `peers` sets its settings.
    """
    offered = [peer.capabilities for peer in peers]
    resources = b'{"listChanged":true}'
    if any(takes_subscriptions(peer) for peer in peers):
        resources = b'{"subscribe":true,"listChanged":true}'
    more = b"".join(
        b"," + key + b":{}"
        for key in (b'"completions"', b'"logging"')
        if any(each.get(key) for each in offered)
    )
    for key, value in _of_era([peer.capabilities for peer in peers if peer.era is era], era):
        more += b"," + key + b":" + value
    return (
        b'{"tools":{"listChanged":true},"prompts":{"listChanged":true},"resources":'
        + resources
        + more
        + b"}"
    )


def _of_era(offered: list[Document], era: Era) -> Iterable[tuple[bytes, bytes]]:
    """Yield the capabilities of the backends of an era that are carried to its clients alone."""
    extensions = _united(offered, EXTENSIONS, 1)
    if era is Era.SESSIONED:
        # The extension needs what each stateless request says of itself; sessions have tasks of their own.
        extensions = extensions.without(EXTENSION)
    found = [(_EXPERIMENTAL, _united(offered, _EXPERIMENTAL, 1)), (EXTENSIONS, extensions)]
    if era is Era.SESSIONED:
        found.append((_TASKS, _united(offered, _TASKS, _TASKS_DEPTH)))
    return [(key, united.join()) for key, united in found if united.members]


# tasks.requests.tools.call: what any backend can, so that each can be asked for what it can.
_TASKS_DEPTH = 4


def _united(offered: list[Document], key: bytes, depth: int) -> Document:
    found = EMPTY
    for each in offered:
        found = _joined(found, _object(each.get(key)), depth)
    return found


def _joined(first: Document, second: Document, depth: int) -> Document:
    """Return the members of both, those of the first where they meet, down to a depth."""
    for key, value in second.members:
        known = first.get(key)
        if known is None:
            first = first.with_member(key, value)
        elif depth > 1 and is_object(known):
            both = _joined(_object(known), _object(value), depth - 1)
            first = first.with_member(key, both.join())
    return first


def _object(raw: bytes | None) -> Document:
    try:
        return split(raw) if raw is not None and is_object(raw) else EMPTY
    except MalformedJson:
        return EMPTY


def takes_subscriptions(peer: Peer) -> bool:
    """Tell whether a backend offers updates of single resources."""
    raw = peer.capabilities.get(b'"resources"')
    return raw is not None and is_object(raw) and split(raw).get(b'"subscribe"') == b"true"
