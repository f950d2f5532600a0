"""A whole gateway with its listener in the event loop of the test, and the proof that it keeps nothing."""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.backends import Fake
from tests.support.waiting import until
from vmcp.assembly import Beside, Companion, running
from vmcp.auth.incoming import Anonymous
from vmcp.clock import Clock, SystemClock
from vmcp.config.load import Loaded, load
from vmcp.discovery.reload import LiveConfig
from vmcp.discovery.source import Source
from vmcp.gateway.core import Gateway
from vmcp.gateway.ports import BackendClient
from vmcp.gateway.status import status
from vmcp.latest import Latest
from vmcp.transport.incoming import front
from vmcp.transport.incoming.arrival import Proxies
from vmcp.transport.incoming.endpoint import Endpoint
from vmcp.transport.incoming.entrance import Entrance, entrance, follow
from vmcp.transport.incoming.httpsse import HttpSse, beside
from vmcp.transport.incoming.keeper import Keeper
from vmcp.transport.incoming.limits import doors
from vmcp.transport.incoming.server import Server, listening, server
from vmcp.transport.incoming.tls import Certificate
from vmcp.transport.outgoing.http import HttpConnector
from vmcp.transport.outgoing.supervised import SupervisedBackend

# Who comes from this machine may come in.
AT_LOOPBACK = Entrance(doors("127.0.0.1", None, None), Proxies(), Anonymous(), 5_000)


@dataclass(frozen=True, slots=True)
class Served:
    """A gateway that serves: where, and its parts for a look inside."""

    url: str
    gateway: Gateway
    endpoint: Endpoint
    keeper: Keeper
    live: LiveConfig

    def apply(
        self, settings: Mapping[str, Any], environment: Mapping[str, str] | None = None
    ) -> None:
        """Put another configuration in force, as a reload does."""
        self.live.loaded.set(loaded(settings, environment))

    def status(self) -> dict[str, Any]:
        """Return what operators see."""
        found: dict[str, Any] = json.loads(status(self.gateway))
        return found

    def client(self, name: str) -> SupervisedBackend:
        """Return the client of a backend."""
        for member in self.gateway.pool.members.values():
            if member.client.backend.name == name:
                assert isinstance(member.client, SupervisedBackend)
                return member.client
        raise KeyError(name)

    async def shows(self, *tools: str) -> None:
        """Wait until exactly these tools are in the catalog."""
        await until(lambda: self.gateway.views.catalog.value.tools.names == tuple(sorted(tools)))

    def left(self) -> list[str]:
        """Return what is kept although nobody needs it, when all clients have gone."""
        gateway, watchers = self.gateway, self.gateway.watchers
        kept = {
            "answers": len(self.keeper),
            "sessions": len(gateway.sessions),
            "bytes of streams": gateway.sessions._archive.held,
            "streams": len(gateway.sessions._archive._parted),
            "calls": sum(member.calls for member in gateway.pool.members.values()),
            "parked calls": len(gateway.parked) + _running(gateway),
            "watchers": len(watchers._all),
            "subscribed": len(watchers._resources) + len(watchers._served) + len(watchers._turns),
            "subscriptions": len(self.endpoint._stateless.subscriptions),
        }
        for member in gateway.pool.members.values():
            assert isinstance(member.client, SupervisedBackend)
            kept.update(_kept_by(member.client))
        kept["connections"] = max(0, self._connections() - len(gateway.pool.members))
        return [f"{count} {what}" for what, count in kept.items() if count]

    def _connections(self) -> int:
        """Return how many connections to backends are in use; the listener of each has one."""
        pools = {
            id(pool): pool
            for member in self.gateway.pool.members.values()
            if (connector := _http(member.client)) is not None
            for pool in connector._sessioned._pipe._http._pools.values()
        }
        return sum(
            len({each for each in pool._all if each.is_open}.difference(pool._idle))
            for pool in pools.values()
        )

    async def is_idle(self) -> None:
        """Wait until nothing is left of any client; fail with what is."""
        try:
            await until(lambda: not self.left())
        except AssertionError:
            raise AssertionError(f"left behind: {self.left()}") from None


def _running(gateway: Gateway) -> int:
    tasks = gateway.parked._tasks
    return 0 if tasks is None else len(tasks._tasks)


