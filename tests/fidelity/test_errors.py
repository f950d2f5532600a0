"""A backend's JSON-RPC error is passed on as it came."""

import pytest

from tests.fidelity.conftest import Pair
from tests.fidelity.documents import each
from tests.support.raw_json import member, members
from tests.support.raw_server import Era, How, Prepared

each_error = each("error", "errors")
NOT_FOUND = b'{"message":"\\u00e9","code":-32002,"data":{"x":1.0,"uri":"else","caf\\u00e9":2}}'


def call(pair: Pair) -> bytes:
    return pair.client.request("tools/call", b'"name":"echo"').error


@each_error
@pytest.mark.parametrize("how", How, ids=lambda how: how.value)
def test_an_error_is_passed_on_as_it_came(pair: Pair, error: bytes, how: How) -> None:
    pair.backend.answer = Prepared(error, is_error=True, how=how)

    assert call(pair) == error


@each_error
@pytest.mark.parametrize("status", [400, 500])
def test_an_error_with_an_error_status_is_passed_on_as_it_came(
    pair: Pair, error: bytes, status: int
) -> None:
    pair.backend.answer = Prepared(error, is_error=True, status=status)

    assert call(pair) == error


# In a session this status says that the session is gone.
@each_error
@pytest.mark.parametrize("client_era", Era, ids=lambda era: f"to {era.value}")
def test_a_stateless_error_with_status_404_is_passed_on_as_it_came(
    pairs: dict[tuple[Era, Era], Pair], client_era: Era, error: bytes
) -> None:
    pair = pairs[client_era, Era.STATELESS]
    pair.backend.answer = Prepared(error, is_error=True, status=404)

    assert call(pair) == error


def test_large_data_of_an_error_is_passed_on(pair: Pair) -> None:
    error = b'{"code":-32602,"message":"m","data":"' + b"x" * 2**20 + b'"}'
    pair.backend.answer = Prepared(error, is_error=True, status=400)

    assert call(pair) == error


@pytest.mark.parametrize("error", [NOT_FOUND, b'{"code":-32002,"message":"m"}'])
def test_the_old_code_for_an_unknown_resource_becomes_the_new_one(pair: Pair, error: bytes) -> None:
    pair.backend.answer = Prepared(error, is_error=True)
    uri = b'"test:\\/\\/plain"'

    found = pair.client.request("resources/read", b'"uri":' + uri).error

    if (pair.client.era, pair.backend.era) != (Era.STATELESS, Era.SESSIONED):
        assert found == error
        return
    kept = [each for each in members(error) if each[0] not in (b'"code"', b'"data"')]
    assert [each for each in members(found) if each[0] not in (b'"code"', b'"data"')] == kept
    assert member(found, "code") == b"-32602"
    data = dict(members(member(found, "data")))
    assert data.pop(b'"uri"') == uri
    assert list(data.items()) == [
        each
        for each in (members(member(error, "data")) if b'"data"' in error else ())
        if each[0] != b'"uri"'
    ]
