"""A child process that is the pipe to a fake in the test's own process: `relay.py PORT`."""

from __future__ import annotations

import os
import socket
import sys
import threading

PIECE = 65536


def up(wire: socket.socket) -> None:
    """Carry what comes on stdin to the fake."""
    while chunk := os.read(0, PIECE):
        wire.sendall(chunk)
    wire.shutdown(socket.SHUT_WR)


def main() -> None:
    """Carry what the fake says to stdout, until it ends."""
    with socket.create_connection(("127.0.0.1", int(sys.argv[1]))) as wire:
        threading.Thread(target=up, args=(wire,), daemon=True).start()
        while chunk := wire.recv(PIECE):
            os.write(1, chunk)
    os._exit(0)


main()
