"""W3C trace context: which trace a request belongs to, as headers and `_meta` tell it."""

from __future__ import annotations

import re
from typing import NamedTuple

TRACEPARENT, TRACESTATE = "traceparent", "tracestate"
META_TRACEPARENT, META_TRACESTATE = b'"traceparent"', b'"tracestate"'

# A later version may add fields after these four; version ff is none.
_PARENT = re.compile(
    r"(?P<version>[0-9a-f]{2})-(?P<trace>[0-9a-f]{32})-(?P<span>[0-9a-f]{16})-(?P<flags>[0-9a-f]{2})(?P<more>-.*)?"
)
_NO_TRACE, _NO_SPAN = "0" * 32, "0" * 16
_SAMPLED = 1
# The specification has 512 characters carried at least; a longer state is dropped as a whole.
_LONGEST_STATE = 512


class TraceContext(NamedTuple):
    """A place in a trace: hexadecimal ids, whether it is recorded, and what vendors put beside it."""

    trace: str
    span: str
    is_sampled: bool
    state: str | None = None

    @property
    def parent(self) -> str:
        """The value of traceparent by which others continue here."""
        return f"00-{self.trace}-{self.span}-{'01' if self.is_sampled else '00'}"


def parse(parent: str | None, state: str | None) -> TraceContext | None:
    """Return the context that a traceparent and a tracestate tell, None where they tell none."""
    found = None if parent is None else _PARENT.fullmatch(parent.strip())
    if found is None or found["version"] == "ff" or (found["version"] == "00" and found["more"]):
        return None
    if found["trace"] == _NO_TRACE or found["span"] == _NO_SPAN:
        return None
    carried = state if state and len(state) <= _LONGEST_STATE and state.isprintable() else None
    is_sampled = bool(int(found["flags"], 16) & _SAMPLED)
    return TraceContext(found["trace"], found["span"], is_sampled, carried)
