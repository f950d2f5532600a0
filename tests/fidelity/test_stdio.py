"""Over stdio the same bytes pass as over HTTP, in all pairs of eras."""

import json
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass

import pytest
import yaml

from tests.fidelity import crossing
from tests.fidelity.documents import FOLDER, documents, each
from tests.support.node import ROOT
from tests.support.raw_client import RawClient, raw_client
from tests.support.raw_json import items, member, members
from tests.support.raw_server import Era
from tests.support.raw_stdio import PROGRESS, one_line
from tests.support.servers import run_gateway

FILES = [str(FOLDER / f"{name}.json") for name in ("tools", "results", "errors")]
CLIENT_TOKEN = b'"\\u00e9-9007199254740993"'


@dataclass(frozen=True, slots=True)
class Pair:
    client: RawClient
    backend: Era

    def call(self, arguments: bytes, meta: bytes = b"") -> tuple[bytes, ...]:
        """Call the tool of the backend and return all messages, the response last."""
        name = b'"name":"%b_echo"' % self.backend.value.encode()
        params = name + b',"arguments":' + arguments
        token = b'"progressToken":' + CLIENT_TOKEN
        meta = token + b"," + meta if meta else token
        return self.client.request("tools/call", params, meta=meta).messages


@pytest.fixture(scope="module")
def clients() -> Iterator[dict[Era, RawClient]]:
    # The child's folder is ours, so that it finds the tests; it needs nothing of our environment.
    argv = ["-m", "tests.support.raw_stdio"]
    backends = [
        {
            "name": era.value,
            "stdio": {
                "command": sys.executable,
                "args": [*argv, era.value, *FILES],
                "cwd": str(ROOT),
            },
        }
        for era in Era
    ]
    with ExitStack() as stack:
        gateway = stack.enter_context(run_gateway(yaml.safe_dump({"backends": backends})))
        yield {era: stack.enter_context(raw_client(gateway.url, era)) for era in Era}


@pytest.fixture(
    params=[(client, backend) for client in Era for backend in Era],
    ids=lambda pair: f"{pair[0].value} to {pair[1].value}",
)
def pair(request: pytest.FixtureRequest, clients: dict[Era, RawClient]) -> Pair:
    client, backend = request.param
    return Pair(clients[client], backend)


def test_documents_are_untouched_but_for_the_name(pair: Pair) -> None:
    prefix = pair.backend.value.encode() + b"_"
    listed = items(member(pair.client.request("tools/list").result, "tools"))
    shown = {json.loads(member(raw, "name")): members(raw) for raw in listed}

    for raw in documents("tools"):
        document = members(one_line(raw))
        own = dict(document)[b'"name"']
        name = b'"' + prefix + own[1:]
        expected = tuple((key, name if key == b'"name"' else value) for key, value in document)
        assert shown[json.loads(name)] == expected


@each("arguments", "arguments")
def test_arguments_are_untouched(pair: Pair, arguments: bytes) -> None:
    *_, response = pair.call(arguments)

    params = member(member(response, "result"), "params")
    assert member(params, "name") == b'"echo"'
    assert member(params, "arguments") == one_line(arguments)


@each("meta", "meta")
def test_meta_is_untouched(pair: Pair, meta: bytes) -> None:
    *_, response = pair.call(b"{}", meta.strip()[1:-1])

    sent = members(member(member(member(response, "result"), "params"), "_meta"))
    assert set(members(one_line(meta))) <= set(sent)


@each("result", "results")
def test_results_are_untouched(pair: Pair, request: pytest.FixtureRequest, result: bytes) -> None:
    *_, response = pair.call(named("result", request))

    found = member(response, "result")
    if pair.client.era is pair.backend:
        assert found == one_line(result)
    else:
        expected = crossing.result(one_line(result), "tools/call", pair.client.era)
        assert members(found) == expected


@each("error", "errors")
def test_errors_are_untouched(pair: Pair, request: pytest.FixtureRequest, error: bytes) -> None:
    *_, response = pair.call(named("error", request))

    assert member(response, "error") == one_line(error)


def test_progress_is_untouched_but_for_its_token(pair: Pair) -> None:
    progress, _ = pair.call(b"{}")

    expected = PROGRESS.replace(b'"@token@"', CLIENT_TOKEN)
    assert members(member(progress, "params")) == members(member(expected, "params"))


def named(how: str, request: pytest.FixtureRequest) -> bytes:
    """Return the arguments that ask for the golden answer of this test."""
    name = request.node.callspec.id.split("-")[-1]
    return json.dumps({"answer": name, "how": how}).encode()
