"""Ids and progress tokens come back as they were sent; `_meta` reaches the backend."""

import pytest

from tests.fidelity.conftest import Pair
from tests.fidelity.documents import each
from tests.support.raw_client import HOP_META
from tests.support.raw_json import Members, member, members
from tests.support.raw_server import Era, How, Prepared

HOP_KEYS = [key for key, _ in members(b"{" + HOP_META + b"}")]
DONE = b'{"content":[]}'
PROGRESS = (
    b'{"jsonrpc":"2.0","method":"notifications/progress",'
    b'"params":{"progress":1.0,"progressToken":"@token@"}}'
)


def inside(raw: bytes) -> bytes:
    return raw.strip()[1:-1]


def meta_at_backend(pair: Pair) -> Members:
    """The `_meta` that reached the backend, less what each stateless request must carry."""
    found = members(member(pair.backend.last("tools/call").params, "_meta"))
    return tuple(each for each in found if each[0] not in HOP_KEYS)


def meta_was_told(pair: Pair) -> bool:
    params = pair.backend.last("tools/call").params
    return b'"_meta"' in [key for key, _ in members(params)]


@each("identity", "ids")
@pytest.mark.parametrize("how", [How.JSON, How.STREAM], ids=lambda how: how.value)
def test_an_id_comes_back_as_it_was_sent(pair: Pair, identity: bytes, how: How) -> None:
    pair.backend.answer = Prepared(DONE, how=how)

    answer = pair.client.request("tools/call", b'"name":"echo"', identity=identity)

    assert member(answer.response, "id") == identity


@each("identity", "ids")
@pytest.mark.parametrize("method", ["tools/list", "vendor/none", "tools/call"])
def test_an_id_comes_back_from_answers_of_our_own(
    renamed_pair: Pair, identity: bytes, method: str
) -> None:
    answer = renamed_pair.client.request(method, b'"name":"none"', identity=identity)

    assert member(answer.response, "id") == identity


@each("token", "tokens")
def test_a_progress_token_comes_back_as_it_was_sent(pair: Pair, token: bytes) -> None:
    pair.backend.answer = Prepared(DONE, how=How.STREAM, notes=(PROGRESS,))

    answer = pair.client.request("tools/call", b'"name":"echo"', meta=b'"progressToken":' + token)

    assert len(answer.notes) == 1
    params = member(answer.notes[0], "params")
    assert members(params) == ((b'"progress"', b"1.0"), (b'"progressToken"', token))


def test_without_a_progress_token_there_is_no_progress(pair: Pair) -> None:
    pair.backend.answer = Prepared(DONE, how=How.STREAM, notes=(PROGRESS,))

    answer = pair.client.request("tools/call", b'"name":"echo"')

    assert answer.notes == ()


@each("meta", "meta")
def test_meta_reaches_the_backend(pair: Pair, meta: bytes) -> None:
    pair.backend.answer = Prepared(DONE)

    pair.client.request("tools/call", b'"name":"echo"', meta=inside(meta))

    assert meta_at_backend(pair) == members(meta)


@each("meta", "meta")
def test_beside_a_progress_token_meta_reaches_the_backend(pair: Pair, meta: bytes) -> None:
    pair.backend.answer = Prepared(DONE)

    pair.client.request(
        "tools/call", b'"name":"echo"', meta=inside(meta) + b',"progressToken":"\\u00e9"'
    )

    found = meta_at_backend(pair)
    assert found[:-1] == members(meta)
    assert found[-1][0] == b'"progressToken"'
    assert found[-1][1] != b'"\\u00e9"'


def test_empty_meta_of_a_session_stays_empty(pairs: dict[tuple[Era, Era], Pair]) -> None:
    pair = pairs[Era.SESSIONED, Era.SESSIONED]
    pair.backend.answer = Prepared(DONE)

    pair.client.request("tools/call", b'"name":"echo"', meta=b"")
    empty = meta_at_backend(pair)
    pair.client.request("tools/call", b'"name":"echo"')

    assert empty == ()
    assert not meta_was_told(pair)


def test_the_meta_of_the_stateless_hop_does_not_reach_a_session(
    pairs: dict[tuple[Era, Era], Pair],
) -> None:
    pair = pairs[Era.STATELESS, Era.SESSIONED]
    pair.backend.answer = Prepared(DONE)

    pair.client.request("tools/call", b'"name":"echo"')

    assert not meta_was_told(pair)


def test_a_stateless_backend_gets_each_hop_key_once(pairs: dict[tuple[Era, Era], Pair]) -> None:
    pair = pairs[Era.SESSIONED, Era.STATELESS]
    pair.backend.answer = Prepared(DONE)
    foreign = b'"io.modelcontextprotocol/clientInfo":{"name":"stray","version":"0"},"x":1.0'

    pair.client.request("tools/call", b'"name":"echo"', meta=foreign)

    meta = members(member(pair.backend.last("tools/call").params, "_meta"))
    assert sorted(key for key, _ in meta) == sorted([*HOP_KEYS, b'"x"'])
    assert dict(meta)[b'"io.modelcontextprotocol/clientInfo"'] == member(
        b"{" + HOP_META + b"}", "io.modelcontextprotocol/clientInfo"
    )


def test_what_a_client_says_of_itself_reaches_a_stateless_backend(
    pairs: dict[tuple[Era, Era], Pair],
) -> None:
    pair = pairs[Era.STATELESS, Era.STATELESS]
    pair.backend.answer = Prepared(DONE)

    pair.client.request("tools/call", b'"name":"echo"', meta=b'"x":1')

    meta = member(pair.backend.last("tools/call").params, "_meta")
    assert meta == b"{" + HOP_META + b',"x":1}'
