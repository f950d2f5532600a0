"""Specs with a value that is wrong by itself, one for each kind of check."""

from __future__ import annotations

from collections.abc import Iterator

from tests.crd.broken_spec import SECRET, Broken, Fields

_REQUIRED, _CHOICE, _WRITTEN = (
    "Is required.",
    "Is none of the allowed values.",
    "Is not written as it must be.",
)
_RANGE, _SHORT, _LONG = "Is out of range.", "Has too few characters.", "Has too many characters."
_FEW, _MANY = "Has too few entries.", "Has too many entries."


def _value(kind: str, change: Fields, place: str, message: str) -> Broken:
    return Broken(kind, change, place, message, is_rule=False)


def _entry(change: Fields, place: str, message: str) -> Broken:
    return _value("MCPServerEntry", change, place, message)


def values() -> Iterator[Broken]:
    """Yield one for each kind of check."""
    yield _entry({"groupRef": None}, "groupRef", _REQUIRED)
    yield _entry({"groupRef": {"name": ""}}, "groupRef.name", _SHORT)
    yield _entry({"groupRef": "g"}, "groupRef", "Must be a mapping.")
    yield _entry({"remoteUrl": None}, "remoteUrl", _REQUIRED)
    yield _entry({"remoteUrl": 8080}, "remoteUrl", "Must be text.")
    yield _entry({"remoteUrl": "ftp://a.example.com"}, "remoteUrl", _WRITTEN)
    yield _entry({"transport": "websocket"}, "transport", _CHOICE)
    yield _entry({"allowPrivateEndpoint": "yes"}, "allowPrivateEndpoint", "Must be true or false.")
    forward = "headerForward.addHeadersFromSecret"
    header = {"headerName": "X-A", "valueSecretRef": SECRET}
    yield _entry({"headerForward": {"addHeadersFromSecret": header}}, forward, "Must be a list.")
    yield _entry(
        {"headerForward": {"addHeadersFromSecret": [header, header]}},
        forward,
        "Holds two entries with the same headerName.",
    )
    yield _entry(
        {"headerForward": {"addHeadersFromSecret": [{**header, "headerName": "x" * 256}]}},
        f"{forward}[0].headerName",
        _LONG,
    )
    yield _entry(
        {"headerForward": {"addHeadersFromSecret": [{"headerName": "X-A", "valueSecretRef": {}}]}},
        f"{forward}[0].valueSecretRef.name",
        _REQUIRED,
    )
    yield _entry(
        {"headerForward": {"addPlaintextHeaders": {"X-A": 1}}},
        "headerForward.addPlaintextHeaders.X-A",
        "Must be text.",
    )
    yield _value("MCPServer", {"image": None}, "image", _REQUIRED)
    yield _value("MCPServer", {"mcpPort": 65536}, "mcpPort", _RANGE)
    yield _value("MCPServer", {"replicas": -1}, "replicas", _RANGE)
    yield _value("MCPServer", {"replicas": "2"}, "replicas", "Must be a whole number.")
    yield _value("MCPServer", {"podTemplateSpec": []}, "podTemplateSpec", "Must be a mapping.")
    yield _value(
        "MCPToolConfig", {"toolsFilter": ["a", "b", "a"]}, "toolsFilter", "Holds an entry twice."
    )
    yield _value(
        "MCPExternalAuthConfig",
        {"type": "awsSts", "awsSts": {"region": "eu-west-1", "sessionDuration": 899}},
        "awsSts.sessionDuration",
        _RANGE,
    )
    scopes = {"scopes": [f"s{number}" for number in range(21)]}
    yield _value("MCPExternalAuthConfig", {"type": "obo", "obo": scopes}, "obo.scopes", _MANY)
    yield _value(
        "MCPServer",
        {"authzConfig": {"type": "inline", "inline": {"policies": []}}},
        "authzConfig.inline.policies",
        _FEW,
    )
    optimizer = {"embeddingProvider": "openai"}
    headers = {f"X-{number}": "v" for number in range(33)}
    yield _value(
        "VirtualMCPServer",
        {"config": {"optimizer": {**optimizer, "embeddingHeaders": headers}}},
        "config.optimizer.embeddingHeaders",
        _MANY,
    )
    yield _value(
        "VirtualMCPServer",
        {"config": {"operational": {"timeouts": {"default": "30"}}}},
        "config.operational.timeouts.default",
        _WRITTEN,
    )
