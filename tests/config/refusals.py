"""What tests ask of a config that is refused."""

from textwrap import dedent

import pytest

from vmcp.config.errors import ConfigError, ConfigInvalid
from vmcp.config.parse import parse

HTTP = "{name: web, url: 'https://web.example.test/mcp'}"
STDIO = "{name: box, stdio: {command: box}}"
BOTH = f"backends: [{HTTP}, {STDIO}]\n"


def refused(text: str) -> list[ConfigError]:
    """Return the errors with which a text is refused."""
    with pytest.raises(ConfigInvalid) as caught:
        parse(dedent(text))
    return list(caught.value.errors)


def backend(keys: str) -> str:
    """Return a config with one HTTP backend that has more keys."""
    return f"backends: [{{name: web, url: 'https://web.example.test/mcp', {keys}}}]"


def stdio(keys: str) -> str:
    """Return a config with one stdio backend that has more keys."""
    return f"backends: [{{name: box, stdio: {{command: box, {keys}}}}}]"
