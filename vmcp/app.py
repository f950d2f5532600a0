"""The running process: a gateway with its listeners, and the order in which all of it ends."""

from __future__ import annotations

import asyncio
import gc
import logging
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from socket import socket

from vmcp.assembly import Beside, running
from vmcp.clock import SystemClock
from vmcp.config.exposure import is_exposed
from vmcp.config.schema import Config
from vmcp.discovery.reload import LiveConfig
from vmcp.gateway.core import Gateway
from vmcp.gateway.exporting import Exports
from vmcp.latest import Latest
from vmcp.model.address import is_loopback
from vmcp.model.view import View, below
from vmcp.net import signals
from vmcp.telemetry.setup import Format, configure
from vmcp.transport.incoming import crowd, descriptors, front, limits, stdio
from vmcp.transport.incoming.crowd import Crowd, bounds
from vmcp.transport.incoming.endpoint import Endpoint
from vmcp.transport.incoming.entrance import entrance, follow
from vmcp.transport.incoming.httpsse import HttpSse, beside
from vmcp.transport.incoming.keeper import Keeper
from vmcp.transport.incoming.operations import Operations
from vmcp.transport.incoming.server import listening, server
from vmcp.transport.incoming.tls import Certificate

log = logging.getLogger(__name__)

# How long calls under way may take when the process is told to end.
_GRACE_SECONDS = 20.0
# How long the listener may take after that, when there is nothing more to wait for.
_CLOSING_SECONDS = 1.0
# How long a client that launched us is not heard until the sources have told of what it wants.
_OPENING_SECONDS = 10.0
# A call makes few objects that refer to each other in circles; looking for them less often costs little memory.
_YOUNG_OBJECTS = 10_000


async def serve(
    live: LiveConfig,
    environment: Mapping[str, str],
    log_format: Format,
    on_listening: Callable[[str], None],
    beside: Beside,
    *,
    ui: bool,
) -> None:
    """Serve until SIGTERM or SIGINT; a second signal ends at once. Raise CannotListen or ExtraMissing.

    `ui` shows the page for people also where the operations port is not on loopback.
    """
    loaded = live.loaded.value
    configure(loaded.config.operational.log_level, log_format, sys.stderr)
    exports = Exports(loaded, SystemClock())
    settings = loaded.config.server
    with (
        listening(settings.host, settings.port) as main_socket,
        listening(settings.ops_host, settings.ops_port) as ops_socket,
    ):
        stop = signals.stop()
        async with (
            running(live, environment, beside) as gateway,
            _reloading(live),
            exports.of(gateway),
        ):
            signals.on_hang_up(live.ring, stop.set)
            scheme = "http" if loaded.tls is None else "https"
            url = _url(scheme, settings.host, main_socket, settings.path)
            log.info(
                "listening",
                extra={"url": url, "operations": _url("http", settings.ops_host, ops_socket, "")},
            )
            _warn_of_strangers(loaded.config)
            on_listening(url)
            await _serve(gateway, live, (main_socket, ops_socket), stop, ui=ui)


def _warn_of_strangers(config: Config) -> None:
    """Say which ports other machines reach without being asked who they are."""
    if is_exposed(config):
        log.warning("everybody who reaches this address may use the gateway")
    if not is_loopback(config.server.ops_host):
        log.warning("everybody who reaches this address may read the operations port")


async def serve_stdio(
    live: LiveConfig,
    environment: Mapping[str, str],
    log_format: Format,
    streams: tuple[int, int],
    view: View,
    beside: Beside,
) -> str | None:
    """Serve the one client at the other end of two file descriptors, until it leaves or a signal comes.

    Return why nothing was served, None where it was.
    """
    loaded = live.loaded.value
    configure(loaded.config.operational.log_level, log_format, sys.stderr)
    exports = Exports(loaded, SystemClock())
    keeper = Keeper(SystemClock())
    stop = signals.stop()
    async with (
        running(live, environment, beside) as gateway,
        _reloading(live),
        exports.of(gateway),
        asyncio.TaskGroup() as tasks,
    ):
        works = [tasks.create_task(_settle(gateway)), tasks.create_task(keeper.run())]
        log.info("serving on standard input and output")
        endpoint = Endpoint(gateway, Latest(entrance(loaded)), keeper)
        works += [
            opening := tasks.create_task(_opened(gateway, view)),
            stopping := tasks.create_task(_until(stop)),
        ]
        # Who launches a server asks at once, and what may not be served yet would be an error to it.
        first = asyncio.FIRST_COMPLETED
        await asyncio.wait((opening, stopping), timeout=_OPENING_SECONDS, return_when=first)
        missing = None if stop.is_set() else _missing(gateway, view)
        if missing is None:
            await stdio.serve(endpoint, streams, view, gateway.readiness.reached, stop)
        for work in works:
            work.cancel()
    return missing


