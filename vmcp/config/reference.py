"""The page docs/config.md, from the schema: `python -m vmcp.config.reference > docs/config.md`."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from typing import Any

from vmcp.config import durations
from vmcp.config.headers import RESERVED_TEXT
from vmcp.config.incoming import LATER_INCOMING_TYPES
from vmcp.config.keysfile import MAX_KEYS, MAX_KEYS_BYTES
from vmcp.config.load import MAX_BUNDLE_BYTES, MAX_CONFIG_BYTES, MAX_SECRET_BYTES
from vmcp.config.outgoing import LATER_STRATEGIES
from vmcp.config.schema import Config, json_schema
from vmcp.config.section import Section
from vmcp.config.yamltext import MAX_DEPTH, MAX_VALUES

_INTRO = f"""\
# The config file

<!-- Written by `python -m vmcp.config.reference`; edits belong there. -->

vmcp reads one YAML file. Only `backends` is required. `vmcp init` writes a file to start from,
`vmcp validate` checks one, and `vmcp schema` prints the JSON Schema by which editors complete and
check keys.

A file that is not right is refused as a whole. All errors are told at once, each with its path,
its line, what was found and what is allowed. No key is accepted and ignored: an unknown key is an
error, and so is a key that does nothing where it stands.

The keys have the names of the published runtime config of VirtualMCPServer (`spec.config`).
Additions to it are: `backends[].stdio`, `caBundle`, `headerForward` and `sessionScope`;
`headerValueFile` and `bearerToken` of a strategy; `prefixOnConflict`, `maxNameLength` and
`allowDots` of `aggregation`; the log levels beside `debug`; `views`;
`keysFile` of `incomingAuth`; `operational.accessLog`; `headersFromSecret` of `telemetry`; and
`server`.

## How values are written

- The file is UTF-8 and YAML 1.2. `no` and `on` are texts; a text that looks like a number needs
  quotes. A key is there once, and it has a value: to leave a setting at its default, delete the
  key.
- A duration is written as in Go: `500ms`, `45s`, `1m30s`, `1h`. A number without a unit is an
  error.
- A path that is not absolute starts at the folder of the config file.
- A secret comes from an environment variable (a key that ends in `Env`) or from a file (a key
  that ends in `File`). One line break at the end of such a file is cut off. An empty secret is an
  error. Messages and logs never show secrets.
- A CA bundle holds PEM certificates, at least one, each of them readable. They are trusted beside
  the system's.

## Headers to backends

Configurable is {RESERVED_TEXT}.

`Authorization` is set by `outgoingAuth` or `headerForward`, and is never copied from a client.
For each backend a name stands in one place: in `outgoingAuth`, in `addHeadersFromSecret` or in
`addPlaintextHeaders`. A header that the configuration sets is not copied from clients.

