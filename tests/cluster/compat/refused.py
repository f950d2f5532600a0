"""Manifests that the API server refuses, with what it says of each."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import yaml

from tests.cluster.compat.users import Object
from vmcp.crd.kinds import GROUP, STORED_VERSION

_TABLE = Path(__file__).parent / "refused.yaml"


@dataclass(frozen=True)
class Refused:
    """An object with one thing wrong, and a part of the message that names the field."""

    name: str
    object: Object
    message: str


def _read(row: Object) -> Refused:
    version = f"{GROUP}/{row.get('version', STORED_VERSION)}"
    metadata = {"name": row["name"]}
    whole = {"apiVersion": version, "kind": row["kind"], "metadata": metadata, "spec": row["spec"]}
    return Refused(row["name"], whole, row["told"])


REFUSED = tuple(map(_read, yaml.safe_load(_TABLE.read_text())))
