"""TLS of our own listener: new connections see the newest certificate, open ones go on with theirs."""

from __future__ import annotations

import logging
import ssl

from vmcp.config.keypair import server_context
from vmcp.config.load import Loaded, TlsFiles
from vmcp.latest import Latest

log = logging.getLogger(__name__)


class Certificate:
    """Hold the certificate that is shown; `context` is what a server listens with."""

    def __init__(self, files: TlsFiles) -> None:
        self._files = files
        self._shown = _context(files)
        self.context = _context(files)
        # A context that has served keeps the keys of all kinds that it was ever given, so each certificate
        # has one of its own, and a connection is led to the newest.
        self.context.sni_callback = self._lead

    def _lead(self, connection: ssl.SSLObject, _name: str | None, _context: ssl.SSLContext) -> None:
        connection.context = self._shown

    def show(self, files: TlsFiles) -> None:
        """Show what the files hold now from the next connection on; what cannot be used is logged and left."""
        if files == self._files:
            return
        try:
            self._shown = _context(files)
        except (OSError, ValueError):
            log.exception("the certificate cannot be used; the one before is still shown")
            return
        self._files = files
        log.info("the certificate is another one", extra={"file": str(files.certificate)})

    async def follow(self, loaded: Latest[Loaded]) -> None:
        """Show what the config says until cancelled."""
        async for each in loaded.changes():
            if each.tls is not None:
                self.show(each.tls)


def _context(files: TlsFiles) -> ssl.SSLContext:
    return server_context(files.certificate, files.key)