A stdio backend has no headers: it gets its secrets in `stdio.env`. Its environment holds PATH,
HOME, LANG, TMPDIR and what `stdio.env` names, and nothing else of the gateway's own.
"""

_BOUNDS = (
    ("The config file", f"{MAX_CONFIG_BYTES // 1024} KiB"),
    ("Values in it, aliases written out", f"{MAX_VALUES}"),
    ("Levels in it", f"{MAX_DEPTH}"),
    ("A file that holds a secret", f"{MAX_SECRET_BYTES // 1024} KiB"),
    ("A file that holds certificates or their key", f"{MAX_BUNDLE_BYTES // 1024} KiB"),
    ("A file of API keys; keys in it", f"{MAX_KEYS_BYTES // 1024} KiB; {MAX_KEYS}"),
)

_LATER_VALUES = (
    ("`incomingAuth.type`", LATER_INCOMING_TYPES),
    ("`type` of a strategy", LATER_STRATEGIES),
)

Schema = Mapping[str, Any]


def reference() -> str:
    """Return the page as Markdown."""
    schema = json_schema()
    places = _places(schema)
    blocks = [_INTRO, "## Keys\n", *_section("", "Config", schema, places)]
    for name, paths in places.items():
        blocks += _section(paths[0], name, schema["$defs"][name], places)
    return "\n".join([*blocks, *_later(places), *_bounds()])


def _places(schema: Schema) -> dict[str, list[str]]:
    """Return where each section stands in the file, in the order in which one meets them."""
    found: dict[str, list[str]] = {}

    def walk(section: Schema, path: str) -> None:
        for key, value in section.get("properties", {}).items():
            for name, suffix in _references(value):
                place = f"{path}.{key}{suffix}".lstrip(".")
                found.setdefault(name, []).append(place)
                if len(found[name]) == 1:
                    walk(schema["$defs"][name], place)

    walk(schema, "")
    return found


def _references(value: Schema) -> Iterator[tuple[str, str]]:
    """Yield the section that a value is or holds, and what a path to it ends in."""
    choices = value.get("additionalProperties", {})
    for inner, suffix in (
        (value, ""),
        (value.get("items", {}), "[]"),
        *((choice, ".<name>") for choice in (choices, *choices.get("anyOf", ()))),
    ):
        if "$ref" in inner:
            yield _name(inner), suffix


def _name(reference: Schema) -> str:
    return str(reference["$ref"]).rpartition("/")[2]


def _section(
    path: str, name: str, section: Schema, places: Mapping[str, list[str]]
) -> Iterator[str]:
    yield f"### {_heading(path)}\n"
    yield _sentence(section["description"]) + "\n"
    if len(places.get(name, ())) > 1:
        yield f"Also at {_codes(places[name][1:])}.\n"
    if "oneOf" in section:
        keys = [one["required"][0] for one in section["oneOf"]]
        yield f"Exactly one of {_codes(keys)} is given.\n"
    yield "| key | type | default | meaning |\n|---|---|---|---|"
    for key, value in section["properties"].items():
        is_required = key in section.get("required", ())
        default = "required" if is_required else _default(value)
        meaning = _sentence(value["description"])
        yield f"| `{key}` | {_type(value, places)} | {default} | {meaning} |"
    yield ""


def _heading(path: str) -> str:
    return f"`{path}`" if path else "The top level"


def _anchor(path: str) -> str:
    """Return the anchor that Markdown renderers make of the heading of a path."""
    return "".join(letter for letter in path.lower() if letter.isalnum() or letter in "-_")


def _sentence(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _codes(words: list[str] | tuple[str, ...]) -> str:
    return ", ".join(f"`{word}`" for word in words)


def _default(value: Schema) -> str:
    if value.get("default") in (None, {}, []):
        return "-"
    default = value["default"]
    return f"`{default if isinstance(default, str) else json.dumps(default)}`"


def _type(value: Schema, places: Mapping[str, list[str]]) -> str:
    match value:
        case {"$ref": _}:
            text = f"[mapping](#{_anchor(places[_name(value)][0])})"
        case {"pattern": durations.PATTERN}:
            text = "duration"
        case {"anyOf": choices}:
            text = " or ".join(_type(one, places) for one in choices)
        case {"enum": words}:
            text = _codes(words)
        case {"const": word}:
            text = _codes([word])
        case {"type": "array", "items": inner}:
            text = f"list of {_type(inner, places)}"
        case {"type": "object", "additionalProperties": inner}:
            text = f"map of {_type(inner, places)}"
        case {"type": "integer" | "number", "minimum": least, "maximum": most}:
            text = f"number {least} to {most}"
        case _:
            text = {"string": "text", "boolean": "true or false"}[value["type"]]
    return text


def _later(places: Mapping[str, list[str]]) -> Iterator[str]:
    """Yield what is known and refused, so that one need not try it."""
    yield "## Known, but not implemented in this version\n"
    yield "These keys and values are refused.\n"
    yield "| place | keys or values |\n|---|---|"
    yield f"| the top level | {_codes(sorted(Config.later))} |"
    sections = {section.__name__: section for section in Section.__subclasses__()}
    for name, paths in places.items():
        if later := sections[name].later:
            yield f"| `{paths[0]}` | {_codes(sorted(later))} |"
    for place, values in _LATER_VALUES:
        yield f"| values of {place} | {_codes(values)} |"
    yield ""


def _bounds() -> Iterator[str]:
    yield "## Fixed bounds\n"
    yield "| what | at most |\n|---|---|"
    for what, bound in _BOUNDS:
        yield f"| {what} | {bound} |"
    yield ""


if __name__ == "__main__":
    sys.stdout.write(reference())
