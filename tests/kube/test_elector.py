"""Of several who want a Lease one leads, and who cannot renew it leads no more."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from tests.kube.scenes import FakeScene, Scene, asking
from tests.support.kube_api import FakeApi
from tests.support.waiting import until
from vmcp.clock import SystemClock
from vmcp.kube.elector import TERMS, Elector, Terms
from vmcp.kube.resource import LEASES

SOON = Terms(lease_seconds=2.0, renew_within_seconds=1.0, retry_seconds=0.1)
# For what may go wrong with a slow answer where little time is left.
PATIENT = Terms(
    lease_seconds=20.0, renew_within_seconds=10.0, retry_seconds=0.1, give_back_seconds=10.0
)
SECONDS = 10.0


@asynccontextmanager
async def electing(scene: Scene, identity: str, terms: Terms = SOON) -> AsyncIterator[Elector]:
    async with asking(scene.login) as server:
        elector = Elector(
            server, scene.namespace, "lease", identity=identity, clock=SystemClock(), terms=terms
        )
        async with asyncio.TaskGroup() as group:
            task = group.create_task(elector.run())
            yield elector
            task.cancel()


async def test_one_of_two_leads_and_the_other_follows_it(scene: Scene) -> None:
    async with electing(scene, "b") as other:
        async with electing(scene, "a") as one:
            await until(lambda: one.is_leader.value or other.is_leader.value)
            second = other if one.is_leader.value else one
            assert not second.is_leader.value
        await until(lambda: other.is_leader.value, SECONDS)


async def test_a_lease_without_a_holder_is_taken_at_once(scene: Scene) -> None:
    await scene.put(LEASES, {"metadata": {"name": "lease"}})
    async with electing(scene, "a", replace(TERMS, retry_seconds=0.1)) as elector:
        await until(lambda: elector.is_leader.value)


async def test_a_lease_whose_holder_is_gone_is_taken_when_it_has_not_moved_for_its_time(
    scene: Scene,
) -> None:
    spec = {
        "holderIdentity": "gone",
        "leaseDurationSeconds": 1,
        "renewTime": "2999-01-01T00:00:00.000000Z",
    }
    await scene.put(LEASES, {"metadata": {"name": "lease"}, "spec": spec})
    async with electing(scene, "a") as elector:
        await until(lambda: elector.is_leader.value, SECONDS)
        async with asking(scene.login) as server:
            lease = await server.get(LEASES.path("v1", scene.namespace, "lease"), {})

    assert lease["spec"]["holderIdentity"] == "a"
    assert lease["spec"]["leaseTransitions"] == 1


async def test_who_ends_gives_the_lease_back(scene: Scene) -> None:
    async with electing(scene, "a", PATIENT) as elector:
        await until(lambda: elector.is_leader.value)
    async with asking(scene.login) as server:
        lease = await server.get(LEASES.path("v1", scene.namespace, "lease"), {})

    assert not lease["spec"].get("holderIdentity")


async def test_who_cannot_renew_stops_leading_before_another_may_begin(
    fake: FakeApi, fake_scene: FakeScene
) -> None:
    terms = replace(SOON, lease_seconds=8.0)
    async with electing(fake_scene, "a", terms) as elector:
        await until(lambda: elector.is_leader.value)
        loop = asyncio.get_running_loop()
        fake.is_silent = True
        begun = loop.time()

        await until(lambda: not elector.is_leader.value, SECONDS)

        assert loop.time() - begun < terms.lease_seconds
        fake.is_silent = False
        await until(lambda: elector.is_leader.value, SECONDS)


async def test_who_loses_the_right_to_the_lease_stops_leading_and_says_why(
    fake: FakeApi, fake_scene: FakeScene
) -> None:
    async with electing(fake_scene, "a") as elector:
        await until(lambda: elector.is_leader.value)

        fake.denied = {"leases"}

        await until(lambda: not elector.is_leader.value, SECONDS)
        await until(lambda: "403" in elector.error.value, SECONDS)
        fake.denied = set()
        await until(lambda: elector.is_leader.value and not elector.error.value, SECONDS)


async def test_that_the_lease_cannot_be_had_is_logged_once_however_that_is_said(
    fake_scene: FakeScene, caplog: pytest.LogCaptureFixture
) -> None:
    await fake_scene.put(LEASES, {"metadata": {"name": "lease"}})
    async with electing(fake_scene, "a", PATIENT) as elector:
        await until(lambda: elector.is_leader.value, SECONDS)
        for status in (500, 403, 429, 500):
            fake_scene.api.failing = status
            await until(lambda: str(status) in elector.error.value, SECONDS)  # noqa: B023 - waited for here
        fake_scene.api.failing = 0
        await until(lambda: elector.is_leader.value and not elector.error.value, SECONDS)

    told = [each.message for each in caplog.records if each.levelname == "WARNING"]
    assert told == ["the lease cannot be had"]
