"""The section `incomingAuth`: keys are wanted where they count, and nowhere else."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.config.refusals import BOTH, refused
from vmcp.config.errors import ConfigInvalid
from vmcp.config.load import load
from vmcp.config.parse import parse

KEY = "k" * 32
HEAD = f"{BOTH}incomingAuth: "


def test_everybody_may_come_in_unless_told_otherwise() -> None:
    assert parse(BOTH).incoming_auth.type == "anonymous"


@pytest.mark.parametrize(
    ("text", "path", "message"),
    [
        ("{type: api_key}", "incomingAuth.keysFile", "Is required with type api_key."),
        (
            "{type: anonymous, keysFile: keys}",
            "incomingAuth.keysFile",
            "Has no effect: type is anonymous.",
        ),
        (
            "{type: api_key, keysFile: keys}\npassthroughHeaders: [X-Tenant, X-API-Key]",
            "passthroughHeaders[1]",
            "Is a credential of the caller for this gateway (incomingAuth) and never passed on.",
        ),
    ],
)
def test_what_does_not_agree_is_an_error(text: str, path: str, message: str) -> None:
    (error,) = refused(HEAD + text)

    assert (error.path, error.message) == (path, message)


def test_without_keys_the_header_is_one_like_others() -> None:
    assert parse(f"{BOTH}passthroughHeaders: [X-API-Key]").passthrough_headers == ("X-API-Key",)


def test_the_keys_are_read_with_the_file(tmp_path: Path) -> None:
    (tmp_path / "keys").write_text(f"ada: {KEY}\n")
    (tmp_path / "vmcp.yaml").write_text(
        "backends: []\nincomingAuth: {type: api_key, keysFile: keys}\n"
    )

    loaded = load(tmp_path / "vmcp.yaml", {})

    assert [key.name for key in loaded.api_keys] == ["ada"]
    assert tmp_path / "keys" in loaded.files
    assert KEY not in repr(loaded)


def test_a_broken_file_is_named_and_its_keys_are_not(tmp_path: Path) -> None:
    (tmp_path / "keys").write_text(f"{KEY}\n")
    (tmp_path / "vmcp.yaml").write_text(
        "backends: []\nincomingAuth: {type: api_key, keysFile: keys}\n"
    )

    with pytest.raises(ConfigInvalid) as invalid:
        load(tmp_path / "vmcp.yaml", {})

    (error,) = invalid.value.errors
    assert error.path == "incomingAuth.keysFile"
    assert error.message.startswith("The file keys cannot be used: line 1 is not")
    assert KEY not in str(invalid.value)
