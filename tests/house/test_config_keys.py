"""Every key of the config has a test in which a value that is not its default changes what can be seen.

Such a test carries the mark `config_key` with the keys that it shows.
"""

from __future__ import annotations

from tests.house.config_keys import keys, last_name, shown


def test_every_key_is_shown_to_change_something() -> None:
    told = {key for test in shown() for key in test.keys}

    assert sorted(keys() - told) == []


def test_no_test_shows_a_key_that_there_is_not() -> None:
    known = keys()

    assert [(test.place, key) for test in shown() for key in test.keys if key not in known] == []


def test_a_test_sets_the_keys_that_it_shows() -> None:
    unset = [
        (test.place, key)
        for test in shown()
        for key in test.keys
        if last_name(key) not in test.words
    ]

    assert unset == []


def test_tests_of_how_the_file_is_read_show_nothing() -> None:
    assert [test.place for test in shown() if test.place.startswith("tests/config/")] == []
