"""A keyring knows whose key a text is, and tells nothing else."""

from __future__ import annotations

import pytest

from vmcp.auth.keyring import Keyring
from vmcp.model.apikey import ApiKey, digest
from vmcp.model.identity import Caller

KEY, NEWER, OTHER = "a" * 40, "n" * 40, "o" * 40
ADA, BOB = Caller("api_key", "ada"), Caller("api_key", "bob")
RING = Keyring(
    (ApiKey("ada", digest(KEY)), ApiKey("ada", digest(NEWER)), ApiKey("bob", digest(OTHER)))
)


@pytest.mark.parametrize(("key", "caller"), [(KEY, ADA), (NEWER, ADA), (OTHER, BOB)])
def test_a_key_is_known_by_its_name(key: str, caller: Caller) -> None:
    assert RING.caller(key) == caller


@pytest.mark.parametrize(
    "key", ["", "x", KEY[:-1], KEY + "a", KEY.upper(), digest(KEY).hex(), "é\udcff"]
)
def test_what_is_no_key_is_nobodys(key: str) -> None:
    assert RING.caller(key) is None


def test_rings_with_the_same_keys_are_equal() -> None:
    assert Keyring(RING.keys) == RING
    assert hash(Keyring(RING.keys)) == hash(RING)
    assert Keyring(RING.keys[:1]) != RING


def test_who_loses_one_of_several_keys_is_told_apart() -> None:
    assert RING.callers_without(RING.keys) == frozenset()
    assert RING.callers_without(RING.keys[1:]) == {ADA}
    assert RING.callers_without(()) == {ADA, BOB}


def test_nothing_prints_keys() -> None:
    assert repr(RING) == "Keyring(3 keys)"
