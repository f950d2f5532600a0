"""The client of a gateway's operations port: JSON of a path, or words for what is in the way."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import SplitResult, urlencode, urlsplit

import typer

from vmcp.cli.stop import ExitCode, Stop

if TYPE_CHECKING:
    from collections.abc import Mapping
    from http.client import HTTPConnection

DEFAULT_OPS_URL = "http://127.0.0.1:9464"
ANSWER_SECONDS = 30.0
# What a whole catalog with all its problems may need.
_MOST_BYTES = 64 * 2**20

OpsUrl = Annotated[
    str,
    typer.Option(
        "--ops-url",
        metavar="URL",
        envvar="VMCP_OPS_URL",
        help="The operations port of the gateway (server.opsHost and server.opsPort).",
    ),
]


@dataclass(frozen=True, slots=True)
class Answer:
    """What the gateway answered: a status that the caller knows, and the JSON of the body."""

    status: int
    value: Any


def get(ops_url: str, path: str, query: Mapping[str, str] | None = None) -> Any:
    """Return the JSON at a path; raise Stop with what is in the way."""
    return get_soon(ops_url, path, ANSWER_SECONDS, query)


def get_soon(
    ops_url: str, path: str, seconds: float, query: Mapping[str, str] | None = None
) -> Any:
    """Return the JSON at a path where silence longer than some seconds is in the way."""
    target = f"{path}?{urlencode(query)}" if query else path
    return _ask(ops_url, "GET", target, frozenset((200,)), seconds).value


def post(ops_url: str, path: str, expected: frozenset[int]) -> Answer:
    """Post nothing to a path and return one of the expected answers; raise Stop with what is in the way."""
    return _ask(ops_url, "POST", path, expected, ANSWER_SECONDS)


def _ask(
    ops_url: str, method: str, target: str, expected: frozenset[int], seconds: float
) -> Answer:
    base = _checked(ops_url)
    status, body = _exchanged(base, method, base.path.rstrip("/") + target, seconds)
    shown = f"{base.scheme}://{base.netloc}"
    if status not in expected:
        raise Stop(_refused(shown, status, body), ExitCode.TROUBLE)
    try:
        return Answer(status, json.loads(body))
    except (ValueError, RecursionError):
        raise Stop(
            f"What answers at {shown} is no operations port of vmcp.", ExitCode.TROUBLE
        ) from None


def _checked(ops_url: str) -> SplitResult:
    try:
        parts = urlsplit(ops_url)
        is_whole = parts.scheme in ("http", "https") and bool(parts.hostname)
        is_whole = is_whole and parts.port != 0 and "@" not in parts.netloc
    except ValueError:
        is_whole = False
    if not is_whole:
        raise Stop(
            f"--ops-url must be an http or https URL such as {DEFAULT_OPS_URL}.", ExitCode.USAGE
        )
    return parts


def _exchanged(base: SplitResult, method: str, target: str, seconds: float) -> tuple[int, bytes]:
    from http.client import HTTPException

    shown = f"{base.scheme}://{base.netloc}"
    connection = _connection(base, seconds)
    try:
        connection.request(method, target, headers={"Accept": "application/json"})
        answer = connection.getresponse()
        return answer.status, answer.read(_MOST_BYTES)
    except ConnectionRefusedError:
        raise Stop(
            f"Nothing listens at {shown}: is the gateway running? --ops-url or VMCP_OPS_URL "
            "names its operations port.",
            ExitCode.TROUBLE,
        ) from None
    except TimeoutError:
        raise Stop(f"No answer from {shown} in {seconds:g} s.", ExitCode.TROUBLE) from None
    except (OSError, HTTPException) as error:
        reason = getattr(error, "strerror", None) or type(error).__name__
        raise Stop(f"{shown} cannot be asked: {reason}.", ExitCode.TROUBLE) from None
    finally:
        connection.close()


def _connection(base: SplitResult, seconds: float) -> HTTPConnection:
    # A proxy between this command and the gateway would hide whose request it is.
    from http.client import HTTPConnection, HTTPSConnection

    kind = HTTPSConnection if base.scheme == "https" else HTTPConnection
    return kind(base.hostname or "", base.port, timeout=seconds)


def _refused(shown: str, status: int, body: bytes) -> str:
    said = body.decode(errors="replace").strip()
    is_plain = said and "\n" not in said and not said.startswith(("<", "{"))
    if (status in (403, 404, 405, 421) and not is_plain) or said == "Not Found":
        return f"What answers at {shown} is no operations port of this version of vmcp (HTTP {status})."
    return f"{shown} answered with HTTP {status}" + (f": {said}" if is_plain else ".")
