"""`vmcp key`."""

from __future__ import annotations

import pytest

from tests.cli.conftest import Vmcp
from vmcp.config.keysfile import keys
from vmcp.model.apikey import ApiKey, digest


def test_a_key_is_shown_once_and_its_line_knows_it(vmcp: Vmcp) -> None:
    ended = vmcp("key", "ada@example.test")

    said, made = ended.err.splitlines()
    assert ended.code == 0
    assert said == "The key of ada@example.test, which is not shown again:"
    assert made.startswith("vmcp_")
    assert made not in ended.out
    assert keys(ended.out) == (ApiKey("ada@example.test", digest(made)),)


def test_no_two_keys_are_the_same(vmcp: Vmcp) -> None:
    assert vmcp("key", "ada").out != vmcp("key", "ada").out


@pytest.mark.parametrize("name", ["", "a b", "a:b", "-", "n" * 64])
def test_a_name_that_the_file_cannot_hold_is_wrong_usage(vmcp: Vmcp, name: str) -> None:
    ended = vmcp("key", "--", name)

    assert (ended.code, ended.out) == (2, "")
    assert "at most 63 letters" in ended.err
