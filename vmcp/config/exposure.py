"""Whether a config opens the gateway to everybody who reaches it over the network."""

from __future__ import annotations

from collections.abc import Mapping

from vmcp.config.errors import ConfigError, ConfigInvalid
from vmcp.config.load import Loaded, Sources, load_all
from vmcp.config.schema import Config
from vmcp.model.address import is_loopback


def is_exposed(config: Config) -> bool:
    """Tell whether a gateway is reached from other machines, and asks nobody who they are."""
    return config.incoming_auth.type == "anonymous" and not is_loopback(config.server.host)


def load_closed(sources: Sources, environment: Mapping[str, str]) -> Loaded:
    """Load a config; raise ConfigInvalid for one that is exposed, too."""
    loaded = load_all(sources, environment)
    if is_exposed(loaded.config):
        is_option = "host" in sources.options.get("server", {})
        raise ConfigInvalid(
            sources.names[0], [_error(loaded.config, is_option=is_option)], loaded.files
        )
    return loaded


def _error(config: Config, *, is_option: bool) -> ConfigError:
    return ConfigError(
        path="server.host (command line)" if is_option else "server.host",
        message="Other machines reach this address, and incomingAuth lets everybody in.",
        found=repr(config.server.host),
        allowed="127.0.0.1, or any address with incomingAuth of type api_key",
        suggestion=(
            "'vmcp key NAME' makes a key for incomingAuth.keysFile. "
            "Where something in front keeps strangers out, start with --insecure-anonymous."
        ),
    )
