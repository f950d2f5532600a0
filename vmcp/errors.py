"""Why the process cannot do what it was started for."""

from __future__ import annotations


class CannotListen(Exception):
    """An address cannot be listened on."""

    def __init__(self, host: str, port: int, reason: str) -> None:
        super().__init__(f"Cannot listen on {host} port {port}: {reason}.")
        self.host = host
        self.port = port
