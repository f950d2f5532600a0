from __future__ import annotations

import pytest

from vmcp.protocol.tracecontext import TraceContext, parse

TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"


@pytest.mark.parametrize(("flags", "is_sampled"), [("00", False), ("01", True), ("03", True)])
def test_a_context_is_read_and_written(flags: str, is_sampled: bool) -> None:  # noqa: FBT001
    found = parse(f"00-{TRACE}-{SPAN}-{flags}", "a=1,b=2")

    assert found == TraceContext(TRACE, SPAN, is_sampled, "a=1,b=2")
    assert found.parent == f"00-{TRACE}-{SPAN}-{'01' if is_sampled else '00'}"


def test_a_later_version_may_tell_more() -> None:
    assert parse(f"01-{TRACE}-{SPAN}-01-more", None) == TraceContext(TRACE, SPAN, True)  # noqa: FBT003


@pytest.mark.parametrize(
    "parent",
    [
        None,
        "",
        "anything",
        f"ff-{TRACE}-{SPAN}-01",
        f"00-{TRACE}-{SPAN}-01-more",
        f"00-{'0' * 32}-{SPAN}-01",
        f"00-{TRACE}-{'0' * 16}-01",
        f"00-{TRACE.upper()}-{SPAN}-01",
        f"00-{TRACE}-{SPAN}-1",
        f"00-{TRACE}-{SPAN}-01\n00",
    ],
)
def test_what_is_no_context_is_none(parent: str | None) -> None:
    assert parse(parent, "a=1") is None


@pytest.mark.parametrize("state", [None, "", "a" * 513, "a=1\nb"])
def test_a_state_that_cannot_be_carried_is_left_out(state: str | None) -> None:
    found = parse(f"00-{TRACE}-{SPAN}-01", state)

    assert found is not None
    assert found.state is None
