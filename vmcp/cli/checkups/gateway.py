"""The gateway that runs with a config, if one does: whether it answers, and whether it is well."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from vmcp.cli import operations
from vmcp.cli.checkups.steps import Outcome, Step
from vmcp.cli.stop import Stop
from vmcp.config.serving import ServerSettings

_SECONDS = 3.0
_EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - what is asked, not listened on


def examine(server: ServerSettings) -> Iterator[Step]:
    """Yield what a running gateway says of itself; nothing where none runs."""
    host = _EVERYWHERE.get(server.ops_host, server.ops_host)
    shown = f"[{host}]" if ":" in host else host
    try:
        told = operations.get_soon(f"http://{shown}:{server.ops_port}", "/status", _SECONDS)
    except Stop:
        # Nobody is there, or another program, which has the port.
        return
    if not isinstance(told, dict) or not {"version", "backends"} <= told.keys():
        return
    yield _ready(told)
    yield from _loaded(told.get("config"))


def _ready(told: Mapping[str, object]) -> Step:
    said = f"{told.get('name')} (vmcp {told['version']}) runs"
    if told.get("ready"):
        return Step("gateway", Outcome.OK, f"{said} and is ready.")
    return Step("gateway", Outcome.WARNING, f"{said} and is not ready.", "NotReady")


def _loaded(config: object) -> Iterator[Step]:
    error = config.get("lastError") if isinstance(config, Mapping) else None
    if isinstance(error, Mapping):
        yield Step("reload", Outcome.FAILED, f"{error.get('message')}.", "ConfigReloadFailed")