def _http(client: BackendClient) -> HttpConnector | None:
    connector = getattr(getattr(client, "_connect", None), "__self__", None)
    return connector if isinstance(connector, HttpConnector) else None


def _kept_by(client: SupervisedBackend) -> Mapping[str, int]:
    name, connector = client.backend.name, _http(client)
    kept = {
        f"errands of {name}": len(client._errands),
        f"resources of {name}": len(client._uris),
    }
    if connector is not None:
        of_both = connector._sessioned._sessions, connector._older._sessions
        kept[f"sessions at {name}"] = sum(len(each._kept) + len(each._turns) for each in of_both)
    return kept


def loaded(config: Mapping[str, Any], environment: Mapping[str, str] | None = None) -> Loaded:
    """Return a configuration as if it had been read from a file."""
    with tempfile.TemporaryDirectory(prefix="vmcp-test-") as place:
        path = Path(place) / "vmcp.yaml"
        path.write_text(json.dumps(config))
        return load(path, environment or {})


def live_config(
    settings: Mapping[str, Any], environment: Mapping[str, str] | None = None
) -> LiveConfig:
    """Return a configuration in its cell; nobody reads it anew."""
    read = loaded(settings, environment)
    return LiveConfig(lambda: read, read, SystemClock())


def config(*fakes: Fake, each: Mapping[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    """Return a configuration with fakes as the backends a, b, c; names are prefixed on conflict.

    `each` are more settings of all backends.
    """
    return {
        "backends": [
            {"name": name, "url": fake.url, "transport": "streamable-http", **(each or {})}
            for name, fake in zip("abcdefgh", fakes, strict=False)
        ],
        "aggregation": {"conflictResolutionConfig": {"prefixOnConflict": True}},
        **more,
    }


@asynccontextmanager
async def gateway_of(
    settings: Mapping[str, Any],
    clock: Clock | None = None,
    *,
    environment: Mapping[str, str] | None = None,
    awaited: bool = True,
    others: Callable[[LiveConfig], Sequence[Source]] = lambda _: (),
    companions: Sequence[Callable[[Gateway], Companion]] = (),
) -> AsyncIterator[Served]:
    """Serve a configuration for the block; `clock` times silence, `others` makes sources beside the config.
    `companions` run beside the gateway.

    No task is left behind it.
    """
    before = asyncio.all_tasks()
    with listening("127.0.0.1", 0) as socket:
        live = live_config(settings, environment)
        async with running(live, {}, Beside(others(live), companions)) as gateway:
            keeper = Keeper(clock or SystemClock())
            read = live.loaded.value
            at, path = Latest(entrance(read)), read.config.server.path
            endpoint = Endpoint(gateway, at, keeper)
            sse = HttpSse(endpoint, keeper, beside(path))
            at_door = front.Front(endpoint, path, lambda: gateway.readiness.is_ready, sse)
            shown = None if read.tls is None else Certificate(read.tls)
            main = server(at_door, 1.0, shown.context if shown else None)
            gateway.gauges.append(main.readings)
            async with asyncio.TaskGroup() as tasks:
                keeping = [
                    tasks.create_task(keeper.run()),
                    tasks.create_task(follow(live.loaded, at, endpoint.expel)),
                ]
                if shown:
                    keeping.append(tasks.create_task(shown.follow(live.loaded)))
                serving = tasks.create_task(main.serve([socket]))
                port = socket.getsockname()[1]
                scheme = "https" if shown else "http"
                served = Served(
                    f"{scheme}://127.0.0.1:{port}{path}", gateway, endpoint, keeper, live
                )
                if awaited:
                    await gateway.readiness.reached()
                try:
                    yield served
                finally:
                    endpoint.stop()
                    serving.cancel()
                    await shut(main)
                    for each in keeping:
                        each.cancel()
    left = [task for task in asyncio.all_tasks() - before if not _is_of_a_fake(task)]
    assert not left, f"tasks that go on: {left}"


async def shut(main: Server) -> None:
    """End a server as it does itself, without its pauses of 100 ms."""
    for each in main.servers:
        each.close()
    for connection in tuple(main.server_state.connections):
        connection.shutdown()
    await until(lambda: not main.server_state.connections)


def _is_of_a_fake(task: asyncio.Task[Any]) -> bool:
    name: str = getattr(task.get_coro(), "__qualname__", "")
    return name.startswith(("RequestHandler.", "Piped", "Scripted."))
