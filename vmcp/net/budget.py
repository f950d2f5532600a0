"""How much memory the answers of all backends may take while they come."""

from __future__ import annotations

from vmcp.net.errors import NetError


class TooMuchAtOnce(NetError):
    """There is no room for an answer beside the others that are on their way."""

    def __init__(self) -> None:
        super().__init__("read", "too many large answers are on their way at once", sent=True)


class Budget:
    """Bytes that are held now, and the most there may be."""

    def __init__(self, most: int) -> None:
        self._most = most
        self.held = 0

    def take(self, size: int) -> None:
        """Hold more bytes; raise TooMuchAtOnce where there is no room for them."""
        if self.held + size > self._most:
            raise TooMuchAtOnce
        self.held += size

    def give(self, size: int) -> None:
        """Hold so many bytes less."""
        self.held -= size
