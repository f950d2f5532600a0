"""Why the process cannot do what it was started for."""

from __future__ import annotations


class CannotListen(Exception):
    """An address cannot be listened on."""

    def __init__(self, host: str, port: int, reason: str) -> None:
        super().__init__(f"Cannot listen on {host} port {port}: {reason}.")
        self.host = host
        self.port = port


class ExtraMissing(Exception):
    """The config wants what only an extra of this package brings."""

    def __init__(self, key: str, extra: str) -> None:
        super().__init__(
            f"{key} in the config needs the extra {extra}: pip install 'vmcp[{extra}]'."
        )
        self.extra = extra
