"""How texts are shown in a status that many may read: bounded, and without what may be a key."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from urllib.parse import urlsplit

HIDDEN = "***"
# Words of a path are short or divided; what is neither may be a key, as some services have in their URLs.
_KEY = re.compile(
    r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
    r"|(?=[A-Za-z]*[0-9])[A-Za-z0-9]{16,}"
    r"|[A-Za-z0-9]{24,}"
)


def shown_url(url: str) -> str | None:
    """Return scheme, host, port and path of a URL, without parts of the path that look like keys."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return None
    host = parts.netloc.rpartition("@")[2]
    path = "/".join(HIDDEN if _KEY.search(each) else each for each in parts.path.split("/"))
    return f"{parts.scheme}://{host}{path}"


def cut(text: str, most: int) -> str:
    """Return a text of bounded length."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def joined(sentences: Sequence[str], most: int) -> str:
    """Return the first sentences as one bounded text that says how many more there are."""
    whole = " ".join(sentences)
    if len(whole) <= most:
        return whole
    room = most - len(_more(len(sentences)))
    kept = 1
    while len(" ".join(sentences[: kept + 1])) <= room:
        kept += 1
    left = len(sentences) - kept
    shown = cut(" ".join(sentences[:kept]), room)
    return f"{shown}{_more(left)}" if left else shown


def _more(count: int) -> str:
    return f" And {count} more."


def written(time: datetime) -> str:
    """Return a time as Kubernetes writes it."""
    return time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
