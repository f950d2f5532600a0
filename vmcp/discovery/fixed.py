"""The keys of the config that cannot change while the gateway runs: what a reload keeps of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from vmcp.config.exposure import is_exposed
from vmcp.config.load import Loaded
from vmcp.model.secret import Secret

# Keys of `server` with the names of their fields.
_FIXED = {
    "host": "host",
    "port": "port",
    "path": "path",
    "sse": "sse",
    "opsHost": "ops_host",
    "opsPort": "ops_port",
}


def held(now: Loaded, running: Loaded) -> Loaded:
    """Return what was loaded with the fixed keys as they run; `waiting` names those that differ."""
    old, new = running.config.server, now.config.server
    changed = [key for key, field in _FIXED.items() if getattr(new, field) != getattr(old, field)]
    if _seal_key(now) != _seal_key(running):
        changed.append("sealKeyFile" if new.seal_key_file else "sealKeyEnv")
    kept = {field: getattr(old, field) for field in _FIXED.values()}
    if (new.tls is None) is not (old.tls is None):
        changed.append("tls")
        kept["tls"] = old.tls
        now = replace(now, tls=running.tls)
    config = now.config.model_copy(update={"server": new.model_copy(update=kept)})
    waiting = tuple(f"server.{key}" for key in changed)
    now, waiting = _silent(replace(now, config=config), running, waiting)
    return _closed(replace(now, waiting=waiting), running)


def _silent(
    now: Loaded, running: Loaded, waiting: tuple[str, ...]
) -> tuple[Loaded, tuple[str, ...]]:
    """Keep the telemetry as it runs: what sends it has its connections open."""
    if now.config.telemetry == running.config.telemetry:
        before = dict(_sent_with(running))
        renewed = [f"telemetry.{key}" for key, held in _sent_with(now) if held != before[key]]
        return now, (*waiting, *renewed)
    config = now.config.model_copy(update={"telemetry": running.config.telemetry})
    return replace(now, config=config), (*waiting, "telemetry")


def _sent_with(loaded: Loaded) -> Iterator[tuple[str, object]]:
    """Yield what files hold that telemetry names, by the keys that name them."""
    settings = loaded.config.telemetry
    secrets = [loaded.secret(each.origin) for each in settings.headers_from_secret]
    yield "headersFromSecret", secrets
    yield "caCertPath", loaded.bundles.get(settings.ca_cert_path or "")


def _closed(now: Loaded, running: Loaded) -> Loaded:
    """Keep asking who calls where the address that stays would else be open to everybody."""
    if not is_exposed(now.config) or is_exposed(running.config):
        return now
    config = now.config.model_copy(update={"incoming_auth": running.config.incoming_auth})
    waiting = (*now.waiting, "incomingAuth")
    return replace(now, config=config, api_keys=running.api_keys, waiting=waiting)


def _seal_key(loaded: Loaded) -> Secret | None:
    origin = loaded.config.server.seal_key_origin
    return None if origin is None else loaded.secret(origin)
