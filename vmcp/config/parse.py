"""From the text of a config file to a Config, or to every error at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from pydantic import ValidationError

from vmcp.config import yamltext
from vmcp.config.desktop import Added
from vmcp.config.errors import ConfigError, ConfigInvalid
from vmcp.config.faults import Fault, Place, path_text
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
    added: Sequence[Added] = (),
    usual: Mapping[str, object] = MappingProxyType({}),
) -> Config:
    """Return the Config of a text; raise ConfigInvalid, which calls the text by `name`.

    Without `outside`, variables and files that the text refers to are not looked at. `options` stand in for
    keys of sections, `added` are backends that other files name, `usual` is what holds for keys that are absent.
    """
    try:
        tree = yamltext.read(text)
    except yamltext.MalformedYaml as error:
        raise ConfigInvalid(name, [error.error]) from None
    whole = {**usual, **tree.value} if isinstance(tree.value, dict) else tree.value
    value, joined, taken = _joined(_with(options, whole), added, name)
    found = [*tree.errors, *taken]
    try:
        config = Config.model_validate(value, context=outside)
    except ValidationError as error:
        found += [joined.error(fault) or _error(fault, tree, options) for fault in faults_of(error)]
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


@dataclass(frozen=True, slots=True)
class _Joined:
    """The backends that other files name, which come after those of the config file."""

    first: int
    added: Sequence[Added] = ()

    def error(self, fault: Fault) -> ConfigError | None:
        """Return the error of another file that a fault means, None where it is none of theirs."""
        match fault.place:
            case ("backends", int(at), *rest) if at >= self.first and self.added:
                return self.added[at - self.first].error(fault, tuple(rest))
        return None


def _joined(
    value: object, added: Sequence[Added], name: str
) -> tuple[object, _Joined, list[ConfigError]]:
    """Return a file's value with the backends of other files, and those whose names are taken."""
    own = value.get("backends", []) if isinstance(value, Mapping) and added else None
    if not isinstance(value, Mapping) or not isinstance(own, list):
        return value, _Joined(0), []
    holders = {one["name"]: name for one in own if isinstance(one, Mapping) and _is_named(one)}
    kept: list[Added] = []
    taken: list[ConfigError] = []
    for one in added:
        if (holder := holders.setdefault(one.name, one.file)) == one.file:
            kept.append(one)
            continue
        message = f"The name is taken: {holder} has a server of this name."
        fix = "Rename one of them, or disable it."
        taken.append(one.error(Fault((), message, suggestion=fix), ()))
    joined = {**value, "backends": [*own, *(one.backend for one in kept)]}
    return joined, _Joined(len(own), tuple(kept)), taken


def _is_named(backend: Mapping[str, object]) -> bool:
    return isinstance(backend.get("name"), str)


def _error(fault: Fault, tree: yamltext.Tree, options: Options) -> ConfigError:
    path = path_text(fault.place)
    if _is_given(options, fault.place):
        return ConfigError.of(fault, f"{path} (command line)", (None, None))
    return ConfigError.of(fault, path, tree.position(fault.place))


def _is_given(options: Options, place: Place) -> bool:
    return len(place) > 1 and place[1] in options.get(str(place[0]), {})


def _order(error: ConfigError) -> tuple[str, int, int, str]:
    return error.file or "", error.line or 0, error.column or 0, error.path
