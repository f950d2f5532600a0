"""A gateway that the network reaches asks who calls, or is told to let everybody in."""

from __future__ import annotations

from pathlib import Path

import pytest

from vmcp.config.errors import ConfigInvalid
from vmcp.config.exposure import load_closed
from vmcp.config.load import Sources

KEYS = "incomingAuth: {type: api_key, keysFile: keys}"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "keys").write_text(f"ada: {'a' * 40}\n")
    return tmp_path / "vmcp.yaml"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "server: {host: 127.0.0.9}",
        "server: {host: LOCALHOST}",
        f"server: {{host: '::'}}\n{KEYS}",
    ],
)
def test_these_are_closed(file: Path, text: str) -> None:
    file.write_text(f"backends: []\n{text}\n")

    assert load_closed(Sources(file), {}).config


@pytest.mark.parametrize("host", ["0.0.0.0", "'::'", "10.0.0.1", "gw.example.test"])
def test_these_are_open_and_refused(file: Path, host: str) -> None:
    file.write_text(f"backends: []\nserver: {{host: {host}}}\n")

    with pytest.raises(ConfigInvalid) as invalid:
        load_closed(Sources(file), {})

    (error,) = invalid.value.errors
    assert (error.path, error.found) == ("server.host", repr(host.strip("'")))
    assert invalid.value.files == (file,)


def test_an_option_that_opens_it_is_told_as_one(file: Path) -> None:
    file.write_text("backends: []\n")

    with pytest.raises(ConfigInvalid) as invalid:
        load_closed(Sources(file, options={"server": {"host": "0.0.0.0"}}), {})

    assert invalid.value.errors[0].path == "server.host (command line)"
