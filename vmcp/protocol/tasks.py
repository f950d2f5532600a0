"""Tasks on the wire: those of 2025-11-25, and those of the extension of 2026-07-28."""

from __future__ import annotations

from typing import NamedTuple

from vmcp.model.document import Document
from vmcp.model.inventory import Era, Peer
from vmcp.protocol.document import MalformedJson, is_object, split, unquote
from vmcp.protocol.failures import InvalidParams
from vmcp.protocol.results import is_plain

EXTENSION_NAME = "io.modelcontextprotocol/tasks"
EXTENSION = b'"io.modelcontextprotocol/tasks"'
EXTENSIONS = b'"extensions"'
LIST, RESULT = "tasks/list", "tasks/result"
TOLD = "notifications/tasks"

# The methods of each era. They share names, not shapes: a task is followed in the era that made it.
METHODS = {
    Era.SESSIONED: frozenset(("tasks/get", RESULT, "tasks/cancel", LIST)),
    Era.STATELESS: frozenset(("tasks/get", "tasks/update", "tasks/cancel")),
}

_TASKS, _TASK, _ID, _CONTENT = b'"tasks"', b'"task"', b'"taskId"', b'"content"'
_TTL = {Era.SESSIONED: b'"ttl"', Era.STATELESS: b'"ttlMs"'}
_CREATED = b'"task"'


class Task(NamedTuple):
    """A task as its backend tells of it: its id, and how many seconds it is kept, None for ever."""

    id: str
    ttl_seconds: float | None


def id_of(params: Document) -> str:
    """Return which task params name; raise InvalidParams."""
    found = _text(params.get(_ID))
    if found is None:
        raise InvalidParams("The params need a member taskId that is a text.")
    return found


def read(raw: bytes, era: Era) -> Task | None:
    """Return the task that an object tells of, None where it tells of none."""
    members = _members(raw)
    identity = _text(members.get(_ID))
    return None if identity is None else Task(identity, _seconds(members.get(_TTL[era])))


def created(result: bytes, era: Era) -> Task | None:
    """Return the task that a tool made instead of its result; most results name none, and cost one search."""
    if is_plain(result, era) or _ID not in result:
        return None
    members = _members(result)
    if era is Era.STATELESS:
        return read(result, era) if members.get(b'"resultType"') == _CREATED else None
    return None if members.get(_CONTENT) is not None else read(members.get(_TASK) or b"", era)


def is_stray(result: bytes) -> bool:
    """Tell whether what should be the result of a tool is a task, in the shape of any era."""
    if is_plain(result, Era.SESSIONED) or _ID not in result:
        return False
    members = _members(result)
    if members.get(_CONTENT) is not None:
        return False
    inner = _members(members.get(_TASK) or b"")
    return members.get(_ID) is not None or inner.get(_ID) is not None


def is_declared(capabilities: bytes) -> bool:
    """Tell whether a client declares the extension."""
    if EXTENSION not in capabilities:
        return False
    return _members(_members(capabilities).get(EXTENSIONS) or b"").get(EXTENSION) is not None


def is_offered(peer: Peer) -> bool:
    """Tell whether a backend makes tasks, in the way of its era."""
    if peer.era is Era.STATELESS:
        return _members(peer.capabilities.get(EXTENSIONS) or b"").get(EXTENSION) is not None
    return is_object(peer.capabilities.get(_TASKS) or b"")


def can_list(peer: Peer) -> bool:
    """Tell whether a backend lists its tasks."""
    return _members(peer.capabilities.get(_TASKS) or b"").get(b'"list"') is not None


def without_tasks(capabilities: bytes) -> bytes:
    """Return a client's capabilities without tasks, for a backend whose tasks it could not follow."""
    if b"tasks" not in capabilities:
        return capabilities
    declared = split(capabilities).without(_TASKS)
    extensions = declared.get(EXTENSIONS)
    if extensions is None or not is_object(extensions) or EXTENSION not in extensions:
        return declared.join()
    left = split(extensions).without(EXTENSION)
    if not left.members:
        return declared.without(EXTENSIONS).join()
    return declared.with_member(EXTENSIONS, left.join()).join()


def without_task(params: Document) -> Document:
    """Return the params of a call without the wish that it become a task."""
    return params if params.get(_TASK) is None else params.without(_TASK)


def _members(raw: bytes) -> Document:
    try:
        return split(raw) if is_object(raw) else Document(())
    except MalformedJson:
        return Document(())


def _text(raw: bytes | None) -> str | None:
    try:
        return None if raw is None else unquote(raw)
    except MalformedJson:
        return None


def _seconds(raw: bytes | None) -> float | None:
    try:
        return max(float(raw or b""), 0.0) / 1000
    except ValueError:
        return None
