"""Notifications of a call: their params are those of the backend, but for the progress token."""

from tests.fidelity import crossing
from tests.fidelity.conftest import Pair
from tests.fidelity.documents import each, named
from tests.support.raw_json import Members, member, members
from tests.support.raw_server import TOKEN, How, Prepared

DONE = b'{"content":[]}'
CLIENT_TOKEN = b'"\\u00e9-9007199254740993"'
META = (
    b'"progressToken":' + CLIENT_TOKEN + b',"io.modelcontextprotocol/logLevel":"debug"'
)  # a session takes what comes, a stateless call says what it takes


def call(pair: Pair, *notes: bytes) -> list[tuple[bytes, Members]]:
    messages = [b'{"jsonrpc":"2.0",' + note.strip()[1:] for note in notes]
    pair.backend.answer = Prepared(DONE, how=How.STREAM, notes=tuple(messages))
    answer = pair.client.request("tools/call", b'"name":"echo"', meta=META)
    return [(member(each, "method"), members(member(each, "params"))) for each in answer.notes]


def expected(note: bytes) -> tuple[bytes, Members]:
    came = note.replace(TOKEN, CLIENT_TOKEN)
    return member(came, "method"), members(member(came, "params"))


@each("note", "notes")
def test_what_a_notification_says_is_untouched(pair: Pair, note: bytes) -> None:
    assert call(pair, note) == [expected(note)]


def test_notifications_keep_their_order(pair: Pair) -> None:
    notes = list(named("notes").values())

    assert call(pair, *notes) == [expected(note) for note in notes]


@each("result", "results")
def test_a_result_at_the_end_of_a_stream_is_untouched(pair: Pair, result: bytes) -> None:
    note = b'{"jsonrpc":"2.0",' + named("notes")["log"].strip()[1:]
    pair.backend.answer = Prepared(result, how=How.STREAM, notes=(note,))

    found = pair.client.request("tools/call", b'"name":"echo"', meta=META)

    assert len(found.notes) == 1
    if pair.is_crossed:
        expected = crossing.result(result, "tools/call", pair.client.era)
        assert members(found.result) == expected
    else:
        assert found.result == result
