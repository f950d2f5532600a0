"""One text of instructions, made of what each backend says of how it is used."""

from __future__ import annotations

import re
from collections.abc import Iterable

from vmcp.catalog.lookup import Catalog
from vmcp.model.backend import Backend
from vmcp.model.inventory import Peer
from vmcp.model.keys import ObjectKey

# Clients put the text into every conversation, so a talkative backend must not crowd the others out.
_MOST_OF_ONE = 4 * 2**10
_MOST_OF_ALL = 32 * 2**10
_LEAST_OF_ONE = 256
_MARK = " [...]"
_GAP = "\n\n"
_HEADING = re.compile(r"^(#+\s)", re.MULTILINE)


def instructions(catalog: Catalog, backends: Iterable[Backend]) -> str | None:
    """Return the instructions of all backends, each under its public name; None if there are none."""
    given = [
        (each, peer.instructions.strip())
        for each in sorted(backends, key=lambda backend: backend.name)
        if (peer := catalog.peers.get(each.key)) is not None
        and peer.instructions is not None
        and peer.instructions.strip()
    ]
    if not given:
        return None
    prefixes = _prefixes(catalog, frozenset(each.key for each, _ in given))
    sections = [_section(each, text, prefixes.get(each.key, {})) for each, text in given]
    shown = sections[: _MOST_OF_ALL // _LEAST_OF_ONE]
    left_out = len(sections) - len(shown)
    if left_out:
        shown.append(f"[The instructions of {left_out} more backends are left out.]")
    room = _share([_size(section) for section in shown])
    return _GAP.join(_cut(section, room) for section in shown)


def own_instructions(peers: Iterable[Peer]) -> str | None:
    """Return the instructions of the only backend of a view as it gave them; None if there are none."""
    given = (peer.instructions.strip() for peer in peers if peer.instructions is not None)
    text = next(given, "")
    return _cut(text, _MOST_OF_ALL) if text else None


def _section(backend: Backend, text: str, prefixes: dict[str, int]) -> str:
    # A backend's headings stand below our own: it cannot speak in the name of another one.
    body = _HEADING.sub(r"#\1", text)
    renamed = _renaming(prefixes)
    return _GAP.join([f"# {backend.name}", *([renamed] if renamed else []), body])


def _renaming(prefixes: dict[str, int]) -> str | None:
    """Say how names in the text differ from those that clients see; nothing where they do not."""
    added = max((p for p in prefixes if p), key=lambda p: prefixes[p], default=None)
    if added is None:
        return None
    whose = "Its tools are" if len(prefixes) == 1 else "Some of its tools are"
    return f"{whose} listed with the prefix `{added}`."


def _prefixes(catalog: Catalog, of: frozenset[ObjectKey]) -> dict[ObjectKey, dict[str, int]]:
    """Count for each backend what stands before its own names; names given anew count for nothing."""
    found: dict[ObjectKey, dict[str, int]] = {}
    for entry in catalog.tools.entries:
        if entry.backend in of and entry.name.endswith(entry.own_name):
            counts = found.setdefault(entry.backend, {})
            prefix = entry.name[: len(entry.name) - len(entry.own_name)]
            counts[prefix] = counts.get(prefix, 0) + 1
    return found


def _share(sizes: list[int]) -> int:
    """Return how much each may have, so that all fit: what the short ones leave goes to the long ones."""
    room = _MOST_OF_ALL - len(_GAP) * (len(sizes) - 1)
    for at, size in enumerate(sorted(sizes)):
        fair = room // (len(sizes) - at)
        if size > fair:
            return min(fair, _MOST_OF_ONE)
        room -= size
    return _MOST_OF_ONE


def _cut(text: str, room: int) -> str:
    """Return a text of at most `room` bytes, cut between two words."""
    if _size(text) <= room:
        return text
    kept = _bytes(text)[: room - len(_MARK)].decode("utf-8", "ignore")
    words = kept.rsplit(maxsplit=1)
    # A text without spaces is cut where it must.
    whole = words[0] if len(words) > 1 and len(words[0]) > len(kept) // 2 else kept
    return whole.rstrip() + _MARK


def _size(text: str) -> int:
    return len(_bytes(text))


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "replace")
