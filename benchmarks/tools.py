"""The tools of the echo backend: their documents, the pages of their list, the results of calls."""

from __future__ import annotations

import msgspec

ECHO = "echo"
_DESCRIPTION = (
    "Returns the text that it is given. This is number {number} of {server}; the description is "
    "about as long as that of a real tool, so that lists have a realistic size."
)
_SCHEMA = {
    "type": "object",
    "properties": {
        "text": {"type": "string", "description": "The text to return."},
        "size": {"type": "integer", "minimum": 0, "description": "The length of the result."},
        "ask": {"type": "boolean", "description": "Ask the client first, in a session."},
    },
    "required": ["text"],
}


class Arguments(msgspec.Struct):
    """What a call of any tool takes.

    A `size` above the text's length pads the result; `ask` has the client asked before, in a session.
    """

    text: str = ""
    size: int = 0
    ask: bool = False


class NoSuchCursorError(ValueError):
    """The cursor is not one that a page of this list gave out."""


def tool_name(number: int) -> str:
    """Return the name of a tool; the first one is `echo`."""
    return ECHO if number == 0 else f"tool_{number:04d}"


def document(server: str, number: int) -> bytes:
    """Return the document of a tool as JSON."""
    return msgspec.json.encode(
        {
            "name": tool_name(number),
            "title": f"Tool {number} of {server}",
            "description": _DESCRIPTION.format(number=number, server=server),
            "inputSchema": _SCHEMA,
            "annotations": {"readOnlyHint": True},
        }
    )


class ToolList:
    """The tools of one server, in pages that are rendered once; it can grow."""

    def __init__(self, server: str, *, count: int, page_size: int) -> None:
        """Hold `count` tools; a `page_size` of 0 puts all of them on one page."""
        self._server = server
        self._page_size = page_size
        self._pages: dict[str, bytes] = {}
        self._names = {tool_name(number) for number in range(count)}

    def __contains__(self, name: str) -> bool:
        """Tell whether a tool has this name."""
        return name in self._names

    def grow(self) -> None:
        """Add one tool at the end."""
        self._names.add(tool_name(len(self._names)))
        self._pages.clear()

    def page(self, cursor: str) -> bytes:
        """Return the members of a list result; cursors are offsets, the first page's is empty."""
        found = self._pages.get(cursor)
        if found is None:
            found = self._pages[cursor] = self._render(cursor)
        return found

    def _render(self, cursor: str) -> bytes:
        total = len(self._names)
        start = int(cursor) if cursor.isdecimal() else 0
        if cursor and not (cursor.isdecimal() and 0 < start < total):
            raise NoSuchCursorError(cursor)
        end = min(total, start + self._page_size) if self._page_size else total
        tools = b",".join([document(self._server, number) for number in range(start, end)])
        following = b',"nextCursor":"%d"' % end if end < total else b""
        return b'"tools":[' + tools + b"]" + following


_pads: dict[int, bytes] = {}


def echoed(arguments: Arguments) -> bytes:
    """Return the members of a call result that holds the text, padded to the size asked for."""
    text = msgspec.json.encode(arguments.text)
    missing = arguments.size - len(arguments.text)
    if missing > 0:
        # Rendering a megabyte anew for each call would make the backend the bottleneck.
        pad = _pads.get(missing) or _pads.setdefault(missing, b"x" * missing)
        text = text[:-1] + pad + b'"'
    return b'"content":[{"type":"text","text":' + text + b'}],"isError":false'
