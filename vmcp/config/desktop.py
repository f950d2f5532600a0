"""The servers that JSON files of desktop clients name, as backends: `mcpServers`, or `servers` of VS Code."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from vmcp.config import yamltext
from vmcp.config.errors import ConfigError
from vmcp.config.faults import Fault, Place, is_showable_key, kind, listing, near, path_text

Variable = Callable[[str], str | None]

# Strings, which stay; what JSON with comments has beside them, and tabs, which YAML does not take.
_STRAY = re.compile(r'("(?:[^"\\]|\\.)*")|//[^\n]*|/\*.*?\*/|\t', re.DOTALL)
_PLACEHOLDER = re.compile(r"\$\{([^{}]*)\}")
_REFERENCE = re.compile(r"(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(?::-(.*))?", re.DOTALL)
# Placeholders of editors: what a variable tells as well, and what only a window knows.
_VARIABLES = {"userHome": "HOME"}
_OF_EDITORS = frozenset({"workspaceFolder", "workspaceFolderBasename", "workspaceRoot"})
_SECTIONS = ("mcpServers", "servers")
_URLS = ("url", "serverUrl", "httpUrl")
_TRANSPORTS = {
    "stdio": "stdio",
    "http": "streamable-http",
    "streamable-http": "streamable-http",
    "streamableHttp": "streamable-http",
    "sse": "sse",
}
_KEYS = ("command", "args", "env", "cwd", *_URLS, "headers", "type", "transport", "disabled")
# What tells a client how to show a server, or what to ask before calling it: nothing to a gateway.
_OF_CLIENTS = frozenset(
    {"alwaysAllow", "autoApprove", "description", "gallery", "icon", "timeout", "trust", "version"}
)


@dataclass(frozen=True, slots=True)
class Added:
    """One server of a file: what `backends` would hold of it, and where in the file each part of that is."""

    name: str
    backend: Mapping[str, object]
    file: str
    tree: yamltext.Tree
    place: Place

    def error(self, fault: Fault, rest: Place) -> ConfigError:
        """Return the error of the file that a fault at a place within the backend means."""
        field = _field(rest)
        return _error(self.tree, self.file, (*self.place, *field), fault)


def read(
    text: str, file: str, folder: Path, variable: Variable
) -> tuple[tuple[Added, ...], tuple[ConfigError, ...]]:
    """Return the servers of a file that are not disabled, and all that is wrong with it.

    Relative folders start at `folder`.
    """
    try:
        tree = yamltext.read(_STRAY.sub(_blank, text))
    except yamltext.MalformedYaml as error:
        wrong = error.error
        return (), (
            ConfigError("", "It is not JSON.", line=wrong.line, column=wrong.column, file=file),
        )
    added: list[Added] = []
    errors = [_error(tree, file, place, fault) for place, fault in _outline(tree.value)]
    for place, name, entry in _entries(tree.value):
        reader = _Entry(name, entry, folder, variable)
        backend = reader.backend()
        errors += [_error(tree, file, (*place, *one.place), one) for one in reader.faults]
        if backend is not None and not reader.faults:
            added.append(Added(name, backend, file, tree, place))
    return tuple(added), tuple(errors)


def _blank(found: re.Match[str]) -> str:
    return found[1] or re.sub(r"[^\n]", " ", found[0])


def _sections(value: object) -> Iterator[tuple[Place, object]]:
    """Yield what names servers, and where; settings of VS Code have it one level deeper."""
    for place in ((), ("mcp",)):
        inner = value.get(place[0]) if place and isinstance(value, Mapping) else value
        if isinstance(inner, Mapping):
            yield from (((*place, key), inner[key]) for key in _SECTIONS if key in inner)


def _outline(value: object) -> Iterator[tuple[Place, Fault]]:
    found = list(_sections(value))
    if not found:
        yield (
            (),
            Fault(
                (), "Names no servers.", allowed="an object with the member mcpServers or servers"
            ),
        )
    for place, section in found:
        if not isinstance(section, Mapping):
            yield place, Fault((), "Must be an object.", found=kind(section))
        else:
            yield from (
                ((*place, name), Fault((), "Must be an object.", found=kind(entry)))
                for name, entry in section.items()
                if not isinstance(entry, Mapping)
            )


def _entries(value: object) -> Iterator[tuple[Place, str, Mapping[str, object]]]:
    for place, section in _sections(value):
        if isinstance(section, Mapping):
            for name, entry in section.items():
                if isinstance(entry, Mapping):
                    yield (*place, name), name, entry


class _Entry:
    """Turns one server of a file into what `backends` would hold; types are left to the schema."""

    def __init__(
        self, name: str, given: Mapping[str, object], folder: Path, variable: Variable
    ) -> None:
        self._name = name
        self._given = given
        self._folder = folder
        self._variable = variable
        self.faults: list[Fault] = []

    def backend(self) -> Mapping[str, object] | None:
        """Return the backend, None where the server is disabled or wrong."""
        disabled = self._given.get("disabled", False)
        if not isinstance(disabled, bool):
            self._wrong("disabled", "Must be true or false.", found=kind(disabled))
        if disabled is True:
            return None
        self._check_keys()
        urls = [key for key in _URLS if key in self._given]
        ways = [*urls, *(key for key in ("command",) if key in self._given)]
        if len(ways) != 1:
            self._wrong(
                None,
                "Needs exactly one of several members.",
                found=listing(ways) or "none of them",
                allowed="command, to start a server, or url, to reach one",
            )
            return None
        return self._remote(urls[0]) if urls else self._local()

    def _check_keys(self) -> None:
        for key in self._given:
            if key in _KEYS or key in _OF_CLIENTS:
                continue
            if not is_showable_key(key):
                self._wrong(None, "Holds a member that is no name.", found="a member (not shown)")
                continue
            self.faults.append(
                Fault(
                    (key,),
                    "Is no member that is known here.",
                    allowed=listing(_KEYS),
                    suggestion=near(key, _KEYS)
                    or "Delete it if you can do without what it asks for.",
                )
            )

    def _wrong(
        self, key: str | None, message: str, found: str | None = None, allowed: str | None = None
    ) -> None:
        self.faults.append(Fault(() if key is None else (key,), message, found, allowed))

    def _local(self) -> Mapping[str, object]:
        self._refuse("headers", "has no effect with a command")
        self._transport("stdio")
        stdio = {
            key: self._expanded((key,), self._given[key])
            for key in ("command", "args", "env", "cwd")
            if key in self._given
        }
        if isinstance(cwd := stdio.get("cwd"), str):
            stdio["cwd"] = str(self._folder / cwd)
        return {"name": self._name, "stdio": stdio}

    def _remote(self, key: str) -> Mapping[str, object]:
        for other in ("args", "env", "cwd"):
            self._refuse(other, "has no effect with a URL")
        backend = {"name": self._name, "url": self._expanded((key,), self._given[key])}
        if (transport := self._transport("streamable-http", "sse")) is not None:
            backend["transport"] = transport
        if "headers" in self._given:
            headers = self._expanded(("headers",), self._given["headers"])
            backend["headerForward"] = {"addPlaintextHeaders": headers}
        return backend

    def _refuse(self, key: str, why: str) -> None:
        if self._given.get(key):
            self._wrong(key, f"{why[0].upper()}{why[1:]}.")

    def _transport(self, *fitting: str) -> str | None:
        for key in ("type", "transport"):
            if key not in self._given:
                continue
            given = self._given[key]
            found = _TRANSPORTS.get(given) if isinstance(given, str) else None
            if found in fitting:
                return found
            names = [name for name, meant in _TRANSPORTS.items() if meant in fitting]
            self._wrong(key, "Is none of the allowed values.", allowed=listing(names))
        return None

    def _expanded(self, place: Place, value: object) -> object:
        """Return a value with its placeholders replaced; each that cannot be is a fault."""
        match value:
            case str():
                return _PLACEHOLDER.sub(lambda found: self._value(place, found[1]), _whole(value))
            case list():
                return [self._expanded((*place, at), each) for at, each in enumerate(value)]
            case Mapping():
                return {key: self._expanded((*place, key), each) for key, each in value.items()}
            case _:
                return value

    def _value(self, place: Place, reference: str) -> str:
        found = _REFERENCE.fullmatch(_VARIABLES.get(reference, reference))
        if found is None or reference in _OF_EDITORS:
            self.faults.append(
                Fault(
                    place,
                    "Holds a placeholder that only a desktop client can fill.",
                    allowed="${env:NAME}, ${NAME} or ${NAME:-default}, with the name of a variable",
                    suggestion="Write the value, or name an environment variable that holds it.",
                )
            )
            return ""
        value = self._variable(found[1])
        value = found[2] if value is None else value
        if value is None:
            self.faults.append(
                Fault(
                    place,
                    f"The environment variable {found[1]} is not set.",
                    suggestion=f"Set it, or give a default: ${{{found[1]}:-default}}.",
                )
            )
        return value or ""


def _whole(text: str) -> str:
    """Return a text in which the two escapes of one character, which JSON has, are that character."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


def _field(rest: Place) -> Place:
    """Return where in the file a place of the backend is."""
    match rest:
        case ("stdio", *inner):
            return tuple(inner)
        case ("headerForward", "addPlaintextHeaders", *inner):
            return ("headers", *inner)
        case ("url", *_):
            return ("url",)
        case ("transport", *_):
            return ("type",)
        case _:
            return ()


def _error(tree: yamltext.Tree, file: str, place: Place, fault: Fault) -> ConfigError:
    return ConfigError.of(fault, path_text(place), tree.position(place), file)
