"""What we say of ourselves to backends, and the ids of our requests."""

from __future__ import annotations

import itertools

from vmcp import __version__
from vmcp.protocol.document import quote

OUR_INFO = b'{"name":"vmcp","title":"vmcp gateway","version":' + quote(__version__) + b"}"


class Ids:
    """Hand out request ids: whole numbers, unique for one backend for the life of the process."""

    __slots__ = ("_numbers",)

    def __init__(self) -> None:
        self._numbers = itertools.count(1)

    def next(self) -> bytes:
        """Return the next id as raw JSON."""
        return b"%d" % next(self._numbers)
