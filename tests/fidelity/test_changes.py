"""Changes that a backend tells of: lists are shown anew, updates of resources pass byte for byte."""

import json
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.fidelity.conftest import Pair, gateway_over, lists_of
from tests.support.raw_backend import raw_backend
from tests.support.raw_client import raw_client
from tests.support.raw_json import Members, items, member, members
from tests.support.raw_server import Era, Sent

# A session stays subscribed when its stream ends, so each client watches a resource of its own.
URIS = {Era.SESSIONED: "test://plain", Era.STATELESS: "urn:isbn:0451450523"}
SUBSCRIPTION = b'"io.modelcontextprotocol/subscriptionId"'
SPELLED = {era: json.dumps(uri).replace("/", "\\/").encode() for era, uri in URIS.items()}
UPDATE = b'"caf\\u00e9":1.0,"uri":%b,"future":{"b":1,"a":2}'
META = b'"com.example\\/a":1E+5,"x":{"b":1,"a":2}'
NEW_TOOL = b'{"name":"added","inputSchema":{"type":"object"},"caf\\u00e9":1.0,"x":1,"x":2}'
each_client = pytest.mark.parametrize("client_era", Era, ids=lambda era: f"to {era.value}")


@pytest.fixture(params=Era, ids=lambda era: f"from {era.value}")
def changing(request: pytest.FixtureRequest) -> Iterator[dict[Era, Pair]]:
    backend_era: Era = request.param
    with (
        raw_backend(backend_era, lists_of(backend_era)) as backend,
        gateway_over(backend, rename=False) as url,
        raw_client(url, Era.SESSIONED) as sessioned,
        raw_client(url, Era.STATELESS) as stateless,
    ):
        yield {client.era: Pair(client, backend) for client in (sessioned, stateless)}


@contextmanager
def watching(pair: Pair) -> Iterator[tuple[bytes, Iterator[bytes]]]:
    """Give what a client hears of its resource, and the params of an update of it."""
    uri = URIS[pair.client.era]

    def is_subscribed(sent: Sent) -> bool:
        wanted = ("resources/subscribe", "subscriptions/listen")
        return sent.method in wanted and uri.encode() in sent.body

    before = pair.backend.count()
    with pair.client.changes(uris=(uri,)) as messages:
        pair.backend.await_sent(is_subscribed, before)
        yield UPDATE % SPELLED[pair.client.era], messages


def tags(pair: Pair) -> Members:
    """The tag that a stateless client's messages carry: the id of its request."""
    return ((SUBSCRIPTION, b'"l\\u00e9"'),) if pair.client.era is Era.STATELESS else ()


def test_an_update_reaches_its_watchers_untouched(changing: dict[Era, Pair]) -> None:
    for pair in changing.values():
        with watching(pair) as (update, messages):
            pair.backend.tell("notifications/resources/updated", update, META)
            message = next(messages)

        found = members(member(message, "params"))
        assert member(message, "method") == b'"notifications/resources/updated"'
        assert tuple(each for each in found if each[0] != b'"_meta"') == members(
            b"{" + update + b"}"
        )
        assert members(dict(found)[b'"_meta"']) == (*members(b"{" + META + b"}"), *tags(pair))


def test_the_tag_of_the_backend_s_own_stream_stays_there(changing: dict[Era, Pair]) -> None:
    for pair in changing.values():
        with watching(pair) as (update, messages):
            pair.backend.tell("notifications/resources/updated", update)
            found = dict(members(member(next(messages), "params")))

        if tags(pair):
            assert members(found[b'"_meta"']) == tags(pair)
        else:
            assert b'"_meta"' not in found


def test_a_changed_list_is_told_and_shown_byte_for_byte(changing: dict[Era, Pair]) -> None:
    pair = changing[Era.STATELESS]
    other = changing[Era.SESSIONED]
    with pair.client.changes("tools") as told, other.client.changes() as told_other:
        lists = pair.backend.lists
        pair.backend.lists = {**lists, "tools/list": (NEW_TOOL, *lists["tools/list"][:2])}
        pair.backend.tell("notifications/tools/list_changed")
        heard = [member(next(stream), "method") for stream in (told, told_other)]

    assert heard == [b'"notifications/tools/list_changed"'] * 2
    for each in changing.values():
        shown = items(member(each.client.request("tools/list").result, "tools"))
        assert members(shown[0]) == members(NEW_TOOL)
        assert len(shown) == 3
