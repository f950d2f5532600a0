"""From the text of a config file to a Config, or to every error at once."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from pydantic import ValidationError

from vmcp.config import yamltext
from vmcp.config.errors import ConfigError, ConfigInvalid, path_text
from vmcp.config.faults import Fault, Place
from vmcp.config.references import Outside
from vmcp.config.schema import Config
from vmcp.config.section import faults_of

Options = Mapping[str, Mapping[str, object]]


def parse(
    text: str,
    *,
    name: str = "config",
    outside: Outside | None = None,
    options: Options = MappingProxyType({}),
) -> Config:
    """Return the Config of a text; raise ConfigInvalid, which calls the text by `name`.

    Without `outside`, variables and files that the text refers to are not looked at. `options` stand in for
    keys of sections.
    """
    try:
        tree = yamltext.read(text)
    except yamltext.MalformedYaml as error:
        raise ConfigInvalid(name, [error.error]) from None
    found = list(tree.errors)
    try:
        config = Config.model_validate(_with(options, tree.value), context=outside)
    except ValidationError as error:
        found += [_error(fault, tree, options) for fault in faults_of(error)]
        raise ConfigInvalid(name, sorted(found, key=_order)) from None
    if found:
        raise ConfigInvalid(name, sorted(found, key=_order))
    return config


def _with(options: Options, value: object) -> object:
    """Return a file's value with some keys replaced; what is no section is left for the check of it."""
    if not isinstance(value, Mapping):
        return value
    given = {section: (value.get(section), keys) for section, keys in options.items() if keys}
    sections = {
        section: {**(before or {}), **keys}
        for section, (before, keys) in given.items()
        if before is None or isinstance(before, Mapping)
    }
    return {**value, **sections}


def _error(fault: Fault, tree: yamltext.Tree, options: Options) -> ConfigError:
    path, line, column = path_text(fault.place), None, None
    if _is_given(options, fault.place):
        path += " (command line)"
    else:
        line, column = tree.position(fault.place)
    return ConfigError(
        path=path,
        message=fault.message,
        found=fault.found,
        allowed=fault.allowed,
        suggestion=fault.suggestion,
        line=line,
        column=column,
    )


def _is_given(options: Options, place: Place) -> bool:
    return len(place) > 1 and place[1] in options.get(str(place[0]), {})


def _order(error: ConfigError) -> tuple[int, int, str]:
    return error.line or 0, error.column or 0, error.path
