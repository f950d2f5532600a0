"""The result of a tool as text for a person: texts as they are, everything else described.

Pure.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import assert_never

from mcp_types import (
    AudioContent,
    BlobResourceContents,
    CallToolResult,
    ContentBlock,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextContent,
    TextResourceContents,
)


def lines(result: CallToolResult) -> Iterator[str]:
    """Yield what a person reads of a result; structured content last, unless a text repeats it."""
    for block in result.content:
        yield describe(block)
    structured = result.structured_content
    if structured is not None and not _is_said(structured, result):
        yield json.dumps(structured, indent=2, ensure_ascii=False)


def describe(block: ContentBlock | TextResourceContents | BlobResourceContents) -> str:
    """Return a text as it is, and of anything else what it is and how large."""
    match block:
        case TextContent() | TextResourceContents():
            return block.text
        case ImageContent():
            return f"[image {block.mime_type}, {_size(block.data)}]"
        case AudioContent():
            return f"[audio {block.mime_type}, {_size(block.data)}]"
        case ResourceLink():
            return f"[link {block.uri}: {block.title or block.name}]"
        case EmbeddedResource():
            return f"[resource {block.resource.uri}]\n{describe(block.resource)}"
        case BlobResourceContents():
            return f"[{block.mime_type or 'binary'}, {_size(block.blob)}]"
        case _:
            assert_never(block)


def _size(base64: str) -> str:
    count = len(base64.rstrip("=")) * 3 // 4
    return f"{count} bytes"


def _is_said(structured: object, result: CallToolResult) -> bool:
    """Tell whether a text repeats the structured content, bare or as the SDK wraps values."""
    said = [block.text for block in result.content if isinstance(block, TextContent)]
    for text in said:
        try:
            value: object = json.loads(text)
        except (ValueError, RecursionError):
            value = text
        if structured in (value, {"result": value}, {"result": text}):
            return True
    return structured == {"result": said}
