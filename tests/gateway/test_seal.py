from __future__ import annotations

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.virtual_time import HandClock
from vmcp.gateway.seal import Seal, binding
from vmcp.model.secret import Secret
from vmcp.protocol.document import unquote
from vmcp.protocol.failures import InvalidParams

MINE = binding(b"issuer", b"subject", b"Backend/a", b"tools/call", b'"tool"', b"{}")
STATE = b'{"step": 2}'


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
def seal(clock: HandClock) -> Seal:
    return Seal(clock)


def closed(seal: Seal) -> str:
    return unquote(seal.close(STATE, MINE))


@given(st.binary(max_size=200))
def test_what_was_closed_comes_back_byte_for_byte(state: bytes) -> None:
    seal = Seal(HandClock())

    assert seal.open(unquote(seal.close(state, MINE)), MINE) == state


def test_nothing_of_the_state_can_be_seen_and_no_two_seals_are_alike(seal: Seal) -> None:
    one, two = closed(seal), closed(seal)

    assert one != two
    assert b"step" not in base64.urlsafe_b64decode(one.removeprefix("vmcp1."))


@pytest.mark.parametrize(
    "other",
    [
        (b"another issuer", b"subject", b"Backend/a", b"tools/call", b'"tool"', b"{}"),
        (b"issuer", b"another", b"Backend/a", b"tools/call", b'"tool"', b"{}"),
        (b"issuer", b"subject", b"Backend/b", b"tools/call", b'"tool"', b"{}"),
        (b"issuer", b"subject", b"Backend/a", b"prompts/get", b'"tool"', b"{}"),
        (b"issuer", b"subject", b"Backend/a", b"tools/call", b'"other"', b"{}"),
        (b"issuer", b"subject", b"Backend/a", b"tools/call", b'"tool"', b'{"a":1}'),
        (b"issue", b"rsubject", b"Backend/a", b"tools/call", b'"tool"', b"{}"),
    ],
    ids=["issuer", "subject", "backend", "method", "name", "arguments", "shifted"],
)
def test_a_state_opens_for_the_very_request_alone(seal: Seal, other: tuple[bytes, ...]) -> None:
    with pytest.raises(InvalidParams) as caught:
        seal.open(closed(seal), binding(*other))

    assert caught.value.data == {"reason": "RequestStateExpired"}


@given(st.data())
def test_a_state_that_was_touched_does_not_open(data: st.DataObject) -> None:
    seal = Seal(HandClock())
    raw = bytearray(base64.urlsafe_b64decode(closed(seal).removeprefix("vmcp1.")))
    at = data.draw(st.integers(0, len(raw) - 1))
    raw[at] ^= data.draw(st.integers(1, 255))

    with pytest.raises(InvalidParams):
        seal.open("vmcp1." + base64.urlsafe_b64encode(raw).decode(), MINE)


@pytest.mark.parametrize("text", ["", "vmcp1.", "vmcp1.A", "ü", "vmcp1." + "A" * 40, "{}", "\0"])
def test_what_never_was_a_seal_does_not_open(seal: Seal, text: str) -> None:
    with pytest.raises(InvalidParams):
        seal.open(text, MINE)


@pytest.mark.parametrize(("seconds", "opens"), [(599, True), (602, False)])
def test_a_seal_holds_for_ten_minutes(
    clock: HandClock, seal: Seal, seconds: float, *, opens: bool
) -> None:
    sealed = closed(seal)
    clock.move(seconds)

    if opens:
        assert seal.open(sealed, MINE) == STATE
    else:
        with pytest.raises(InvalidParams, match="expired"):
            seal.open(sealed, MINE)


def test_a_configured_key_opens_what_another_process_closed(clock: HandClock) -> None:
    sealed = closed(Seal(clock, Secret("k" * 32)))

    assert Seal(clock, Secret("k" * 32)).open(sealed, MINE) == STATE
    for other in (Seal(clock, Secret("l" * 32)), Seal(clock)):
        with pytest.raises(InvalidParams):
            other.open(sealed, MINE)
