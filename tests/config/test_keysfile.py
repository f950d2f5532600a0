"""The file of API keys is read whole, told all its faults, and never repeated."""

from __future__ import annotations

import pytest

from vmcp.config.keysfile import MAX_KEYS, KeysInvalid, keys, line, tells_keys
from vmcp.model.apikey import ApiKey, digest

KEY = "k" * 32
OTHER = "vmcp_" + "o" * 43


def test_a_line_holds_a_key_or_its_hash() -> None:
    text = f"# of the team\n\n  ada: {KEY}\n{line('bob@example.test', OTHER)}\r\n"

    assert keys(text) == (ApiKey("ada", digest(KEY)), ApiKey("bob@example.test", digest(OTHER)))


def test_a_name_may_have_several_keys() -> None:
    assert [key.name for key in keys(f"ada: {KEY}\nada: {OTHER}\n")] == ["ada", "ada"]


def test_a_hash_is_read_in_either_case() -> None:
    assert keys(f"ada: sha256: {digest(KEY).hex().upper()}") == keys(f"ada: {KEY}")


def test_a_key_may_hold_colons() -> None:
    assert keys(f"ada: {KEY}:x")[0].digest == digest(f"{KEY}:x")


def test_a_file_of_hashes_tells_no_key() -> None:
    hashed = f"# vmcp key ada\n{line('ada', KEY)}\n"

    assert not tells_keys(hashed)
    assert tells_keys(f"{hashed}bob: {OTHER}\n")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "it holds no key, so that nobody could come in"),
        ("# none\n", "it holds no key"),
        (KEY, "line 1 is not 'NAME: sha256:HEX' or 'NAME: KEY'"),
        (f"a b: {KEY}", "line 1 is not"),
        (f": {KEY}", "line 1 is not"),
        ("ada: short", "line 1 has a key of less than 32 characters"),
        ("ada:", "line 1 has a key of less than"),
        (
            f"ada: {'k' * 513}",
            "line 1 has a key with white space or other than ASCII, or longer than 512",
        ),
        (f"ada: {KEY} x", "line 1 has a key with white space"),
        (f"ada: {KEY}é", "line 1 has a key with white space"),
        ("ada: sha256:abc", "line 1 has a hash that is not 64 hexadecimal digits"),
        (f"ada: {KEY}\n\nbob: {KEY}", "line 3 has the key of line 1"),
        (
            "ada: short\nbob: sha256:1",
            "line 1 has a key of less than 32 characters; line 2 has a hash",
        ),
        (
            "".join(f"k{at}: {at:064}\n" for at in range(MAX_KEYS + 1)),
            "it holds more than 1000 keys",
        ),
    ],
)
def test_what_is_wrong_is_told_by_its_line(text: str, said: str) -> None:
    with pytest.raises(KeysInvalid) as invalid:
        keys(text)

    assert said in str(invalid.value)
    assert KEY not in str(invalid.value)


def test_nothing_prints_a_digest() -> None:
    assert repr(keys(f"ada: {KEY}")[0]) == "ApiKey(name='ada')"
