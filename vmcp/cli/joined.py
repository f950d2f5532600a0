"""The source of a namespace, and the report that is written into the status of its VirtualMCPServer."""

from __future__ import annotations

import secrets
import socket

from vmcp.assembly import Beside, Companion
from vmcp.cli import cluster
from vmcp.clock import SystemClock
from vmcp.config.load import Loaded
from vmcp.crd.world import GATEWAY
from vmcp.discovery.kubernetes import KubernetesSource, Place
from vmcp.gateway.core import Gateway
from vmcp.kube.client import ApiServer
from vmcp.kube.elector import TERMS
from vmcp.kube.login import InCluster
from vmcp.kube.pace import PACE
from vmcp.latest import Latest
from vmcp.model.keys import ObjectKey
from vmcp.report import pace
from vmcp.report.reporter import Candidate, Report, cells


def beside(
    place: Place, context: str | None, loaded: Latest[Loaded], *, writes_status: bool | None
) -> Beside:
    """Return what follows a namespace; by default pods alone write the status. Raise Stop without a login."""
    login, clock = cluster.login(context), SystemClock()
    source = KubernetesSource(ApiServer(login, clock), place, loaded, clock=clock, pace=PACE)
    gateway = place.choice.gateway
    writes = isinstance(login, InCluster) if writes_status is None else writes_status
    if gateway is None or not writes:
        return Beside((source,))
    key = ObjectKey(GATEWAY, gateway, place.namespace)
    candidate = Candidate(f"{socket.gethostname()}-{secrets.token_hex(4)}", TERMS, pace.PACE)

    def report(running: Gateway) -> Companion:
        # Watches hold up no write that has connections of its own.
        server = ApiServer(login, clock)
        seen = cells(running)
        return Report(server, key, lambda: source.gateway, seen, clock=clock, candidate=candidate)

    return Beside((source,), (report,))
