"""Where the client commands connect to, and the options by which a person says so."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

import typer

from vmcp.cli.output import TableFormat
from vmcp.cli.stop import ExitCode, Stop

DEFAULT_URL = "http://127.0.0.1:4483/mcp"
LIST_SECONDS = 30.0
# On the command line everybody on the machine could read it.
KEY_VARIABLE = "VMCP_API_KEY"
_CREDENTIALS = ("authorization", "x-api-key")


class EraChoice(StrEnum):
    """Which era of MCP to speak: what the server offers, or one of the two."""

    AUTO = "auto"
    SESSIONED = "sessioned"
    STATELESS = "stateless"


Url = Annotated[str, typer.Option("--url", help="The MCP server's URL.", envvar="VMCP_URL")]
ChosenEra = Annotated[EraChoice, typer.Option("--era", help="The era of MCP to speak.")]
Seconds = Annotated[
    float, typer.Option("--timeout", min=0.1, metavar="SECONDS", help="Give up after this time.")
]
Headers = Annotated[
    list[str] | None,
    typer.Option(
        "--header",
        "-H",
        metavar="'NAME: VALUE'",
        help="A header to send; repeatable. VMCP_API_KEY holds a key to send without it.",
    ),
]
CaFile = Annotated[
    Path | None,
    typer.Option(
        "--ca-file",
        metavar="FILE",
        help="Trust the certificates in this PEM file alone.",
        envvar="VMCP_CA_FILE",
    ),
]

PrintedList = Annotated[TableFormat, typer.Option("--output", "-o", help="How to print the list.")]


@dataclass(frozen=True, slots=True)
class Target:
    """A server to speak to, how, and for how long."""

    url: str
    era: EraChoice
    timeout_seconds: float
    headers: tuple[tuple[str, str], ...] = ()
    ca_file: Path | None = None


def aim(
    url: str, era: EraChoice, seconds: float, headers: list[str] | None, ca_file: Path | None
) -> Target:
    """Return the target that the options give; raise Stop for those that can never work."""
    named = tuple(_header(line) for line in headers or ())
    # What a person writes out stands above what the environment holds.
    if not any(name.lower() in _CREDENTIALS for name, _ in named) and (key := _key()):
        named = (*named, ("Authorization", f"Bearer {key}"))
    return Target(_checked(url), era, seconds, named, ca_file)


def _key() -> str:
    """Return the API key that the environment holds, an empty text for none; raise Stop."""
    key = os.environ.get(KEY_VARIABLE, "").strip()
    if re.fullmatch(r"[\x21-\x7e]*", key) is None:
        # It may be a secret, so it is not repeated.
        message = f"{KEY_VARIABLE} holds no key: white space, or characters other than ASCII."
        raise Stop(message, ExitCode.USAGE)
    return key


def _checked(url: str) -> str:
    try:
        parts = urlsplit(url)
        is_complete = parts.scheme in ("http", "https") and bool(parts.hostname)
        _ = parts.port
    except ValueError as error:
        raise Stop(f"'{url}' is no URL: {error}.", ExitCode.USAGE) from None
    if is_complete:
        return url
    if "://" in url:
        raise Stop(f"'{url}' is no HTTP URL: write http://HOST:PORT/mcp.", ExitCode.USAGE)
    raise Stop(f"'{url}' lacks its scheme: try http://{url.lstrip('/')}", ExitCode.USAGE)


def _header(line: str) -> tuple[str, str]:
    name, colon, value = line.partition(":")
    if not colon or not name.strip():
        # The value may be a secret, so the line is not repeated.
        raise Stop("--header takes 'NAME: VALUE'.", ExitCode.USAGE)
    return name.strip(), value.strip()
