from contextlib import suppress
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vmcp.config.durations import seconds

UNITS = {
    "ns": 10**-9,
    "us": 10**-6,
    "µs": 10**-6,
    "μs": 10**-6,
    "ms": 10**-3,
    "s": 1,
    "m": 60,
    "h": 3600,
}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1m30s", 90.0),
        ("500ms", 0.5),
        ("1h", 3600.0),
        ("45s", 45.0),
        ("1.5h", 5400.0),
        (".5s", 0.5),
        ("1.s", 1.0),
        ("0s", 0.0),
        ("1h2m3s4ms", 3723.004),
        ("100µs", 0.0001),
        ("100μs", 0.0001),
        ("30s30s", 60.0),
    ],
)
def test_a_duration_is_read_as_go_reads_it(text: str, expected: float) -> None:
    assert seconds(text) == pytest.approx(expected, rel=1e-15)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "30",
        "0",
        "s",
        "1 s",
        " 1s",
        "1s ",
        "1s\n",
        "-1s",
        "+1s",
        "1d",
        "1S",
        "1e3s",
        "1.2.3s",
        ".s",
        "1_0s",
        "\u0661s",
    ],
)
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not a duration"):
        seconds(text)


def test_an_endless_text_is_refused_unread() -> None:
    with pytest.raises(ValueError, match="not a duration"):
        seconds("9" * 10_000_000 + "s")


@given(
    st.lists(
        st.tuples(st.integers(0, 10**6), st.sampled_from(sorted(UNITS))), min_size=1, max_size=5
    )
)
def test_parts_add_up(parts: list[tuple[int, str]]) -> None:
    text = "".join(f"{number}{unit}" for number, unit in parts)

    assert seconds(text) == pytest.approx(
        float(sum(Fraction(n) * Fraction(UNITS[u]) for n, u in parts))
    )


@given(st.text(max_size=20))
def test_any_text_is_a_number_of_seconds_or_refused(text: str) -> None:
    with suppress(ValueError):
        assert seconds(text) >= 0
