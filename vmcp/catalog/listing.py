"""One list as clients see it: sorted by name, found by name, handed out in pages."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b

from vmcp.catalog.entries import Entry
from vmcp.catalog.raw import quote
from vmcp.model.inventory import Era

# Joined pages that are kept: all of a long list at the usual page size.
_MOST_PAGES = 64
_OUTPUT_SCHEMA = b'"outputSchema"'


@dataclass(frozen=True, slots=True)
class Page:
    """Documents joined with commas, and the name to go on after; None on the last page."""

    items: bytes
    last: str | None


@dataclass(frozen=True, slots=True)
class Listing:
    """The entries of one kind in the order of their names.

    `digest` tells two listings apart by all that clients would see of them.
    """

    entries: tuple[Entry, ...]
    digest: bytes
    names: tuple[str, ...] = field(repr=False)
    _by_name: Mapping[str, Entry] = field(compare=False, repr=False)
    _differs: bool = field(compare=False, repr=False)
    _pages: dict[tuple[int, int, Era], bytes] = field(
        default_factory=dict, init=False, compare=False, repr=False
    )

    @classmethod
    def of(cls, entries: Iterable[Entry]) -> Listing:
        """Return the listing of entries whose names are unique."""
        by_name = {entry.name: entry for entry in entries}
        names = tuple(sorted(by_name))
        ordered = tuple([by_name[name] for name in names])
        differs = not all(entry.object_output for entry in ordered)
        return cls(ordered, _digest(ordered), names, by_name, differs)

    def __len__(self) -> int:
        return len(self.entries)

    def get(self, name: str) -> Entry | None:
        """Return the entry of that very name."""
        return self._by_name.get(name)

    def page(self, after: str | None, size: int, era: Era) -> Page:
        """Return at most `size` documents, those after the name `after`, which need not exist."""
        if size < 1:
            raise ValueError(f"a page holds at least one document, not {size}")
        start = 0 if after is None else bisect_right(self.names, after)
        end = start + size
        last = self.names[end - 1] if end < len(self.names) else None
        return Page(self._joined(start, size, era), last)

    def _joined(self, start: int, size: int, era: Era) -> bytes:
        key = (start, size, era if self._differs else Era.STATELESS)
        found = self._pages.get(key)
        if found is None:
            found = b",".join([_shown(e, era) for e in self.entries[start : start + size]])
            if len(self._pages) >= _MOST_PAGES:
                self._pages.clear()
            self._pages[key] = found
        return found


def _shown(entry: Entry, era: Era) -> bytes:
    # 2025-11-25 knows only schemas of objects for output.
    if era is Era.SESSIONED and not entry.object_output:
        return entry.document.without(_OUTPUT_SCHEMA).join()
    return entry.document.join()


def _digest(entries: Iterable[Entry]) -> bytes:
    found = blake2b(digest_size=32)
    for entry in entries:
        # The name may replace one in the document, which is not yet made: the two tell all.
        found.update(quote(entry.name) + entry.own_document.join())
    return found.digest()
