"""A gateway on a real API server: what is applied there is served, and open sessions hear of it."""

from __future__ import annotations

import pytest

from tests.journeys.pairs import at_both_backs, backend, client, in_both_fronts
from tests.journeys.test_manifests import (
    AUTH,
    CA,
    TOOLS,
    answers,
    auth,
    ca,
    entry,
    key,
    obj,
    open_stream,
    reasons,
    secured,
)
from tests.kube.scenes import SOON
from tests.net.certificates import authority, identity
from tests.support.backends import serving
from tests.support.clients import named
from tests.support.cluster.cluster import Cluster
from tests.support.cluster.definitions import install
from tests.support.cluster.resources import Resources
from tests.support.gateways import gateway_of


@pytest.fixture
def resources(cluster: Cluster) -> Resources:
    install(cluster)
    return Resources(cluster, "weather-key", "weather-ca")


@in_both_fronts
@at_both_backs
async def test_all_that_happens_to_an_entry_is_seen_by_an_open_session(
    front: str, back: str, resources: Resources
) -> None:
    fake = backend(back)
    fake.tls = identity("127.0.0.1", signer=authority("first")).server()
    fake.wanted = {"x-api-key": "one"}
    source = resources.source(SOON, group="tools")
    async with (
        serving(fake),
        gateway_of({"backends": []}, others=source) as served,
        client(front, served.url) as caller,
    ):
        stream = await open_stream(caller)
        assert await caller.tools() == []

        await resources.put(obj("MCPGroup", "tools", {}), key("one"), ca("first"), auth())
        await resources.put(entry(fake, **CA, **AUTH))
        await stream.heard(TOOLS)
        assert await caller.tools() == ["weather_echo"]
        await caller.ask("tools/call", named("weather_echo"))

        await secured(fake, "second", "two")
        await resources.put(key("two"), ca("second"))
        await answers(caller)
        assert fake.heard.all[-1].headers["x-api-key"] == "two"

        await resources.remove("ConfigMap", "weather-ca")
        await served.shows()
        where = f"MCPServerEntry/{resources.namespace}/weather"
        assert reasons(served) == [(where, "CABundleNotFound")]
        assert (await caller.refused("tools/call", named("weather_echo")))["code"] == -32602

        await resources.put(ca("second"))
        await served.shows("weather_echo")
        await caller.ask("tools/call", named("weather_echo"))

        await resources.put(entry(fake, group="other", **CA, **AUTH))
        await served.shows()
        assert reasons(served) == []

        await resources.put(entry(fake, **CA, **AUTH))
        await served.shows("weather_echo")
        stream = await open_stream(caller)
        await resources.remove("MCPServerEntry", "weather")
        await stream.heard(TOOLS)
        assert await caller.tools() == []
