"""From the text of a config file to a Config, or to every error at once."""

from __future__ import annotations

from pydantic import ValidationError

from vmcp.config import yamltext
from vmcp.config.errors import ConfigError, ConfigInvalid, path_text
from vmcp.config.faults import Fault
from vmcp.config.references import Outside
from vmcp.config.schema import Config
from vmcp.config.section import faults_of


def parse(text: str, *, name: str = "config", outside: Outside | None = None) -> Config:
    """Return the Config of a text; raise ConfigInvalid, which calls the text by `name`.

    Without `outside`, variables and files that the text refers to are not looked at.
    """
    try:
        tree = yamltext.read(text)
    except yamltext.MalformedYaml as error:
        raise ConfigInvalid(name, [error.error]) from None
    found = list(tree.errors)
    try:
        config = Config.model_validate(tree.value, context=outside)
    except ValidationError as error:
        found += [_error(fault, tree) for fault in faults_of(error)]
        raise ConfigInvalid(name, sorted(found, key=_order)) from None
    if found:
        raise ConfigInvalid(name, sorted(found, key=_order))
    return config


def _error(fault: Fault, tree: yamltext.Tree) -> ConfigError:
    line, column = tree.position(fault.place)
    return ConfigError(
        path=path_text(fault.place),
        message=fault.message,
        found=fault.found,
        allowed=fault.allowed,
        suggestion=fault.suggestion,
        line=line,
        column=column,
    )


def _order(error: ConfigError) -> tuple[int, int, str]:
    return error.line or 0, error.column or 0, error.path
