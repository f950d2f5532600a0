"""Make the client that fits a backend's transport."""

from __future__ import annotations

from collections.abc import Mapping
from typing import assert_never

from vmcp.gateway.ports import BackendClient, Findings
from vmcp.model.backend import Backend, HttpEndpoint, StdioEndpoint
from vmcp.net.client import HttpClient
from vmcp.transport.outgoing.errands import Errands
from vmcp.transport.outgoing.http import HttpConnector
from vmcp.transport.outgoing.stdio import StdioConnector
from vmcp.transport.outgoing.supervised import SupervisedBackend


def make(
    backend: Backend, http: HttpClient, findings: Findings, environment: Mapping[str, str]
) -> BackendClient:
    """Return the client of a backend; a child process gets some of `environment`."""
    errands, endpoint = Errands(), backend.endpoint
    connector: HttpConnector | StdioConnector
    match endpoint:
        case HttpEndpoint():
            connector = HttpConnector(backend, endpoint, http, errands)
        case StdioEndpoint():
            connector = StdioConnector(backend, endpoint, environment)
        case _:
            assert_never(endpoint)
    return SupervisedBackend(backend, connector.connect, findings, errands)
