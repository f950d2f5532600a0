"""A secret in the wrong place of the config is in no error, but for keys whose values are no secrets."""

from __future__ import annotations

import json
import traceback
from pathlib import Path
from typing import Any

import pytest

from tests.house.config_keys import keys, values
from tests.secrets.canaries import canary, found
from vmcp.config.durations import PATTERN
from vmcp.config.errors import ConfigInvalid
from vmcp.config.load import load

# A secret as it may be written by mistake: alone, in a list, as a mapping, as a key, and with what surrounds it.
SHAPES: tuple[Any, ...] = (
    canary("it"),
    canary("it").replace("-", "_"),
    f"Bearer {canary('it')} x",
    f"x:{canary('it')}",
    f"a\n{canary('it')}",
    f"https://me:{canary('it')}@host.test/?token={canary('it')}",
    [canary("it")],
    {canary("it"): canary("it")},
    {canary("it").replace("-", "_"): None},
    {f"token {canary('it')}": 1},
    {"headerValuee": canary("it"), "a": {"b": [canary("it")]}},
)
# Texts whose form is checked, that name or place something for everybody to see.
NAMES = {
    "aggregation.conflictResolutionConfig.prefixFormat",
    "backends[].name",
    "backends[].stdio.cwd",
    "server.allowedHosts[]",
    "server.allowedOrigins[]",
    "server.host",
    "server.opsHost",
    "server.path",
    "server.trustedProxies[]",
    "views[].name",
    "views[].tools[]",
}


def holding(key: str, value: object) -> object:
    """Return a config in which a key has a value."""
    made = value
    for part in reversed(key.replace("[]", ".[]").split(".")):
        name = "some" if part == "*" else part
        made = [made] if part == "[]" else {name: made}
    return {"backends": [], **made} if isinstance(made, dict) else made


def is_plain(key: str) -> bool:
    """Tell whether the values of a key are switches, numbers, durations or words of a choice."""
    return all(
        "enum" in each or each.get("type") != "string" or each.get("pattern") in (PATTERN, RATE)
        for each in values()[key]
    )


RATE = r"^(0(\.[0-9]+)?|1(\.0+)?)$"
TELLING = {key for key in keys() if is_plain(key)} | NAMES


@pytest.mark.parametrize("key", sorted(keys() - TELLING))
def test_what_is_wrong_with_a_key_is_told_without_its_value(key: str, tmp_path: Path) -> None:
    path = tmp_path / "vmcp.yaml"
    told = []
    for shape in SHAPES:
        path.write_text(json.dumps(holding(key, shape)))
        try:
            load(path, {})
        except ConfigInvalid as invalid:
            told += traceback.format_exception(invalid)

    assert "c4n4ry" not in "".join(told)
    assert not found("".join(told))


def test_most_keys_tell_nothing_of_their_values() -> None:
    assert {*NAMES} <= keys()
    assert len(keys() - TELLING) > 40
