"""From the text of a file of manifests to the objects in it, each with its place."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from vmcp.config import yamltext
from vmcp.config.yamltext import MalformedYaml
from vmcp.crd.kinds import API_VERSIONS, GROUP
from vmcp.crd.things import KINDS, is_held, thing
from vmcp.crd.world import Thing
from vmcp.model.keys import ObjectKey

DEFAULT_NAMESPACE = "default"
# A file with some thousand objects, as an export of a namespace is.
_MOST_VALUES = 1_000_000


@dataclass(frozen=True, slots=True)
class Placed:
    """An object and where it stands: the file, and the line of its document."""

    thing: Thing
    file: str
    line: int


@dataclass(frozen=True, slots=True)
class Broken:
    """Why a file cannot be read, as a sentence with the line; nothing of the file is repeated."""

    message: str


@dataclass(frozen=True, slots=True)
class _Document:
    value: object = field(repr=False)
    line: int


class _Unusable(Exception):
    """A document is no object; the wording is the end of a sentence."""


def objects(file: str, text: str, namespace: str) -> tuple[Placed, ...] | Broken:
    """Return the objects of a file that the World holds; those that name no namespace are of this one."""
    try:
        documents = _json(text) if file.endswith(".json") else _yaml(text)
        return tuple(placed for one in documents for placed in _placed(one, file, namespace))
    except _Unusable as error:
        return Broken(str(error))


def _yaml(text: str) -> Sequence[_Document]:
    found: list[_Document] = []
    try:
        for tree in yamltext.read_all(text, _MOST_VALUES):
            if tree.errors and not _is_other(tree.value):
                first = tree.errors[0]
                raise _Unusable(
                    f"Line {first.line}: {first.path or 'the document'}: {first.message}"
                )
            found.append(_Document(tree.value, tree.root.start_mark.line + 1))
    except MalformedYaml as malformed:
        raise _Unusable(f"Line {malformed.error.line}: {malformed.error.message}") from None
    return found


def _is_other(value: object) -> bool:
    """Tell whether a document is an object that the World does not hold: what is odd in it is nobody's concern."""
    if not isinstance(value, Mapping):
        return False
    kind, api_version = value.get("kind"), value.get("apiVersion")
    if not isinstance(kind, str) or not isinstance(api_version, str):
        return False
    is_read = kind.endswith("List") or is_held(kind, api_version) or _is_ours(kind, api_version)
    return not is_read


def _is_ours(kind: str, api_version: str) -> bool:
    return kind in KINDS and api_version.startswith(f"{GROUP}/")


def _json(text: str) -> Sequence[_Document]:
    if not text.strip():
        return []
    try:
        return [_Document(json.loads(text, object_pairs_hook=_once), 1)]
    except json.JSONDecodeError as error:
        raise _Unusable(f"Line {error.lineno}: Is not JSON: {error.msg}.") from None
    except RecursionError:
        raise _Unusable("Line 1: Is nested too deep.") from None


def _once(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise _Unusable("Line 1: Holds a key twice.")
    return found


def _placed(document: _Document, file: str, namespace: str) -> Iterator[Placed]:
    for value in _items(document.value, document.line):
        kind, api_version = value.get("kind"), value.get("apiVersion")
        if not isinstance(kind, str) or not isinstance(api_version, str):
            raise _Unusable(
                f"Line {document.line}: Holds what is no object: kind or apiVersion is missing."
            )
        if is_held(kind, api_version):
            key = _key(kind, value.get("metadata"), document.line, namespace)
            yield Placed(thing(key, _version(value), value), file, document.line)
        elif _is_ours(kind, api_version):
            allowed = ", ".join(API_VERSIONS)
            raise _Unusable(
                f"Line {document.line}: Holds a {kind} of an unknown version. Allowed: {allowed}."
            )


def _items(value: object, line: int) -> Iterator[Mapping[str, Any]]:
    """Yield the objects of a document: itself, or those that it lists."""
    if not isinstance(value, Mapping):
        raise _Unusable(f"Line {line}: Holds what is no object.")
    items = value.get("items")
    if str(value.get("kind")).endswith("List") and isinstance(items, list):
        for item in items:
            yield from _items(item, line)
    else:
        yield value


def _key(kind: str, metadata: object, line: int, usual: str) -> ObjectKey:
    given = metadata if isinstance(metadata, Mapping) else {}
    name, namespace = given.get("name"), given.get("namespace") or usual
    if not isinstance(name, str) or not name or not isinstance(namespace, str):
        raise _Unusable(
            f"Line {line}: Holds a {kind} whose metadata.name or metadata.namespace is no name."
        )
    return ObjectKey(kind, name, namespace)


def _version(value: Mapping[str, Any]) -> str:
    # What tools write beside the object does not change it.
    told = {key: value[key] for key in value if key != "metadata"}
    return sha256(json.dumps(told, sort_keys=True, default=str).encode()).hexdigest()[:16]
