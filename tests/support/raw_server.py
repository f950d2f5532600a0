"""What a raw backend says, over whichever transport: prepared bytes, neither parsed nor formatted anew."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from tests.support.raw_json import cases, member

TOKEN = b'"@token@"'
LISTS = {
    "tools/list": b"tools",
    "prompts/list": b"prompts",
    "resources/list": b"resources",
    "resources/templates/list": b"resourceTemplates",
}
# A server may begin with an empty cursor, and a cursor may be any text.
CURSORS = (b'""', b'"\\u00e9 \\/ 2"', b'"3"', b'"4"', b'"5"', b'"6"', b'"7"', b'"8"')
PAGE = 3
CAPABILITIES = (
    b'{"tools":{"listChanged":true},"prompts":{"listChanged":true},'
    b'"resources":{"subscribe":true,"listChanged":true},"completions":{},"logging":{}}'
)
HINTS = b',"resultType":"complete","ttlMs":0,"cacheScope":"private"'
INFO = b'{"name":"raw \\u00e9","version":"1.0"}'


class Era(Enum):
    """The two eras, by the names that the documentation gives them."""

    SESSIONED = "sessioned"
    STATELESS = "stateless"


class How(Enum):
    """The ways in which one and the same message can come."""

    JSON = "json"
    LOOSE = "loose"  # other members first, white space around everything
    STREAM = "stream"  # in small pieces, between comments


@dataclass(frozen=True, slots=True)
class Sent:
    """One request as the backend got it."""

    method: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def params(self) -> bytes:
        """The raw params."""
        return member(self.body, "params")


@dataclass(frozen=True, slots=True)
class Prepared:
    """How a call is answered: with a raw result or error object, after other messages.

    The text `"@token@"` in a notification stands for the progress token of the call. After a
    request `ask` the backend waits for its answer.
    """

    payload: bytes
    is_error: bool = False
    notes: tuple[bytes, ...] = ()
    ask: bytes | None = None
    how: How = How.JSON
    status: int = 200


WELCOME = Prepared(
    b'{"protocolVersion":"2025-11-25","capabilities":%b,"serverInfo":%b}' % (CAPABILITIES, INFO)
)
DISCOVERED = Prepared(
    b'{"supportedVersions":["2026-07-28"],"capabilities":%b%b,"_meta":{"%b":%b}}'
    % (CAPABILITIES, HINTS, b"io.modelcontextprotocol/serverInfo", INFO)
)
REFUSED = Prepared(b'{"code":-32601,"message":"unknown"}', is_error=True, status=400)


def standing(era: Era, lists: Mapping[str, Sequence[bytes]], sent: Sent) -> Prepared | None:
    """Return the answer to what every server is asked, None for the calls of clients."""
    if sent.method == "initialize" and era is Era.SESSIONED:
        return WELCOME
    if sent.method in ("initialize", "server/discover"):
        return REFUSED if era is Era.SESSIONED else DISCOVERED
    if sent.method in LISTS:
        return Prepared(_page(era, lists, sent))
    if sent.method in ("resources/subscribe", "resources/unsubscribe", "logging/setLevel"):
        return Prepared(b"{}")
    return None


def _page(era: Era, lists: Mapping[str, Sequence[bytes]], sent: Sent) -> bytes:
    params = cases(sent.body).get("params", b"{}")
    given = cases(params).get("cursor")
    start = 0 if given is None else (CURSORS.index(given) + 1) * PAGE
    every = lists.get(sent.method, ())
    found = b" ,\n ".join(every[start : start + PAGE])
    more = b""
    if start + PAGE < len(every):
        more = b',"nextCursor": ' + CURSORS[start // PAGE]
    hints = HINTS if era is Era.STATELESS else b""
    return b'{ "%b" : [ %b ] %b%b }' % (LISTS[sent.method], found, more, hints)


def token(sent: Sent) -> bytes:
    """Return the raw progress token of a call."""
    meta = cases(sent.params).get("_meta", b"{}")
    return cases(meta).get("progressToken", TOKEN)
