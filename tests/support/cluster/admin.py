"""An administrator of the test cluster, who needs nothing of the code under test."""

from __future__ import annotations

import http.client
import json
import ssl
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from tests.support.cluster.pki import Pki

Object = dict[str, Any]
_SECONDS = 20.0


@dataclass(frozen=True)
class Told:
    """An answer of the API server."""

    status: int
    body: Object


class Denied(Exception):
    """The server answered with something else than 2xx."""

    def __init__(self, told: Told) -> None:
        super().__init__(f"{told.status}: {told.body.get('message')}")
        self.told = told


class Admin:
    """Ask the API server as somebody who may do everything; each call blocks for some milliseconds."""

    def __init__(self, pki: Pki, port: int) -> None:
        self._port = port
        self._bare_tls = self._new_tls(pki)
        self._tls = self._new_tls(pki)
        self._tls.load_cert_chain(pki.path("admin.crt"), pki.path("admin.key"))

    @staticmethod
    def _new_tls(pki: Pki) -> ssl.SSLContext:
        tls = ssl.create_default_context(cafile=str(pki.ca))
        tls.verify_flags &= ~ssl.VERIFY_X509_STRICT
        return tls

    def ask(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        content_type: str = "application/json",
        seconds: float = _SECONDS,
        token: str | None = None,
    ) -> Told:
        """Return the answer, whatever it is, to us or to who has a token; raise OSError where there is none."""
        tls = self._tls if token is None else self._bare_tls
        headers = {"Content-Type": content_type}
        headers |= {} if token is None else {"Authorization": f"Bearer {token}"}
        connection = http.client.HTTPSConnection(
            "127.0.0.1", self._port, context=tls, timeout=seconds
        )
        try:
            text = None if body is None else json.dumps(body)
            connection.request(method, path, text, headers)
            answer = connection.getresponse()
            return Told(answer.status, _members(answer.read()))
        finally:
            connection.close()

    def do(self, method: str, path: str, body: object = None, **settings: Any) -> Object:
        """Return what a request that must succeed gives."""
        told = self.ask(method, path, body, **settings)
        if not 200 <= told.status <= 299:
            raise Denied(told)
        return told.body

    def merge(self, path: str, body: Object) -> Object:
        """Change some fields."""
        return self.do("PATCH", path, body, content_type="application/merge-patch+json")

    def apply(self, path: str, body: Object) -> Object:
        """Make an object, or make it so."""
        at = f"{path}/{quote(body['metadata']['name'])}?fieldManager=test&force=true"
        return self.do("PATCH", at, body, content_type="application/apply-patch+yaml")


def _members(text: bytes) -> Object:
    try:
        found = json.loads(text)
    except ValueError:
        return {"message": text.decode(errors="replace")}
    return found if isinstance(found, dict) else {"message": str(found)}
