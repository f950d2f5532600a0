"""Ports that stay free until they are used: none of those that the system gives to connections."""

from __future__ import annotations

import random
import socket
from contextlib import suppress

# Below the range from which Linux takes ports by itself.
_FIRST, _LAST = 12_000, 32_000
_taken: set[int] = set()


def lasting_port() -> int:
    """Return a port of 127.0.0.1 on which nobody listens, each time another one."""
    while True:
        port = random.randint(_FIRST, _LAST)
        if port in _taken:
            continue
        _taken.add(port)
        with suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port
