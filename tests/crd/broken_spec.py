"""What a spec with one thing wrong is: the smallest spec of its kind, and a change."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

Fields = dict[str, Any]


@dataclass(frozen=True)
class Broken:
    """A spec of a kind that nobody takes; `place` and `message` are those of the fault."""

    kind: str
    change: Fields
    place: str
    message: str
    # A rule between fields is told by the API server in our words.
    is_rule: bool = True

    @property
    def spec(self) -> Fields:
        """The smallest spec of the kind, with the change."""
        return merged(SMALLEST[self.kind], self.change)

    @property
    def name(self) -> str:
        """What a test is called after."""
        return f"{self.kind}-{self.place}-{self.message[:40]}"


def merged(base: Mapping[str, Any], change: Mapping[str, Any]) -> Fields:
    """Return a mapping with some members replaced, at any depth; None takes one away."""
    found = dict(base)
    for key, value in change.items():
        inner = found.get(key)
        both = isinstance(inner, dict) and isinstance(value, dict)
        found[key] = merged(inner, value) if both else value
    return {key: value for key, value in found.items() if value is not None}


SMALLEST: dict[str, Fields] = {
    "MCPGroup": {},
    "MCPServerEntry": {
        "groupRef": {"name": "g"},
        "remoteUrl": "https://a.example.com/mcp",
        "transport": "streamable-http",
    },
    "MCPServer": {"image": "i"},
    "MCPRemoteProxy": {"remoteUrl": "https://a.example.com/mcp"},
    "MCPToolConfig": {},
    "MCPExternalAuthConfig": {"type": "unauthenticated"},
    "MCPOIDCConfig": {"type": "inline", "inline": {"issuer": "https://idp.example.com"}},
    "MCPAuthzConfig": {"type": "cedarv1", "config": {}},
    "MCPTelemetryConfig": {},
    "VirtualMCPServer": {"groupRef": {"name": "g"}, "incomingAuth": {"type": "anonymous"}},
    "VirtualMCPCompositeToolDefinition": {"name": "t", "steps": []},
}

# Parts of specs that many of them have.
SECRET = {"name": "s", "key": "k"}