async def _until(event: asyncio.Event) -> None:
    await event.wait()


def _missing(gateway: Gateway, view: View) -> str | None:
    """Return why there is no such view to serve, None where there is one."""
    if gateway.views.has(view):
        return None
    closed = gateway.registry.snapshot.value.closed
    if closed is not None:
        return f"{closed.reason}: {closed.message}"
    waited = f"{_OPENING_SECONDS:.0f} s"
    return f"There is no '{below(view)}' after {waited}: correct the name, or see its problems in the log."


@asynccontextmanager
async def _reloading(live: LiveConfig) -> AsyncIterator[None]:
    """Have the config follow what is on disk for the block."""
    async with asyncio.TaskGroup() as tasks:
        following = tasks.create_task(live.run())
        try:
            yield
        finally:
            following.cancel()


async def _opened(gateway: Gateway, view: View) -> None:
    """Wait until the sources have told of a view and it has been built."""
    async for snapshot in gateway.registry.snapshot.changes():
        if snapshot.is_known and await gateway.views.open(view):
            return


async def _serve(
    gateway: Gateway,
    live: LiveConfig,
    sockets: tuple[socket, socket],
    stop: asyncio.Event,
    *,
    ui: bool,
) -> None:
    loaded = live.loaded.value
    settings = loaded.config.server
    keeper = Keeper(SystemClock())
    doors = Latest(entrance(loaded))
    endpoint = Endpoint(gateway, doors, keeper)
    shown = None if loaded.tls is None else Certificate(loaded.tls)

    def is_ready() -> bool:
        return gateway.readiness.is_ready

    sse = HttpSse(endpoint, keeper, beside(settings.path)) if settings.sse else None
    at_door = front.Front(endpoint, settings.path, is_ready, sse)
    allowed = Latest(bounds(loaded))
    people = Crowd(allowed, descriptors.raised())
    context = shown.context if shown else None
    main = server(at_door, _CLOSING_SECONDS, context, people, gateway.refused)
    gateway.gauges.append(main.readings)
    own_doors = limits.doors(settings.ops_host, None, None)
    shows_page = ui or is_loopback(settings.ops_host)
    operations = Operations(gateway, live.reload, own_doors, shows_page=shows_page)
    ops = server(operations, _CLOSING_SECONDS)
    async with asyncio.TaskGroup() as tasks:
        settling = tasks.create_task(_settle(gateway))
        following = [
            tasks.create_task(keeper.run()),
            tasks.create_task(follow(live.loaded, doors, endpoint.expel)),
            tasks.create_task(crowd.follow(live.loaded, allowed)),
        ]
        if shown:
            following.append(tasks.create_task(shown.follow(live.loaded)))
        serving = tasks.create_task(main.serve([sockets[0]]))
        tasks.create_task(ops.serve([sockets[1]]))
        await stop.wait()
        main.hasten()
        await _drain(gateway, endpoint, keeper)
        main.stop()
        await serving
        ops.stop()
        for each in (*following, settling):
            each.cancel()


async def _settle(gateway: Gateway) -> None:
    """Spare the garbage collector what was made at the start and stays: code, settings, the first catalog."""
    # Until then much is made and nothing is thrown away.
    gc.set_threshold(_YOUNG_OBJECTS, 20, 1_000)
    await gateway.readiness.reached()
    gc.collect()
    gc.freeze()
    gc.set_threshold(_YOUNG_OBJECTS, 20, 20)


def _url(scheme: str, host: str, bound: socket, path: str) -> str:
    name = f"[{host}]" if ":" in host else host
    return f"{scheme}://{name}:{bound.getsockname()[1]}{path}"


async def _drain(gateway: Gateway, endpoint: Endpoint, keeper: Keeper) -> None:
    """Be ready no more, end the streams, and let the calls under way finish."""
    log.info("stopping", extra={"calls": len(keeper), "sessions": len(gateway.sessions)})
    gateway.readiness.stop()
    endpoint.stop()
    try:
        async with asyncio.timeout(_GRACE_SECONDS):
            await keeper.emptied()
    except TimeoutError:
        log.warning("calls are cut off", extra={"calls": len(keeper)})
        endpoint.cut_off()
        with suppress(TimeoutError):
            async with asyncio.timeout(_CLOSING_SECONDS):
                await keeper.emptied()
