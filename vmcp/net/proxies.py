"""Which requests go by a proxy: HTTP_PROXY, HTTPS_PROXY, ALL_PROXY and NO_PROXY, read as curl reads them."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address, ip_network
from typing import TypeVar
from urllib.parse import unquote, urlsplit

from vmcp.model.secret import Secret
from vmcp.net.url import Url, parse

T = TypeVar("T")

_PORT = re.compile(r"(?P<host>.*?)(?::(?P<port>[0-9]{1,5}))?", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Proxy:
    """A proxy, and the variable that names it; `authorization` is what it wants to see of us."""

    variable: str
    url: Url
    authorization: Secret | None = None


@dataclass(frozen=True, slots=True)
class Unusable:
    """A variable that names no proxy that we can use: nothing is sent past it."""

    variable: str


@dataclass(frozen=True, slots=True)
class _Exception:
    """One entry of NO_PROXY."""

    host: str
    port: int | None
    is_everything: bool

    def covers(self, url: Url) -> bool:
        """Tell whether requests to a URL go past the proxy."""
        if self.is_everything:
            return True
        if self.port is not None and self.port != url.port:
            return False
        address = _address(url.host)
        if address is not None:
            return _holds(self.host, address)
        host = url.host.lower().rstrip(".")
        return host == self.host or host.endswith(f".{self.host}")


@dataclass(frozen=True, slots=True)
class Proxies:
    """The proxies of a process by scheme, and where none of them is asked."""

    by_scheme: Mapping[str, Proxy | Unusable]
    exceptions: tuple[_Exception, ...] = ()

    def of(self, url: Url) -> Proxy | Unusable | None:
        """Return by which proxy a URL is reached, None for directly; what is on loopback always is."""
        found = self.by_scheme.get(url.scheme)
        if found is None or _is_loopback(url.host):
            return None
        return None if any(each.covers(url) for each in self.exceptions) else found


NO_PROXIES = Proxies({})


def proxies(environment: Mapping[str, str]) -> Proxies:
    """Read the variables; a name in small letters goes before the same one in capitals."""
    found = {
        scheme: _proxy(*given)
        for scheme in ("http", "https")
        if (given := _first(environment, f"{scheme}_proxy", "all_proxy")) is not None
    }
    listed = _first(environment, "no_proxy")
    return Proxies(found, tuple(_exceptions("" if listed is None else listed[1])))


def _first(environment: Mapping[str, str], *names: str) -> tuple[str, str] | None:
    """Return the first variable that is set and its value; an empty value means no proxy."""
    for name in names:
        for variable in (name, name.upper()):
            value = environment.get(variable)
            if value is not None:
                return (variable, value.strip()) if value.strip() else None
    return None


def _proxy(variable: str, value: str) -> Proxy | Unusable:
    text = value if "://" in value else f"http://{value}"
    try:
        url, parts = parse(text), urlsplit(text)
    except ValueError:
        return Unusable(variable)
    if parts.username is None:
        return Proxy(variable, url)
    pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
    return Proxy(variable, url, Secret(f"Basic {base64.b64encode(pair.encode()).decode()}"))


def _exceptions(listed: str) -> Iterator[_Exception]:
    for entry in filter(None, re.split(r"[,\s]+", listed.lower())):
        if entry == "*":
            yield _Exception("", None, is_everything=True)
            continue
        host, port = _split(entry)
        # `.name`, `*.name` and `name` are one: the name and all below it.
        host = host.removeprefix("*").lstrip(".").rstrip(".")
        with suppress(UnicodeError):
            host = host if host.isascii() else host.encode("idna").decode()
        if host:
            yield _Exception(host, port, is_everything=False)


def _split(entry: str) -> tuple[str, int | None]:
    """Return the host and the port of an entry; an IPv6 address has a port only behind brackets."""
    if entry.startswith("["):
        host, _, rest = entry[1:].partition("]")
        port = rest.removeprefix(":")
        return host, int(port) if port.isdecimal() else None
    found = _PORT.fullmatch(entry)
    if entry.count(":") != 1 or found is None or found["port"] is None:
        return entry, None
    return found["host"], int(found["port"])


def _address(host: str) -> IPv4Address | IPv6Address | None:
    return _or_none(ip_address, host)


def _holds(entry: str, address: IPv4Address | IPv6Address) -> bool:
    network = _or_none(lambda text: ip_network(text, strict=False), entry)
    if network is None:
        return False
    if isinstance(address, IPv6Address) and not isinstance(network, IPv6Network):
        address = address.ipv4_mapped or address
    return address in network


def _is_loopback(host: str) -> bool:
    name, address = host.lower().rstrip("."), _address(host)
    if address is not None:
        return address.is_loopback
    return name == "localhost" or name.endswith(".localhost")


def _or_none(read: Callable[[str], T], text: str) -> T | None:
    try:
        return read(text)
    except ValueError:
        return None
