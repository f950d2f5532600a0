"""The parts of an http(s) URL that a request needs."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from urllib.parse import quote, urljoin, urlsplit

_PORTS = {"http": 80, "https": 443}
# What may stand in a path or a query as it is (RFC 3986), `%` of what is encoded already included.
_SAFE = "%/:?#[]@!$&'()*+,;=-._~"


@dataclass(frozen=True, slots=True)
class Url:
    """An absolute URL: `host` as it is dialled, `authority` for the Host header, `target` for the request line."""

    scheme: str
    host: str
    port: int
    authority: str
    target: str = field(repr=False)

    @property
    def origin(self) -> tuple[str, str, int]:
        """What two URLs share that may see the same credential."""
        return (self.scheme, self.host, self.port)

    def join(self, location: str) -> Url:
        """Return the URL to which a Location leads from here; raise ValueError where it leads nowhere."""
        with suppress(UnicodeError):
            # Headers have a character for each byte; what is beyond ASCII is UTF-8 by custom.
            location = location.encode("latin-1").decode()
        return parse(urljoin(str(self), location))

    def __str__(self) -> str:
        return f"{self.scheme}://{self.authority}{self.target}"


def parse(text: str) -> Url:
    """Return the parts of an absolute http or https URL; raise ValueError. A fragment is dropped."""
    parts = urlsplit(text)
    if parts.scheme not in _PORTS or not parts.hostname:
        raise ValueError("it is no http or https URL")
    host = parts.hostname if parts.hostname.isascii() else parts.hostname.encode("idna").decode()
    if not host.isprintable() or " " in host:
        raise ValueError("its host has characters that no host has")
    port = _PORTS[parts.scheme] if parts.port is None else parts.port
    name = f"[{host}]" if ":" in host else host
    authority = name if port == _PORTS[parts.scheme] else f"{name}:{port}"
    query = f"?{parts.query}" if parts.query else ""
    return Url(parts.scheme, host, port, authority, quote((parts.path or "/") + query, safe=_SAFE))
