"""An OpenTelemetry collector that keeps what it is sent, in a thread of the test's own process."""

from __future__ import annotations

import gzip
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest


@dataclass
class Collector:
    """What came: requests by path, with their headers and bodies; `status` is what they are answered with."""

    url: str = ""
    status: int = 200
    requests: list[tuple[str, dict[str, str], bytes]] = field(default_factory=list)

    def spans(self, kind: int | None = None) -> list[Any]:
        """Return the spans of a kind (2: server, 3: client), in the order in which they came."""
        return [
            span
            for path, _, body in tuple(self.requests)
            if path == "/v1/traces"
            for resource in ExportTraceServiceRequest.FromString(body).resource_spans
            for scope in resource.scope_spans
            for span in scope.spans
            if kind in (None, span.kind)
        ]

    def resource(self) -> dict[str, Any]:
        """Return the attributes of whoever sent the first spans."""
        body = next(body for path, _, body in self.requests if path == "/v1/traces")
        first = ExportTraceServiceRequest.FromString(body).resource_spans[0]
        return attributes(first.resource)

    def metrics(self) -> dict[str, Any]:
        """Return the metrics of the newest request by their names."""
        bodies = [body for path, _, body in tuple(self.requests) if path == "/v1/metrics"]
        if not bodies:
            return {}
        return {
            metric.name: metric
            for resource in ExportMetricsServiceRequest.FromString(bodies[-1]).resource_metrics
            for scope in resource.scope_metrics
            for metric in scope.metrics
        }


def attributes(holder: Any) -> dict[str, Any]:
    """Return the attributes of a span, a resource or a data point."""
    return {
        each.key: getattr(each.value, each.value.WhichOneof("value")) for each in holder.attributes
    }


@contextmanager
def collecting(tls: ssl.SSLContext | None = None) -> Iterator[Collector]:
    """Run a collector for the block, over TLS where there is a context for it."""
    collector = Collector()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            if self.headers.get("content-encoding") == "gzip":
                body = gzip.decompress(body)
            headers = {name.lower(): value for name, value in self.headers.items()}
            collector.requests.append((self.path, headers, body))
            self.send_response(collector.status)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    if tls is not None:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    scheme = "http" if tls is None else "https"
    collector.url = f"{scheme}://127.0.0.1:{server.server_address[1]}"
    try:
        yield collector
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
