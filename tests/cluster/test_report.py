"""A real API server takes what is reported, and keeps what others say of the same object."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from copy import deepcopy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from tests.crd.broken_spec import SMALLEST
from tests.report.pictures import backend, failing, health, left_out, picture, well
from tests.support.cluster.admin import Object
from tests.support.cluster.cluster import Cluster
from tests.support.cluster.definitions import PATH, conditions, install, path_of
from tests.support.waiting import moment, until
from vmcp.clock import SystemClock
from vmcp.crd.definitions import definitions
from vmcp.kube.client import ApiServer
from vmcp.kube.elector import Terms
from vmcp.kube.login import ByKubeconfig
from vmcp.kube.resource import LEASES
from vmcp.kube.trimming import Kept, keeping, kept
from vmcp.latest import Latest
from vmcp.model.auth import AuthDecision, AuthOrigin, BearerToken
from vmcp.model.health import Circuit, State
from vmcp.model.keys import ObjectKey
from vmcp.model.secret import Secret
from vmcp.report.entries import Picture
from vmcp.report.pace import PACE
from vmcp.report.reporter import Candidate, Cells, Report
from vmcp.report.subject import GATEWAYS
from vmcp.report.told import Told

SECONDS = 20.0
TERMS = Terms(
    lease_seconds=3.0, renew_within_seconds=2.0, retry_seconds=0.2, give_back_seconds=10.0
)
# As in production, but for those waits that a test would only sit through.
SOON = replace(
    PACE,
    settle_seconds=0.05,
    gap_seconds=0.2,
    bytes_per_second=10e6,
    poll_seconds=0.2,
    longest_seconds=1.0,
)
NAME, LEASE = "team", "team-vmcp-status"
LOST = picture(backend("wiki"), health={"wiki": failing()})


def rules(*more: Object) -> list[Object]:
    """Return what a Role allows that lets a gateway write its status."""
    status = {
        "apiGroups": [GATEWAYS.group],
        "resources": ["virtualmcpservers/status"],
        "resourceNames": [NAME],
        "verbs": ["patch"],
    }
    lease = {
        "apiGroups": [LEASES.group],
        "resources": ["leases"],
        "resourceNames": [LEASE],
        "verbs": ["get", "update"],
    }
    return [status, lease, *more]


MAY_READ = {
    "apiGroups": [GATEWAYS.group],
    "resources": ["virtualmcpservers"],
    "resourceNames": [NAME],
    "verbs": ["get"],
}


@dataclass(frozen=True)
class Reporting:
    """A report with what it reads and the client by which it writes."""

    report: Report
    cells: Cells
    server: ApiServer

    @property
    def told(self) -> Told:
        return self.report.state.value

    def show(self, shown: Picture) -> None:
        """Have the gateway know something else."""
        self.cells.snapshot.set(shown.snapshot)
        self.cells.health.renew(shown.health)
        self.cells.known.set(shown.known)


class Place:
    """A namespace with a VirtualMCPServer and the empty Lease of the chart."""

    def __init__(self, cluster: Cluster, folder: Path) -> None:
        self.cluster = cluster
        self.folder = folder
        self.namespace = cluster.new_namespace()
        self.path = path_of("VirtualMCPServer", self.namespace)
        self.make()
        lease = {
            "apiVersion": LEASES.api_version("v1"),
            "kind": "Lease",
            "metadata": {"name": LEASE},
        }
        cluster.admin.do("POST", LEASES.path("v1", self.namespace), lease)

    def make(self) -> None:
        body = {
            "apiVersion": GATEWAYS.api_version("v1beta1"),
            "kind": GATEWAYS.kind,
            "metadata": {"name": NAME},
            "spec": SMALLEST[GATEWAYS.kind],
        }
        self.cluster.admin.do("POST", self.path, body)

    def remove(self) -> None:
        self.cluster.admin.do("DELETE", f"{self.path}/{NAME}")

    def found(self) -> Object:
        return self.cluster.admin.ask("GET", f"{self.path}/{NAME}").body

    def status(self) -> Object:
        found: Object = self.found().get("status", {})
        return found

    def entries(self) -> dict[str, Object]:
        return {each["name"]: each for each in self.status().get("discoveredBackends", ())}

    def says(self, name: str, status: str) -> bool:
        return self.entries().get(name, {}).get("status") == status

    def holder(self) -> str:
        lease = self.cluster.admin.do("GET", LEASES.path("v1", self.namespace, LEASE))
        found: str = lease.get("spec", {}).get("holderIdentity", "")
        return found

    def _see(self) -> Kept | None:
        found = self.found()
        return kept(found, keeping()) if found["kind"] == GATEWAYS.kind else None

    @asynccontextmanager
    async def reporting(
        self, identity: str, shown: Picture, *more: Object
    ) -> AsyncIterator[Reporting]:
        """Report for the block as an account of its own, under a Role that allows no more than is needed."""
        account = self.cluster.new_account(self.namespace, identity, rules(*more))
        token = self.cluster.pki.token(account, seconds=3600)
        config = self.cluster.write_kubeconfig(self.folder / identity, {"token": token})
        server = ApiServer(ByKubeconfig(str(config), None, SystemClock()), SystemClock())
        ready = asyncio.Event()
        ready.set()
        cells = Cells(Latest(shown.snapshot), Latest(shown.health), Latest(shown.known), ready.wait)
        key = ObjectKey(GATEWAYS.kind, NAME, self.namespace)
        candidate = Candidate(identity, TERMS, SOON)
        report = Report(server, key, self._see, cells, clock=SystemClock(), candidate=candidate)
        async with asyncio.TaskGroup() as tasks:
            task = tasks.create_task(report.run())
            yield Reporting(report, cells, server)
            task.cancel()


@pytest.fixture(scope="module")
def taught(cluster: Cluster) -> Cluster:
    """The cluster, which knows the kinds."""
    install(cluster)
    return cluster


@pytest.fixture
def place(taught: Cluster, tmp_path: Path) -> Place:
    return Place(taught, tmp_path)


async def test_every_field_is_taken_as_it_is_written(place: Place) -> None:
    sending = backend("sending", auth=BearerToken(Secret("hidden")))
    names = ("ready", "open", "half", "lost", "denied")
    shown = picture(
        sending,
        *map(backend, names),
        backend("new"),
        health={
            "sending": health(circuit=Circuit.CLOSED),
            "ready": health(),
            "open": health(circuit=Circuit.OPEN),
            "half": health(circuit=Circuit.HALF_OPEN),
            "lost": failing(),
            "denied": failing(State.UNAUTHENTICATED),
        },
        revisions={"sending": "2025-11-25"},
        decisions={sending.key: AuthDecision(AuthOrigin.OWN, "keys")},
        problems=(left_out("gone", "CABundleNotFound", "ConfigMap 'ca' does not exist."),),
    )
    async with place.reporting("a", shown):
        await until(place.entries, SECONDS)

    entries, status = place.entries(), place.status()
    assert {name: each["status"] for name, each in entries.items()} == {
        "denied": "unauthenticated",
        "gone": "unavailable",
        "half": "degraded",
        "lost": "unavailable",
        "new": "unknown",
        "open": "unavailable",
        "ready": "ready",
        "sending": "ready",
    }
    assert entries["sending"] == {
        "name": "sending",
        "status": "ready",
        "url": "https://sending.example.com/mcp",
        "message": "It answers.",
        "authConfigRef": "keys",
        "authType": "bearerToken",
        "lastHealthCheck": "2026-11-01T00:00:00Z",
        "consecutiveFailures": 0,
        "circuitBreakerState": "closed",
        "circuitLastChanged": "2026-11-01T00:00:00Z",
        "mcpRevision": "2025-11-25",
    }
    assert entries["gone"]["message"].startswith("CABundleNotFound: ")
    assert status["backendCount"] == 3
    assert conditions(place.found()) == {
        "AuthConfigured": "True",
        "BackendsDiscovered": "True",
        "Degraded": "True",
    }
    assert {each["observedGeneration"] for each in status["conditions"]} == {1}


async def test_what_others_say_of_the_object_stays(place: Place) -> None:
    ready = {
        "type": "Ready",
        "status": "True",
        "reason": "DeploymentReady",
        "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }
    theirs = {"phase": "Ready", "message": "It runs.", "url": "http://x"}
    operator = {"status": {**theirs, "conditions": [ready]}}
    await asyncio.to_thread(place.cluster.admin.merge, f"{place.path}/{NAME}/status", operator)

    async with place.reporting("a", well("stays", "goes")) as made:
        await until(place.entries, SECONDS)
        made.show(well("stays"))
        await until(lambda: [*place.entries()] == ["stays"], SECONDS)

    status = place.status()
    assert theirs.items() <= status.items()
    assert ready in status["conditions"]
    assert len(status["conditions"]) == 4
    assert place.found()["metadata"]["generation"] == 1


async def test_an_unchanged_status_leaves_the_object_alone(place: Place) -> None:
    async with place.reporting("a", well("wiki")) as made:
        await until(place.entries, SECONDS)
        for seconds in range(100):
            made.show(picture(backend("wiki"), health={"wiki": health(seconds=seconds)}))
            await moment()
        assert made.server.sent["PATCH"] == 1
        made.show(LOST)
        await until(lambda: place.says("wiki", "unavailable"), SECONDS)

    assert made.server.sent["PATCH"] == 2


async def test_when_the_one_that_leads_ends_another_one_reports(place: Place) -> None:
    async with place.reporting("b", LOST) as other:
        await until(lambda: other.told.is_leader, SECONDS)
        async with place.reporting("a", well("wiki")) as second:
            await until(lambda: place.says("wiki", "unavailable"), SECONDS)
            assert not second.told.is_leader
            assert place.holder() == "b"
            # Whoever may not keep the Lease stops before the other one begins.
            await asyncio.to_thread(place.cluster.allow, place.namespace, "b", [rules()[0]])
            await until(lambda: not other.told.is_leader, SECONDS)
            await until(lambda: second.told.is_leader, SECONDS)
            await until(lambda: place.says("wiki", "ready"), SECONDS)
    assert place.holder() == ""


async def test_an_object_that_is_made_again_has_its_status_again(place: Place) -> None:
    async with place.reporting("a", well("wiki")):
        await until(place.entries, SECONDS)

        await asyncio.to_thread(place.remove)
        await asyncio.to_thread(place.make)

        await until(place.entries, SECONDS)


async def test_what_may_not_be_written_is_told_and_written_when_it_may(place: Place) -> None:
    async with place.reporting("a", well("wiki")) as made:
        await until(place.entries, SECONDS)
        await asyncio.to_thread(place.cluster.allow, place.namespace, "a", [rules()[1]])
        await until(lambda: _is_refused(made), SECONDS)
        assert made.told.is_leader

        await asyncio.to_thread(place.cluster.allow, place.namespace, "a", rules())
        made.show(well("more"))

        await until(lambda: place.says("more", "ready"), SECONDS)
        await until(lambda: not made.told.error, SECONDS)


def _is_refused(made: Reporting) -> bool:
    """Have something to write until a write is refused: a Role is in force after a moment."""
    is_well = made.cells.health.value == LOST.health
    made.show(well("wiki") if is_well else LOST)
    return "403" in made.told.error


async def test_times_of_conditions_outlive_a_restart_where_the_object_may_be_read(
    place: Place,
) -> None:
    async with place.reporting("a", LOST, MAY_READ):
        await until(place.entries, SECONDS)
    old = "2026-01-01T00:00:00Z"
    aged = [{**each, "lastTransitionTime": old} for each in place.status()["conditions"]]
    path = f"{place.path}/{NAME}/status"
    await asyncio.to_thread(place.cluster.admin.merge, path, {"status": {"conditions": aged}})

    async with place.reporting("b", well("wiki"), MAY_READ):
        await until(lambda: place.says("wiki", "ready"), SECONDS)

    times = _times(place.status())
    assert times["BackendsDiscovered"] == times["AuthConfigured"] == old
    assert times["Degraded"] > "2026-11"


def _times(status: Object) -> Mapping[str, str]:
    return {each["type"]: each["lastTransitionTime"] for each in status["conditions"]}


async def test_of_1200_backends_that_fail_in_many_words_as_many_are_told_as_find_room(
    place: Place,
) -> None:
    names = [f"backend-with-a-name-of-some-length-{number:04}" for number in range(1200)]
    words = failing(message="x" * 2000)
    long = picture(*map(backend, names), health=dict.fromkeys(names, words))
    async with place.reporting("a", well(*names)) as made:
        await until(place.entries, SECONDS)
        assert [*place.entries()] == names[:1000]
        assert place.status()["backendCount"] == 1200

        made.show(long)
        await until(lambda: place.says(names[0], "unavailable"), 60.0)

    told = _message(place.status(), "BackendsDiscovered")
    listed = len(place.entries())
    assert 500 < listed < 1000
    assert (
        told == f"0 of 1200 backends can be used now. {1200 - listed} of them are not listed here."
    )


def _message(status: Object, type_: str) -> str:
    found: str = next(each["message"] for each in status["conditions"] if each["type"] == type_)
    return found


@contextmanager
def an_older_definition(cluster: Cluster) -> Iterator[None]:
    """Have the cluster know less of an entry for the block."""
    (ours,) = (one for one in definitions() if one["spec"]["names"]["kind"] == GATEWAYS.kind)
    older: Any = deepcopy(ours)
    for version in older["spec"]["versions"]:
        status = version["schema"]["openAPIV3Schema"]["properties"]["status"]["properties"]
        for field in ("mcpRevision", "circuitBreakerState"):
            del status["discoveredBackends"]["items"]["properties"][field]
    cluster.admin.apply(PATH, older)
    try:
        yield
    finally:
        cluster.admin.apply(PATH, dict(ours))


async def test_a_cluster_with_an_older_definition_is_told_what_it_knows(place: Place) -> None:
    shown = picture(backend("wiki"), health={"wiki": health()}, revisions={"wiki": "2025-11-25"})
    with an_older_definition(place.cluster):
        await until(lambda: not _is_known(place, "mcpRevision"), SECONDS)
        async with place.reporting("a", shown) as made:
            await until(place.entries, SECONDS)
            assert "mcpRevision" not in place.entries()["wiki"]
            assert place.says("wiki", "ready")
            assert made.told.error == ""
    await until(lambda: _is_known(place, "mcpRevision"), SECONDS)


def _is_known(place: Place, field: str) -> bool:
    """Tell whether the API server describes a field of the entries."""
    path = f"/openapi/v3/apis/{GATEWAYS.group}/v1beta1"
    return field in str(place.cluster.admin.do("GET", path))


async def test_people_see_how_many_backends_can_be_used(place: Place) -> None:
    async with place.reporting("a", well("a", "b")):
        await until(place.entries, SECONDS)

    command = ["get", "vmcp", NAME, "-n", place.namespace]
    kubectl = [place.cluster.programs["kubectl"], f"--kubeconfig={place.cluster.kubeconfig}"]
    ended = await asyncio.to_thread(
        subprocess.run, [*kubectl, *command], capture_output=True, text=True, timeout=60, check=True
    )
    head, row = ended.stdout.splitlines()
    assert head.split()[:4] == ["NAME", "PHASE", "URL", "BACKENDS"]
    assert "2" in row.split()
