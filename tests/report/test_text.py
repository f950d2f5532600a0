"""Texts in a status are bounded, and hold nothing that may be a key."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest

from vmcp.report.text import cut, joined, shown_url, written


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("http://wiki.apps.svc:8080/mcp", "http://wiki.apps.svc:8080/mcp"),
        ("https://[::1]:80/", "https://[::1]:80/"),
        ("https://me:pw@a.example.com", "https://a.example.com"),
        ("https://a.example.com/mcp?key=1#part", "https://a.example.com/mcp"),
        ("https://a.example.com/v1/my-long-project-of-2024/sse", None),
        ("https://a.example.com/s/MjQ3NzRkYzItODk5Zi00/mcp", "https://a.example.com/s/***/mcp"),
        ("https://a.example.com/abcdefghijklmnopqrstuvwxyz", "https://a.example.com/***"),
        (
            "https://a.example.com/t/8f14e45f-ceea-467f-a0e6-3f1d2b4c5d6e/mcp",
            "https://a.example.com/t/***/mcp",
        ),
    ],
)
def test_a_url_keeps_what_tells_where_a_backend_is(url: str, shown: str | None) -> None:
    assert shown_url(url) == (url if shown is None else shown)


def test_what_is_no_url_is_not_shown() -> None:
    assert shown_url("https://[broken") is None


def test_a_text_is_cut_where_it_is_too_long() -> None:
    assert (cut("abc", 3), cut("abcd", 3)) == ("abc", "ab…")


def test_sentences_are_joined_whole_and_the_rest_is_counted() -> None:
    sentences = [f"Sentence {number:03}." for number in range(100)]

    told = joined(sentences, 100)

    assert len(told) <= 100
    assert told.startswith("Sentence 000. Sentence 001.")
    count = told.count("Sentence")
    assert told.endswith(f"Sentence {count - 1:03}. And {100 - count} more.")
    assert joined(sentences[:3], 100) == "Sentence 000. Sentence 001. Sentence 002."


def test_one_sentence_that_is_too_long_is_cut() -> None:
    told = joined(["x" * 500, "y" * 500], 100)

    assert len(told) <= 100
    assert told.endswith("x… And 1 more.")
    assert len(joined(["x" * 500], 100)) <= 100


def test_times_are_written_in_utc() -> None:
    time = datetime(2026, 11, 1, 2, 3, 4, 999, timezone(timedelta(hours=2)))

    assert written(time) == "2026-11-01T00:03:04Z"
