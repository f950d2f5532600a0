import pytest

from vmcp.config.faults import is_showable_key, kind, near, path_text, shown

CHOICES = ["caBundle", "caBundlePath", "streamable-http", "name"]


@pytest.mark.parametrize(
    ("word", "choice"),
    [
        ("caBundel", "caBundle"),
        ("ca_bundle_path", "caBundlePath"),
        ("CABUNDLE", "caBundle"),
        ("streamablehttp", "streamable-http"),
        ("nmae", "name"),
    ],
)
def test_a_near_word_is_suggested(word: str, choice: str) -> None:
    assert near(word, CHOICES) == f"Did you mean {choice!r}?"


@pytest.mark.parametrize("word", ["", "zzz", 5, None, []])
def test_nothing_is_suggested_for_what_is_far(word: object) -> None:
    assert near(word, CHOICES) is None


@pytest.mark.parametrize(
    "value", ["s3cret", 12345, 1.5, True, ["s3cret"], {"s3cret": "s3cret"}, None]
)
def test_the_kind_of_a_value_tells_nothing_of_its_content(value: object) -> None:
    assert "s3cret" not in kind(value)
    assert "1" not in kind(value)


def test_a_long_text_is_shown_in_part() -> None:
    assert len(shown("x" * 1000)) < 100


@pytest.mark.parametrize("key", ["headerValue:s3cret", "a b", "", "-x", "x" * 64, "ü"])
def test_a_key_that_looks_like_no_name_is_not_shown(key: str) -> None:
    assert not is_showable_key(key)


@pytest.mark.parametrize(
    ("place", "text"),
    [
        ((), ""),
        (("backends", 2, "transport"), "backends[2].transport"),
        (("a", "b.c", 0), 'a["b.c"][0]'),
        (("a", "time server", "name"), 'a["time server"].name'),
    ],
)
def test_a_place_is_written_as_people_write_it(place: tuple[str | int, ...], text: str) -> None:
    assert path_text(place) == text
