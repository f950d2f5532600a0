"""`vmcp serve`: the gateway itself."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from vmcp.cli import cluster, folder, output
from vmcp.cli.cluster import Context, Kubernetes, Status
from vmcp.cli.files import AnyConfigFile, Insecure, McpJson
from vmcp.cli.folder import GatewayName, Group, Loopback, Manifests, Namespace
from vmcp.cli.stop import ExitCode, Stop

if TYPE_CHECKING:
    from vmcp.assembly import Beside
    from vmcp.discovery.choice import Folder
    from vmcp.discovery.kubernetes import Place
    from vmcp.discovery.reload import LiveConfig


class LogLevel(StrEnum):
    """The least severe lines that are logged."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


class LogFormat(StrEnum):
    """What log lines look like; `auto` is text on a terminal and JSON elsewhere."""

    TEXT = "text"
    JSON = "json"
    AUTO = "auto"


Host = Annotated[str | None, typer.Option("--host", help="Listen here, not at server.host.")]
Port = Annotated[
    int | None, typer.Option("--port", min=0, max=65535, help="Instead of server.port.")
]
OpsPort = Annotated[
    int | None, typer.Option("--ops-port", min=0, max=65535, help="Instead of server.opsPort.")
]
Stdio = Annotated[
    bool,
    typer.Option("--stdio", help="Serve who launched it, on standard input and output; no ports."),
]
Backend = Annotated[
    str | None, typer.Option("--backend", metavar="NAME", help="With --stdio: this backend alone.")
]
View = Annotated[
    str | None, typer.Option("--view", metavar="NAME", help="With --stdio: this view alone.")
]
Ui = Annotated[
    bool, typer.Option("--ui", help="Show the page also where operations are not on loopback.")
]
Level = Annotated[LogLevel | None, typer.Option("--log-level", help="Instead of the config's.")]
Shape = Annotated[LogFormat, typer.Option("--log-format", help="What log lines look like.")]


def serve(  # noqa: PLR0913 (each option is one)
    *,
    config: AnyConfigFile = None,
    mcp_json: McpJson = None,
    kubernetes: Kubernetes = False,
    context: Context = None,
    status: Status = None,
    manifests: Manifests = None,
    name: GatewayName = None,
    group: Group = None,
    namespace: Namespace = None,
    allow_loopback_backends: Loopback = False,
    host: Host = None,
    port: Port = None,
    ops_port: OpsPort = None,
    stdio: Stdio = False,
    backend: Backend = None,
    view: View = None,
    ui: Ui = False,
    insecure_anonymous: Insecure = False,
    log_level: Level = None,
    log_format: Shape = LogFormat.AUTO,
) -> None:
    """Serve all backends of a config file, a folder of manifests or a cluster at one URL, until it is stopped."""
    if stdio and (ui or (host, port, ops_port) != (None, None, None)):
        raise Stop(
            "With --stdio nothing listens: leave out --host, --port, --ops-port and --ui.",
            ExitCode.USAGE,
        )
    if (backend, view) != (None, None) and (not stdio or None not in (backend, view)):
        raise Stop(
            "--backend or --view goes with --stdio; over HTTP each has a path of its own.",
            ExitCode.USAGE,
        )
    if kubernetes and manifests is not None:
        raise Stop("--kubernetes and --manifests do not go together.", ExitCode.USAGE)
    if not kubernetes and (context, status) != (None, None):
        raise Stop("--context and --status go with --kubernetes.", ExitCode.USAGE)
    place = chosen = None
    if kubernetes:
        place = cluster.place(name, group, namespace, allows_loopback=allow_loopback_backends)
    else:
        chosen = folder.choice(
            manifests, name, group, namespace, allows_loopback=allow_loopback_backends
        )
    with _uncollected():
        from vmcp.cli import configuration

    options = {
        "server": _given(host=host, port=port, opsPort=ops_port),
        "operational": _given(logLevel=None if log_level is None else log_level.value),
    }
    # What nobody can connect to lets nobody in.
    load = configuration.loading(may_be_exposed=stdio or insecure_anonymous)
    sources = configuration.sources(
        config, mcp_json, options, manifests, None if place is None else place.namespace
    )
    loaded = configuration.read_all(sources, load)
    with _uncollected():
        import uvloop

        from vmcp import app
        from vmcp.clock import SystemClock
        from vmcp.discovery.reload import LiveConfig
        from vmcp.errors import CannotListen, ExtraMissing

    live = LiveConfig(partial(load, sources, os.environ), loaded, SystemClock())
    beside = _in_folder(chosen, live) if place is None else _joined(place, context, status, live)
    if stdio:
        _serve_launcher(live, log_format, beside, backend, view)
        return
    try:
        uvloop.run(app.serve(live, os.environ, log_format.value, _announce, beside, ui=ui))
    except CannotListen as error:
        raise Stop(f"{error} Is it running already?", ExitCode.FAILED) from None
    except ExtraMissing as error:
        raise Stop(str(error), ExitCode.FAILED) from None


def _serve_launcher(
    live: LiveConfig, shape: LogFormat, beside: Beside, backend: str | None, view: str | None
) -> None:
    """Serve who launched us; raise Stop where there is not what it wants."""
    import uvloop

    from vmcp import app
    from vmcp.cli.part import part
    from vmcp.transport.incoming.stdio import own_streams

    served = part(live.loaded.value, backend, view, beside.sources)
    work = app.serve_stdio(live, os.environ, shape.value, own_streams(), served, beside)
    if (missing := uvloop.run(work)) is not None:
        raise Stop(missing, ExitCode.FAILED)


def _joined(place: Place, context: str | None, status: bool | None, live: LiveConfig) -> Beside:  # noqa: FBT001
    """Return what follows a namespace."""
    from vmcp.cli.joined import beside

    if status and place.choice.gateway is None:
        raise Stop("--status goes with --name: a group has no such status.", ExitCode.USAGE)
    return beside(place, context, live.loaded, writes_status=status)


def _in_folder(chosen: Folder | None, live: LiveConfig) -> Beside:
    """Return the source of a folder, if there is one."""
    from vmcp.assembly import ALONE, Beside

    if chosen is None:
        return ALONE
    from vmcp.cli.folder_source import source

    return Beside((source(chosen, live.loaded),))


@contextmanager
def _uncollected() -> Iterator[None]:
    """Look for no garbage in the block: what is imported stays, and looking takes a tenth of the start."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _given(**options: object) -> dict[str, object]:
    """Return the options that were given."""
    return {key: value for key, value in options.items() if value is not None}


def _announce(url: str) -> None:
    """Tell a person where the gateway is; programs read the log."""
    if sys.stderr.isatty():
        output.remark(f"vmcp serves {url} (Ctrl-C stops it)")
