"""Read the metrics of a gateway as Prometheus would."""

from __future__ import annotations

from typing import Any

from prometheus_client.parser import text_string_to_metric_families
from starlette.applications import Starlette

from vmcp.gateway.core import Gateway
from vmcp.transport.incoming.scraping import metrics_route

Labels = tuple[tuple[str, str], ...]


async def scraped(gateway: Gateway, accept: str = "text/plain") -> str:
    """Return the text of a scrape."""
    app = Starlette(routes=[metrics_route(gateway)])
    scope = {
        "type": "http",
        "method": "GET",
        "path": "/metrics",
        "query_string": b"",
        "headers": [(b"accept", accept.encode())],
    }
    sent: list[Any] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    await app(scope, receive, send)
    assert sent[0]["status"] == 200, sent
    return b"".join(each.get("body", b"") for each in sent[1:]).decode()


async def samples(gateway: Gateway) -> dict[str, dict[Labels, float]]:
    """Return the values by the names of the samples and by their labels in order."""
    found: dict[str, dict[Labels, float]] = {}
    for family in text_string_to_metric_families(await scraped(gateway)):
        for sample in family.samples:
            labels = tuple(sorted(sample.labels.items()))
            found.setdefault(sample.name, {})[labels] = sample.value
    return found


async def value(gateway: Gateway, name: str, **labels: str) -> float | None:
    """Return the value of a sample, None where there is none."""
    return (await samples(gateway)).get(name, {}).get(tuple(sorted(labels.items())))
