"""Methods that nobody knows pass to the only backend; who the client is reaches every backend."""

import pytest

from tests.fidelity import crossing
from tests.fidelity.conftest import Pair
from tests.support.raw_client import HOP_META, INITIALIZE
from tests.support.raw_json import cases, member, members
from tests.support.raw_server import Era, Prepared

PARAMS = b'"z":1.0,"a":{"b":1,"b":2},"caf\\u00e9":1E+5,"big":9007199254740993,"name":"\\ud800"'
RESULT = b'{"z":1.0,"a":[ 1E+5 ],"caf\\u00e9":"\\ud800"}'
INFO = b'"io.modelcontextprotocol/clientInfo"'


@pytest.mark.parametrize("method", ["vendor/do", "caf\\u00e9/x", "a/\\ud800"])
def test_an_unknown_method_passes_with_its_params_and_its_result(pair: Pair, method: str) -> None:
    # No header can repeat a lone surrogate, and in the stateless era one repeats the method.
    if "\\" in method and Era.STATELESS in (pair.client.era, pair.backend.era):
        method = "vendor.other/do"
    pair.backend.answer = Prepared(RESULT)

    found = pair.client.request(method, PARAMS).result

    sent = pair.backend.last(
        method if "\\" not in method else method.encode().decode("unicode-escape")
    )
    params = tuple(each for each in members(sent.params) if each[0] != b'"_meta"')
    assert params == members(b"{" + PARAMS + b"}")
    if pair.is_crossed:
        assert members(found) == crossing.result(RESULT, method, pair.client.era)
    else:
        assert found == RESULT


def test_empty_params_stay_empty(pairs: dict[tuple[Era, Era], Pair]) -> None:
    pair = pairs[Era.SESSIONED, Era.SESSIONED]
    pair.backend.answer = Prepared(RESULT)

    pair.client.request("vendor/do")

    assert pair.backend.last("vendor/do").params == b"{}"


def test_an_unknown_notification_passes_with_its_params(
    pairs: dict[tuple[Era, Era], Pair],
) -> None:
    pair = pairs[Era.SESSIONED, Era.SESSIONED]
    pair.backend.answer = Prepared(RESULT)
    pair.client.request("vendor/do")  # a session is open at the backend from the first call on

    before = pair.backend.count()
    pair.client.notify("notifications/vendor", PARAMS)

    sent = pair.backend.await_sent(lambda each: each.method == "notifications/vendor", before)
    assert members(sent.params) == members(b"{" + PARAMS + b"}")


def test_a_sessioned_backend_is_told_of_the_client_what_the_client_said(
    pairs: dict[tuple[Era, Era], Pair],
) -> None:
    pair = pairs[Era.SESSIONED, Era.SESSIONED]
    pair.backend.answer = Prepared(RESULT)

    pair.client.request("vendor/do")

    told = [cases(each.params) for each in pair.backend.all("initialize")]
    mine = cases(INITIALIZE)
    assert any(
        each["clientInfo"] == mine["clientInfo"] and each["capabilities"] == mine["capabilities"]
        for each in told
    )


def test_across_eras_a_backend_is_told_of_the_client_what_the_client_said(
    pairs: dict[tuple[Era, Era], Pair],
) -> None:
    info = dict(members(b"{" + HOP_META + b"}"))[INFO]
    for pair in (pairs[Era.STATELESS, Era.SESSIONED], pairs[Era.SESSIONED, Era.STATELESS]):
        pair.backend.answer = Prepared(b'{"content":[]}')
        pair.client.request("tools/call", b'"name":"echo"')

    session = pairs[Era.STATELESS, Era.SESSIONED].backend.last("initialize")
    call = pairs[Era.SESSIONED, Era.STATELESS].backend.last("tools/call")
    assert member(session.params, "clientInfo") == info
    assert dict(members(member(call.params, "_meta")))[INFO] == info
