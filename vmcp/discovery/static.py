"""The static source: the backends and the rules that a config file names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import assert_never
from urllib.parse import urlsplit

from vmcp.config.backends import BackendSettings, EnvReference, StdioSettings
from vmcp.config.load import Loaded
from vmcp.config.outgoing import StrategySettings
from vmcp.config.serving import ServerSettings
from vmcp.config.stated import health_rules, rules
from vmcp.config.views import ViewSettings
from vmcp.latest import Latest
from vmcp.model.auth import (
    AuthDecision,
    AuthOrigin,
    AuthSpec,
    BearerToken,
    HeaderInjection,
    NoAuth,
)
from vmcp.model.backend import Backend, Endpoint, HttpEndpoint, StdioEndpoint
from vmcp.model.keys import ObjectKey
from vmcp.model.problem import Problem
from vmcp.model.secret import Secret
from vmcp.model.snapshot import Contribution
from vmcp.model.view import ViewRules

NAME = "static"

_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
_EVERYWHERE = frozenset({"0.0.0.0", "::"})  # noqa: S104
_PORTS = {"http": 80, "https": 443}


class StaticSource:
    """Contributes what the config says that is in force."""

    def __init__(self, loaded: Latest[Loaded]) -> None:
        self._loaded = loaded
        self._contribution = Latest(contribution(loaded.value))

    @property
    def contribution(self) -> Latest[Contribution]:
        """The cell that holds what the file says."""
        return self._contribution

    def told(self) -> Mapping[str, object]:
        """Return what operators are told; how the config was read is told elsewhere."""
        return {"source": NAME, "backends": len(self._contribution.value.backends)}

    async def run(self) -> None:
        """Follow the config until cancelled."""
        async for loaded in self._loaded.changes():
            self._contribution.set(contribution(loaded))


def contribution(loaded: Loaded) -> Contribution:
    """Return the backends and the rules of a config file, sorted by name."""
    entries = sorted(loaded.config.backends, key=lambda entry: entry.name)
    loops = {entry.name for entry in entries if _is_ourselves(entry, loaded.config.server)}
    return Contribution(
        source=NAME,
        backends=tuple(_backend(entry, loaded) for entry in entries if entry.name not in loops),
        problems=(
            *(_loop(entry.name) for entry in entries if entry.name in loops),
            *map(_restart_needed, loaded.waiting),
        ),
        rules=rules(loaded.config.aggregation),
        views=tuple(map(_view, loaded.config.views)),
        health=health_rules(loaded.config.operational.failure_handling),
        decisions={_key(one.name): AuthDecision(_auth_origin(one, loaded)) for one in entries},
    )


def _view(settings: ViewSettings) -> ViewRules:
    return ViewRules(settings.name, settings.description, settings.backends, settings.tools)


def _backend(entry: BackendSettings, loaded: Loaded) -> Backend:
    config = loaded.config
    timeouts = config.operational.timeouts
    auth = _auth(entry, loaded)
    headers = _headers(entry, loaded)
    return Backend(
        key=_key(entry.name),
        name=entry.name,
        endpoint=_endpoint(entry, loaded),
        timeout_seconds=timeouts.per_workload.get(entry.name, timeouts.default),
        auth=auth,
        headers=headers,
        passthrough=_passthrough(entry, config.passthrough_headers, auth, headers),
        session_scope=entry.session_scope or "call",
        metadata=tuple(sorted(entry.metadata.items())),
    )


def _key(name: str) -> ObjectKey:
    return ObjectKey("Backend", name)


def _endpoint(entry: BackendSettings, loaded: Loaded) -> Endpoint:
    if entry.stdio is not None:
        return StdioEndpoint(
            command=entry.stdio.command,
            args=entry.stdio.args,
            env=_env(entry.stdio, loaded),
            cwd=loaded.folder(entry.stdio.cwd),
        )
    return HttpEndpoint(
        url=entry.url or "",
        ca_bundle=loaded.bundle(entry),
        client_cert=loaded.client_cert(entry),
        transport="sse" if entry.transport == "sse" else "streamable-http",
    )


def _env(stdio: StdioSettings, loaded: Loaded) -> tuple[tuple[str, Secret], ...]:
    return tuple(
        (name, loaded.secret(value.origin if isinstance(value, EnvReference) else value))
        for name, value in sorted(stdio.env.items())
    )


def _auth(entry: BackendSettings, loaded: Loaded) -> AuthSpec:
    """Return the effective outgoing auth: the backend's own strategy beats the default one."""
    outgoing = loaded.config.outgoing_auth
    if entry.stdio is not None:
        return NoAuth()
    return _spec(outgoing.backends.get(entry.name, outgoing.default), loaded)


def _auth_origin(entry: BackendSettings, loaded: Loaded) -> AuthOrigin:
    outgoing = loaded.config.outgoing_auth
    if entry.stdio is None and entry.name in outgoing.backends:
        return AuthOrigin.TABLE
    if entry.stdio is None and outgoing.default is not None:
        return AuthOrigin.DEFAULT
    return AuthOrigin.NONE


def _spec(strategy: StrategySettings | None, loaded: Loaded) -> AuthSpec:
    if strategy is None:
        return NoAuth()
    if (bearer := strategy.bearer_token) is not None:
        return BearerToken(loaded.secret(bearer.origin))
    if (injection := strategy.header_injection) is not None:
        return HeaderInjection(injection.header_name, loaded.secret(injection.origin))
    return NoAuth()


def _headers(entry: BackendSettings, loaded: Loaded) -> tuple[tuple[str, Secret], ...]:
    """Return secret headers, then plaintext ones; the schema refuses names that are there twice."""
    if (forward := entry.header_forward) is None:
        return ()
    secret = [
        (one.header_name, loaded.secret(one.origin)) for one in forward.add_headers_from_secret
    ]
    return (*secret, *sorted(forward.add_plaintext_headers.items(), key=lambda pair: pair[0]))


def _passthrough(
    entry: BackendSettings,
    names: tuple[str, ...],
    auth: AuthSpec,
    headers: tuple[tuple[str, Secret], ...],
) -> tuple[str, ...]:
    """Return the names to pass on, without those that the configuration sets for this backend."""
    if entry.stdio is not None:
        return ()
    configured = {name.lower() for name, _ in headers} | _credential_header(auth)
    return tuple(sorted({name.lower() for name in names} - configured))


def _credential_header(auth: AuthSpec) -> set[str]:
    match auth:
        case NoAuth():
            return set()
        case HeaderInjection():
            return {auth.header.lower()}
        case BearerToken():
            return {"authorization"}
        case _:
            assert_never(auth)


def _is_ourselves(entry: BackendSettings, server: ServerSettings) -> bool:
    """Tell whether a URL is the endpoint of this very gateway or a part of it, as far as the file shows."""
    if entry.url is None:
        return False
    parts = urlsplit(entry.url)
    port = parts.port or _PORTS[parts.scheme]
    ours = _LOOPBACK if server.host in _LOOPBACK | _EVERYWHERE else {server.host}
    is_ours = parts.hostname in ours and port == server.port
    whole = server.path.rstrip("/") + "/"
    return is_ours and f"{parts.path.rstrip('/')}/".startswith(whole)


def _restart_needed(key: str) -> Problem:
    return Problem(
        ObjectKey("Config", key),
        "RestartNeeded",
        f"The key {key} cannot change while the gateway runs: restart it to apply the new value.",
    )


def _loop(name: str) -> Problem:
    return Problem(
        _key(name),
        "SelfReference",
        f"The url of backend '{name}' is the endpoint of this gateway, so it is left out.",
    )
