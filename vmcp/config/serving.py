"""The sections that say how the gateway itself runs: `operational`, `server`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from ipaddress import ip_address, ip_network
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from vmcp.config.faults import Fault, fault, listing, shown
from vmcp.config.health import FailureHandlingSettings
from vmcp.config.limits import LimitSettings
from vmcp.config.references import (
    FilePath,
    SecretOrigin,
    VariableName,
    origin,
    seal_key_complaint,
    secret_file,
    variable,
)
from vmcp.config.section import Section
from vmcp.config.tls import TlsSettings
from vmcp.config.values import Duration, Flag, Port, Text, choice

LogLevel = Literal["debug", "info", "warning", "error"]

_HOST_NAME = r"(?=.{1,253}$)[A-Za-z0-9_]([A-Za-z0-9_-]{0,62})(\.[A-Za-z0-9_][A-Za-z0-9_-]{0,62})*"
_HOST_HEADER = r"(?P<host>\[[0-9A-Fa-f:.]+\]|[^:\[\]]+)(?::[0-9]{1,5})?"
_ORIGIN = (
    r"(?P<scheme>[a-z][a-z0-9+.-]*)://(?P<host>\[[0-9a-f:.]+\]|[^:/?#@\[\]]+)(?P<port>:[0-9]{1,5})?"
)
_DEFAULT_PORTS = {"http": ":80", "https": ":443"}
_PATH_PATTERN = r"^/([A-Za-z0-9._~-]+(/[A-Za-z0-9._~-]+)*)?$"
_TAKEN_PATHS = ("/health", "/readyz")
_WELL_KNOWN = "/.well-known"
EVERY_ADDRESS = "*"
_SSE_PATHS = ("/sse", "/messages")


class TimeoutSettings(Section):
    """How long a call may take: from its first byte to the last one of its result.

    The time in which a person answers a question of the backend does not count.
    """

    default: Duration = Field(
        default=30.0,
        json_schema_extra={"default": "30s"},
        description="The limit of backends that `perWorkload` does not name.",
    )
    per_workload: Mapping[str, Duration] = Field(
        default={}, description="The limits of single backends, by their names."
    )


class OperationalSettings(Section):
    """Limits and logs of the running gateway."""

    timeouts: TimeoutSettings = Field(
        default=TimeoutSettings(), description="Time limits of calls."
    )
    log_level: Annotated[LogLevel, choice(LogLevel)] = Field(
        default="info", description="The least severe messages that are logged."
    )
    access_log: Flag = Field(
        default=False, description="Whether each request of a client has a line in the log."
    )
    failure_handling: FailureHandlingSettings = Field(
        default=FailureHandlingSettings(),
        description="How backends are looked after, and what their failures do.",
    )


def _host(value: str) -> str:
    if not _is_address(value) and re.fullmatch(_HOST_NAME, value) is None:
        raise fault(
            "Is not an address or a host name.",
            found=shown(value),
            allowed="an IPv4 or IPv6 address or a host name, without a port and brackets",
        )
    return value


def _is_address(value: str) -> bool:
    try:
        ip_address(value)
    except ValueError:
        return False
    return True


def _host_header(value: str) -> str:
    parts = re.fullmatch(_HOST_HEADER, value)
    if parts is None or not _names_a_host(parts["host"]):
        raise fault(
            "Is not the value of a Host header.",
            found=shown(value),
            allowed="a host name, an IPv4 address or an IPv6 address in brackets, a port if needed",
        )
    return value.lower()


def _names_a_host(host: str) -> bool:
    if host.startswith("["):
        return _is_address(host[1:-1])
    return re.fullmatch(_HOST_NAME, host) is not None


def _web_origin(value: str) -> str:
    parts = re.fullmatch(_ORIGIN, value.lower())
    if parts is None or not _names_a_host(parts["host"]):
        raise fault(
            "Is not an origin.",
            found=shown(value),
            allowed="scheme and host, a port if needed, such as https://app.example",
        )
    # Browsers leave out the port that belongs to the scheme.
    port = "" if parts["port"] == _DEFAULT_PORTS.get(parts["scheme"]) else parts["port"] or ""
    return f"{parts['scheme']}://{parts['host']}{port}"


def _path(value: str) -> str:
    is_taken = value in _TAKEN_PATHS or value.startswith(_WELL_KNOWN)
    if re.fullmatch(_PATH_PATTERN, value) is None or is_taken:
        raise fault(
            "Is not a path for the endpoint.",
            found=shown(value),
            allowed=f"a path such as /mcp, no slash at its end, not {listing(_TAKEN_PATHS)}",
        )
    return value


def _proxy(value: str) -> str:
    if value == EVERY_ADDRESS:
        return value
    allowed = "an IP address, a network such as 10.0.0.0/8, or '*' for every address"
    try:
        return str(ip_network(value))
    except ValueError:
        raise fault(
            "Is not an address of proxies.",
            found=shown(value),
            allowed=allowed,
            suggestion=_whole_network(value),
        ) from None


def _whole_network(value: str) -> str | None:
    try:
        return f"Did you mean {str(ip_network(value, strict=False))!r}?"
    except ValueError:
        return None


Host = Annotated[Text, AfterValidator(_host)]
Proxy = Annotated[Text, AfterValidator(_proxy)]
HostHeader = Annotated[Text, AfterValidator(_host_header)]
Origin = Annotated[Text, AfterValidator(_web_origin)]
EndpointPath = Annotated[
    Text, AfterValidator(_path), Field(json_schema_extra={"pattern": _PATH_PATTERN})
]


class ServerSettings(Section):
    """Where the gateway listens, and for whom."""

    host: Host = Field(default="127.0.0.1", description="The address that clients connect to.")
    port: Port = Field(default=4483, description="Its port; 0 takes any free one.")
    path: EndpointPath = Field(
        default="/mcp",
        description="The path of the endpoint; it is served with a slash at its end as well.",
    )
    allowed_hosts: tuple[HostHeader, ...] | None = Field(
        default=None,
        json_schema_extra={"minItems": 1},
        description=(
            "The values of the Host header that are served; a name without a port stands for every "
            "port. Absent: the names of the loopback when listening there, else all."
        ),
    )
    allowed_origins: tuple[Origin, ...] | None = Field(
        default=None,
        description=(
            "The origins of web pages that are served. Absent: the origins of the loopback when "
            "listening there, else none."
        ),
    )
    trusted_proxies: tuple[Proxy, ...] = Field(
        default=(),
        description=(
            "The addresses of proxies that are believed what they say of a request in `X-Forwarded-For`, "
            "`-Proto`, `-Host` and `-Prefix`, or in `Forwarded`: addresses, networks, or `*` for every address. "
            "Others are not believed."
        ),
    )
    tls: TlsSettings | None = Field(
        default=None, description="The certificate to serve https with. Absent: plain http."
    )
    limits: LimitSettings = Field(
        default=LimitSettings(), description="How many connections and requests are served at once."
    )
    sse: Flag = Field(
        default=False,
        description=(
            "Whether clients of the older HTTP+SSE transport are served as well: GET /sse opens their "
            "stream, POST /messages takes what they send."
        ),
    )
    ops_host: Host = Field(
        default="127.0.0.1", description="The address of /status and of the page."
    )
    ops_port: Port = Field(default=9464, description="Its port; 0 takes any free one.")
    seal_key_env: Annotated[VariableName, variable(seal_key_complaint)] | None = Field(
        default=None,
        description=(
            "The environment variable that holds the key by which the gateway knows again what it "
            "handed out to clients. Absent: a random key, which does not outlive the process."
        ),
    )
    seal_key_file: Annotated[FilePath, secret_file(seal_key_complaint)] | None = Field(
        default=None, description="The file that holds this key."
    )

    @property
    def seal_key_origin(self) -> SecretOrigin | None:
        """Where the key for seals comes from, None for a random key."""
        if self.seal_key_env is None and self.seal_key_file is None:
            return None
        return origin(None, self.seal_key_env, self.seal_key_file)

    @classmethod
    def faults(cls, given: Mapping[str, object]) -> Iterator[Fault]:
        """Refuse two keys for seals, a list of no hosts, and two things in one place."""
        if "sealKeyEnv" in given and "sealKeyFile" in given:
            yield Fault((), "Takes only one of several keys.", found="sealKeyEnv, sealKeyFile")
        if given.get("allowedHosts") == []:
            yield Fault(
                ("allowedHosts",), "Names no host, so that nobody is served.", found="an empty list"
            )
        path = given.get("path")
        if given.get("sse") is True and isinstance(path, str) and path.endswith(_SSE_PATHS):
            yield Fault(("path",), "Is taken by the older transport: sse is on.", found=repr(path))
        host, port = given.get("host", "127.0.0.1"), given.get("port", 4483)
        ops = given.get("opsHost", "127.0.0.1"), given.get("opsPort", 9464)
        if (host, port) == ops and port != 0:
            yield Fault(("opsPort",), "Is taken by clients: host and port are the same.")
