"""What is measured side by side: who stands between the load generator and the echo backend."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import yaml

from benchmarks.eras import ERAS, SESSIONED
from benchmarks.observed import collecting, scraping
from benchmarks.processes import accepts, free_port, is_ok, output_of, python, running
from benchmarks.rows import Found

_MODULES = {
    "relay": "benchmarks.relay",
    "relay-lean": "benchmarks.relay_lean",
    "fastmcp": "benchmarks.fastmcp_proxy",
}
SCRAPED, TRACED = "gateway-scraped", "gateway-traced"
ALL_CASES = ("direct", "relay", "relay-lean", "gateway", SCRAPED, TRACED, "fastmcp")
_LOAD_SECONDS_SPARE = 90.0


@dataclass(frozen=True, slots=True)
class Subject:
    """A running case: where it listens, in front of a backend of which era, and its process."""

    case: str
    era: str
    url: str
    pid: int
    stats: str
    tool: str = "echo"


@dataclass(frozen=True, slots=True)
class Gateway:
    """A running gateway, and its operations port."""

    url: str
    operations: str
    pid: int


class LoadFailed(RuntimeError):
    """Some answers under load were wrong or missing."""


@asynccontextmanager
async def echo(*options: object) -> AsyncIterator[tuple[str, int]]:
    """Run an echo backend; give the start of its URLs and its process id."""
    port = free_port()
    command = python("benchmarks.echo", "--port", port, *options)
    async with running(command, is_ready=partial(accepts, port)) as pid:
        yield f"http://127.0.0.1:{port}", pid


@asynccontextmanager
async def gateway(
    backends: Sequence[dict[str, object]], *, ready_path: str = "/readyz", **more: object
) -> AsyncIterator[Gateway]:
    """Run `vmcp serve` in front of the backends, with everything at its default but for `more` sections."""
    port, ops_port = free_port(), free_port()
    server = {"port": port, "opsPort": ops_port}
    url = f"http://127.0.0.1:{port}"
    with _config_file({"backends": list(backends), "server": server, **more}) as path:
        command = (str(Path(sys.executable).parent / "vmcp"), "serve", "--config", path)
        async with running(command, is_ready=partial(is_ok, url + ready_path)) as pid:
            yield Gateway(f"{url}/mcp", f"http://127.0.0.1:{ops_port}", pid)


@contextmanager
def _config_file(config: dict[str, object]) -> Iterator[str]:
    with TemporaryDirectory() as folder:
        path = Path(folder, "vmcp.yaml")
        path.write_text(yaml.safe_dump(config))
        yield str(path)


@asynccontextmanager
async def subjects(names: Sequence[str]) -> AsyncIterator[tuple[Subject, ...]]:
    """Run the named cases, each once in front of a backend of each era."""
    async with AsyncExitStack() as stack:
        found: list[Subject] = []
        for era in ERAS:
            backend, pid = await stack.enter_async_context(echo("--eras", era))
            direct = Subject("direct", era, f"{backend}/mcp", pid, f"{backend}/stats")
            found += [await _start(stack, name, direct) for name in names]
        yield tuple(found)


async def _start(stack: AsyncExitStack, name: str, direct: Subject) -> Subject:
    if name == "direct":
        return direct
    if name in ("gateway", SCRAPED, TRACED):
        return await _start_gateway(stack, name, direct)
    module = _MODULES[name]
    port = free_port()
    command = python(module, port, direct.url)
    pid = await stack.enter_async_context(running(command, is_ready=partial(accepts, port)))
    return Subject(name, direct.era, f"http://127.0.0.1:{port}/mcp", pid, direct.stats)


async def _start_gateway(stack: AsyncExitStack, name: str, direct: Subject) -> Subject:
    more: dict[str, object] = {}
    if name == TRACED:
        more["telemetry"] = await stack.enter_async_context(collecting())
    front = await stack.enter_async_context(gateway([_only_backend(direct)], **more))
    if name == SCRAPED:
        await stack.enter_async_context(scraping(front.operations))
    return Subject(name, direct.era, front.url, front.pid, direct.stats, "echo_echo")


def _only_backend(direct: Subject) -> dict[str, object]:
    backend: dict[str, object] = {"name": "echo", "url": direct.url}
    # Clients without sessions may share one here, so that each of their calls is one request.
    return backend | ({"sessionScope": "shared"} if direct.era == SESSIONED else {})


async def load(url: str, *, seconds: float, **options: object) -> Found:
    """Run the load generator in a process of its own and return what it found."""
    flags = [
        part for name, value in options.items() for part in (f"--{name.replace('_', '-')}", value)
    ]
    command = python("benchmarks.load", "--url", url, "--seconds", seconds, *flags)
    printed = await output_of(command, seconds=seconds + _LOAD_SECONDS_SPARE)
    found: dict[str, float | None] = json.loads(printed)
    if found.pop("errors") or not found["calls"]:
        raise LoadFailed(f"{url} under {options}: {found.pop('error_kinds') or 'no call at all'}")
    return found
