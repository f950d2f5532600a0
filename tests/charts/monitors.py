"""As much of the ServiceMonitor of Prometheus' operator as the chart fills in, so that a server can check it."""

from __future__ import annotations

from tests.support.cluster.cluster import Cluster
from tests.support.cluster.definitions import PATH, wait_served

_TEXT = {"type": "string"}
_TEXTS = {"type": "object", "additionalProperties": _TEXT}
_ENDPOINT = {
    "type": "object",
    "properties": dict.fromkeys(("port", "path", "interval", "scrapeTimeout"), _TEXT),
}
_SPEC = {
    "type": "object",
    "properties": {
        "selector": {"type": "object", "properties": {"matchLabels": _TEXTS}},
        "endpoints": {"type": "array", "items": _ENDPOINT},
    },
}
_DEFINITION = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "servicemonitors.monitoring.coreos.com"},
    "spec": {
        "group": "monitoring.coreos.com",
        "scope": "Namespaced",
        "names": {"kind": "ServiceMonitor", "plural": "servicemonitors"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": _SPEC}}},
            }
        ],
    },
}


def install(cluster: Cluster) -> None:
    """Bring the kind to a cluster; return once it is served."""
    cluster.admin.apply(PATH, _DEFINITION)
    wait_served(cluster, [_DEFINITION])
