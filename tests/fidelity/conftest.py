"""One gateway over a backend of each era, and one over both with renamed things; all pairs of eras."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

import pytest
import yaml

from tests.fidelity.documents import documents
from tests.support.raw_backend import RawBackend, raw_backend
from tests.support.raw_client import RawClient, raw_client
from tests.support.raw_server import Era
from tests.support.servers import run_gateway

LISTS = {
    "tools/list": "tools",
    "prompts/list": "prompts",
    "resources/list": "resources",
    "resources/templates/list": "templates",
}


@dataclass(frozen=True, slots=True)
class Pair:
    """A client and a backend, with the gateway between them.

    `prefix` is what the gateway puts before the names of the backend's tools and prompts.
    """

    client: RawClient
    backend: RawBackend
    prefix: bytes = b""

    @property
    def is_crossed(self) -> bool:
        """Whether the two speak different eras."""
        return self.client.era is not self.backend.era


def lists_of(era: Era) -> dict[str, tuple[bytes, ...]]:
    """Return what a backend of an era lists."""
    found = {method: documents(name) for method, name in LISTS.items()}
    if era is Era.STATELESS:
        found["tools/list"] += documents("tools_stateless")
    return found


@contextmanager
def gateway_over(*backends: RawBackend, rename: bool) -> Iterator[str]:
    """Run a gateway; it renames things by the era of their backend, or not at all."""
    config = {
        "backends": [{"name": each.era.value, "url": each.url} for each in backends],
        "aggregation": {
            "conflictResolution": "prefix",
            "conflictResolutionConfig": {"prefixOnConflict": not rename},
        },
    }
    with run_gateway(yaml.safe_dump(config)) as gateway:
        yield gateway.url


@pytest.fixture(scope="session")
def backends() -> Iterator[dict[Era, RawBackend]]:
    with ExitStack() as stack:
        yield {era: stack.enter_context(raw_backend(era, lists_of(era))) for era in Era}


@pytest.fixture(scope="session")
def pairs(backends: dict[Era, RawBackend]) -> Iterator[dict[tuple[Era, Era], Pair]]:
    with ExitStack() as stack:
        found = {}
        for backend in backends.values():
            url = stack.enter_context(gateway_over(backend, rename=False))
            for era in Era:
                client = stack.enter_context(raw_client(url, era))
                found[era, backend.era] = Pair(client, backend)
        yield found


@pytest.fixture(scope="session")
def renamed_pairs(backends: dict[Era, RawBackend]) -> Iterator[dict[tuple[Era, Era], Pair]]:
    with ExitStack() as stack:
        url = stack.enter_context(gateway_over(*backends.values(), rename=True))
        clients = {era: stack.enter_context(raw_client(url, era)) for era in Era}
        yield {
            (era, backend.era): Pair(clients[era], backend, backend.era.value.encode() + b"_")
            for era in Era
            for backend in backends.values()
        }


@pytest.fixture(scope="session")
def alone_pairs(backends: dict[Era, RawBackend]) -> Iterator[dict[tuple[Era, Era], Pair]]:
    with ExitStack() as stack:
        url = stack.enter_context(gateway_over(*backends.values(), rename=True))
        found = {}
        for backend in backends.values():
            for era in Era:
                client = stack.enter_context(raw_client(f"{url}/{backend.era.value}", era))
                found[era, backend.era] = Pair(client, backend)
        yield found


each_pair = [(client, backend) for client in Era for backend in Era]


@pytest.fixture(params=each_pair, ids=lambda p: f"{p[0].value} to {p[1].value}")
def pair(request: pytest.FixtureRequest, pairs: dict[tuple[Era, Era], Pair]) -> Pair:
    return pairs[request.param]


@pytest.fixture(params=each_pair, ids=lambda p: f"{p[0].value} to {p[1].value}, renamed")
def renamed_pair(
    request: pytest.FixtureRequest, renamed_pairs: dict[tuple[Era, Era], Pair]
) -> Pair:
    return renamed_pairs[request.param]


@pytest.fixture(params=each_pair, ids=lambda p: f"{p[0].value} to {p[1].value}, alone")
def alone_pair(request: pytest.FixtureRequest, alone_pairs: dict[tuple[Era, Era], Pair]) -> Pair:
    return alone_pairs[request.param]
