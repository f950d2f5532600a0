"""A config in which everything that may be secret is, and configs that a secret in the wrong place breaks."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from tests.net.certificates import authority, identity
from tests.secrets.canaries import canary
from tests.secrets.machines import children
from tests.support.scripted import Json

ENVIRONMENT = {
    "CHILD_SECRET": canary("child-secret"),
    "TOKEN": canary("token"),
    "FORWARDED": canary("forwarded-env"),
    "TELEMETRY": canary("telemetry-env"),
}
ADA, BOB = canary("api-key"), canary("other-api-key")
AUTHORITY = authority("of-secrets")
MUTUAL = identity("gateway", signer=AUTHORITY)
# A part of the key that is in no certificate.
KEY_PEM = MUTUAL.key_pem.splitlines()[2][:40]
DESKTOP = "desktop.json"
BROKEN: Mapping[str, str] = {
    "value": "backends: [{name: a, url: 'http://x', headerForward: {addPlaintextHeaders: [%s]}}]",
    "syntax": "backends: []\nname: {%s\n  : - ]",
    "key": "backends: []\nincomingAuth: {type: api_key, 'keys %s': x}",
    "variable": "backends: []\noutgoingAuth: {default: {type: bearer_token, bearerToken: {tokenEnv: '%s'}}}",
    "file": "backends: []\noutgoingAuth: {default: {type: bearer_token, bearerToken: {tokenFile: '%s'}}}",
    "url": "backends: [{name: a, url: 'http://me:%s@127.0.0.1/mcp'}]",
    "endpoint": "backends: []\ntelemetry: {endpoint: 'https://x.test/?token=%s', tracingEnabled: true}",
}


def written(folder: Path, urls: Mapping[str, str], collector: str) -> Path:
    """Write the config file and all that it names."""
    files = {
        "keys": f"ada: {ADA}\nbob: {BOB}\n",
        "seal": canary("seal"),
        "forwarded": canary("forwarded-file"),
        "collector": canary("telemetry-file"),
        "crt": MUTUAL.pem,
        "key": MUTUAL.key_pem,
    }
    for name, text in files.items():
        (folder / name).write_text(text)
    servers = {
        "desk": {"url": urls["desk"], "headers": {"X-Desk": canary("desktop-header")}},
        "desk-child": {**children()["child"], "env": {"DESK": canary("desktop-env")}},
    }
    (folder / DESKTOP).write_text(json.dumps({"mcpServers": servers}))
    path = folder / "vmcp.yaml"
    path.write_text(json.dumps(_settings(urls, collector)))
    return path


def _settings(urls: Mapping[str, str], collector: str) -> Json:
    entries: list[Json] = [
        {"name": name, "url": url} for name, url in urls.items() if name != "desk"
    ]
    for entry in entries:
        if entry["name"] in ("web", "new"):
            entry |= {"headerForward": _FORWARD, "url": f"{entry['url']}?token={canary('url')}"}
        if entry["name"] == "mutual":
            shown = {"certFile": "crt", "keyFile": "key"}
            entry |= {"clientCert": shown, "caBundle": AUTHORITY.pem}
    entries += [{"name": name, "stdio": stdio} for name, stdio in children().items()]
    injection = {"headerName": "X-Key", "headerValue": canary("injected")}
    bearer = {"type": "bearer_token", "bearerToken": {"tokenEnv": "TOKEN"}}
    return {
        "backends": entries,
        "incomingAuth": {"type": "api_key", "keysFile": "keys"},
        "outgoingAuth": {
            "default": bearer,
            "backends": {"web": {"type": "header_injection", "headerInjection": injection}},
        },
        "operational": {
            "logLevel": "debug",
            "accessLog": True,
            "timeouts": {"default": "3s", "perWorkload": {"is-silent": "200ms"}},
        },
        "passthroughHeaders": ["X-Tenant"],
        "server": {"sealKeyFile": "seal", "sse": True},
        "telemetry": {
            "endpoint": f"{collector}/{canary('collector-path')}",
            "insecure": True,
            "headers": {"X-Plain": canary("telemetry-header")},
            "headersFromSecret": [
                {"headerName": "X-Env", "valueEnv": "TELEMETRY"},
                {"headerName": "X-File", "valueFile": "collector"},
            ],
            "tracingEnabled": True,
            "metricsEnabled": True,
            "samplingRate": 1,
        },
    }


_FORWARD = {
    "addPlaintextHeaders": {"X-Plain": canary("forwarded")},
    "addHeadersFromSecret": [
        {"headerName": "X-From-Env", "valueEnv": "FORWARDED"},
        {"headerName": "X-From-File", "valueFile": "forwarded"},
    ],
}
