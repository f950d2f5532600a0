"""`vmcp reload`: a running gateway reads its config anew, and says what came of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields
from typing import Annotated, Any

import typer

from vmcp.cli import operations, output
from vmcp.cli.operations import DEFAULT_OPS_URL, OpsUrl
from vmcp.cli.output import TextFormat
from vmcp.cli.stop import ExitCode, Stop
from vmcp.config.errors import ConfigError

Printed = Annotated[TextFormat, typer.Option("--output", "-o", help="How to print the outcome.")]


def reload(*, ops_url: OpsUrl = DEFAULT_OPS_URL, printed: Printed = TextFormat.TEXT) -> None:
    """Have a gateway on this machine read its config anew.

    Exit codes: 1 the config is broken and the one before stays in force, 3 the gateway cannot be asked.
    """
    answer = operations.post(ops_url, "/reload", frozenset((200, 422)))
    if printed is TextFormat.JSON:
        output.emit_json(answer.value)
    else:
        output.emit("\n".join(_lines(answer.value)))
    if answer.value["lastError"] is not None:
        raise Stop("The config before stays in force.", ExitCode.FAILED)


def _lines(told: Mapping[str, Any]) -> Iterator[str]:
    failure = told["lastError"]
    if failure is None:
        yield f"{', '.join(told['sources'])}: in force"
        for key in told["restartNeeded"]:
            yield f"- {key}: the new value waits for a restart"
        return
    yield str(failure["message"])
    for error in failure["errors"]:
        yield f"- {_error(error)}"


def _error(told: Mapping[str, Any]) -> ConfigError:
    known: dict[str, Any] = {field.name: told.get(field.name) for field in fields(ConfigError)}
    return ConfigError(**known)
