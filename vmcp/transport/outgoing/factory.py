"""Make the client that fits a backend's transport."""

from __future__ import annotations

from collections.abc import Mapping

from vmcp.gateway.ports import BackendClient, Findings
from vmcp.model.backend import Backend, HttpEndpoint
from vmcp.net.client import HttpClient
from vmcp.transport.outgoing.errands import Errands
from vmcp.transport.outgoing.http import HttpConnector
from vmcp.transport.outgoing.supervised import SupervisedBackend


def make(
    backend: Backend, http: HttpClient, findings: Findings, environment: Mapping[str, str]
) -> BackendClient:
    """Return the client of a backend."""
    errands = Errands()
    assert isinstance(backend.endpoint, HttpEndpoint)
    connector = HttpConnector(backend, backend.endpoint, http, errands)
    return SupervisedBackend(backend, connector.connect, findings, errands)
