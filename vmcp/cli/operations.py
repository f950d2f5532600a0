"""The operations port of a running gateway, asked by the commands that look at it or steer it.

With the standard library alone: nothing heavy is imported for one small request.
"""

from __future__ import annotations

import http.client
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated
from urllib.parse import urlencode, urlsplit

import typer

from vmcp.cli.stop import ExitCode, Stop

DEFAULT_OPS_URL = "http://127.0.0.1:9464"
OPS_SECONDS = 10.0

OpsUrl = Annotated[
    str,
    typer.Option("--ops-url", help="The gateway's operations port.", envvar="VMCP_OPS_URL"),
]
OpsSeconds = Annotated[
    float, typer.Option("--timeout", min=0.1, metavar="SECONDS", help="Give up after this time.")
]


@dataclass(frozen=True, slots=True)
class Told:
    """An answer of the operations port."""

    status: int
    body: bytes

    def facts(self) -> Mapping[str, object]:
        """Return the JSON object that it holds; raise Stop where it holds none."""
        try:
            found = json.loads(self.body)
        except (ValueError, RecursionError):
            found = None
        if not isinstance(found, dict):
            raise Stop(
                f"What answers there is no gateway's operations port (HTTP {self.status}).",
                ExitCode.TROUBLE,
            )
        return found


class Silent(Exception):
    """Nobody answers at the operations port; the text says what was found instead."""


def get(ops_url: str, path: str, seconds: float, **query: str) -> Told:
    """Ask for a path; raise Stop in words for a person where nobody answers."""
    return _asked(ops_url, "GET", f"{path}?{urlencode(query)}" if query else path, seconds)


def post(ops_url: str, path: str, seconds: float) -> Told:
    """Tell the gateway to do something; raise Stop in words for a person where nobody answers."""
    return _asked(ops_url, "POST", path, seconds)


def _asked(ops_url: str, method: str, target: str, seconds: float) -> Told:
    try:
        return ask(ops_url, method, target, seconds)
    except Silent as silent:
        raise Stop(
            f"No gateway answers at {ops_url}: {silent}. Is it running? --ops-url names its operations port.",
            ExitCode.TROUBLE,
        ) from None


def ask(ops_url: str, method: str, target: str, seconds: float) -> Told:
    """Send one request; raise Silent, or Stop for what is no URL."""
    connection = _connection(ops_url, seconds)
    path = urlsplit(ops_url).path.rstrip("/")
    try:
        connection.request(method, f"{path}{target}", headers={"Accept": "application/json"})
        answer = connection.getresponse()
        return Told(answer.status, answer.read())
    except TimeoutError:
        raise Silent(f"nothing came within {seconds:g} s") from None
    except OSError as error:
        raise Silent(error.strerror or type(error).__name__) from None
    except http.client.HTTPException:
        raise Silent("what answers speaks no HTTP") from None
    finally:
        connection.close()


def _connection(ops_url: str, seconds: float) -> http.client.HTTPConnection:
    try:
        parts = urlsplit(ops_url)
        host, port = parts.hostname, parts.port
    except ValueError:
        host = port = None
    if host is None or parts.scheme not in ("http", "https"):
        raise Stop(
            f"'{ops_url}' is no URL of an operations port, such as {DEFAULT_OPS_URL}.",
            ExitCode.USAGE,
        )
    if parts.scheme == "https":
        return http.client.HTTPSConnection(host, port, timeout=seconds)
    return http.client.HTTPConnection(host, port, timeout=seconds)
