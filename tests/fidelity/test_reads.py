"""Resources, prompts and completions: what is asked and what is answered pass byte for byte."""

import pytest

from tests.fidelity import crossing
from tests.fidelity.conftest import Pair
from tests.fidelity.documents import documents, each
from tests.support.raw_json import cases, member, members
from tests.support.raw_server import How, Prepared

URIS = {raw: member(raw, "uri") for raw in documents("resources")}
ESCAPED = b'"\\u0074est:\\/\\/plain"'
NO_ROOM_FOR_MORE = b'{"ttlMs":60000,"contents":[],"cacheScope":"public","resultType":"other"}'

each_way = pytest.mark.parametrize("how", How, ids=lambda how: how.value)


def assert_came_as(pair: Pair, method: str, found: bytes, result: bytes) -> None:
    if pair.is_crossed:
        assert members(found) == crossing.result(result, method, pair.client.era)
    else:
        assert found == result


@each_way
@each("result", "reads")
def test_what_a_resource_holds_is_untouched(pair: Pair, result: bytes, how: How) -> None:
    pair.backend.answer = Prepared(result, how=how)

    found = pair.client.request("resources/read", b'"uri":"test://plain"').result

    assert_came_as(pair, "resources/read", found, result)


@pytest.mark.parametrize("uri", [*URIS.values(), ESCAPED])
def test_a_uri_reaches_the_backend_as_it_was_written(pair: Pair, uri: bytes) -> None:
    pair.backend.answer = Prepared(b'{"contents":[]}')

    pair.client.request("resources/read", b'"uri":' + uri)

    assert member(pair.backend.last("resources/read").params, "uri") == uri


def test_a_sessioned_result_keeps_members_that_only_the_other_era_knows(pair: Pair) -> None:
    pair.backend.answer = Prepared(NO_ROOM_FOR_MORE)

    found = pair.client.request("resources/read", b'"uri":"test://plain"').result

    if not pair.is_crossed:
        assert found == NO_ROOM_FOR_MORE
    elif pair.client.era.value == "sessioned":
        assert found == b'{"contents":[]}'
    else:
        assert found == NO_ROOM_FOR_MORE.replace(b'"other"', b'"complete"')


@each_way
@each("result", "prompt_results")
def test_what_a_prompt_says_is_untouched(pair: Pair, result: bytes, how: How) -> None:
    pair.backend.answer = Prepared(result, how=how)

    found = pair.client.request("prompts/get", b'"name":"plain"').result

    assert_came_as(pair, "prompts/get", found, result)


@each("arguments", "arguments")
def test_the_arguments_of_a_prompt_are_untouched(renamed_pair: Pair, arguments: bytes) -> None:
    renamed_pair.backend.answer = Prepared(b'{"messages":[]}')
    name = b'"' + renamed_pair.prefix + b'plain"'

    renamed_pair.client.request("prompts/get", b'"arguments":%b,"name":%b' % (arguments, name))

    params = renamed_pair.backend.last("prompts/get").params
    assert member(params, "arguments") == arguments
    assert member(params, "name") == b'"plain"'


@each_way
@each("result", "completions")
def test_completions_are_untouched(pair: Pair, result: bytes, how: How) -> None:
    pair.backend.answer = Prepared(result, how=how)
    ref = b'"ref":{"type":"ref/prompt","name":"plain"},"argument":{"name":"a","value":""}'

    found = pair.client.request("completion/complete", ref).result

    assert_came_as(pair, "completion/complete", found, result)


@pytest.mark.parametrize(
    "ref",
    [
        b'{ "type" : "ref/prompt" , "name":"pl\\u0061in","x":1.0, "caf\\u00e9":2 }',
        b'{"uri":"tpl://{id}","type":"ref\\/resource"}',
        b'{"type":"ref/resource","uri":"test:\\/\\/plain","x":{"a":1,"a":2}}',
    ],
    ids=["prompt", "template", "resource"],
)
def test_what_is_to_be_completed_reaches_the_backend_as_it_was_written(
    pair: Pair, ref: bytes
) -> None:
    pair.backend.answer = Prepared(b'{"completion":{"values":[]}}')
    others = {
        "argument": b'{"name":"gr\\u00f6\xc3\x9fe","value":"\\ud800 \\/", "x":1.0}',
        "context": b'{"arguments":{"b":"1","a":"\\u00e9"}}',
    }
    more = b",".join(b'"%b":%b' % (key.encode(), value) for key, value in others.items())

    pair.client.request("completion/complete", b'"ref":' + ref + b"," + more)

    sent = cases(pair.backend.last("completion/complete").params)
    assert {key: sent[key] for key in ("ref", *others)} == {"ref": ref, **others}


def test_of_a_renamed_prompt_in_a_completion_the_backend_gets_its_own_name(
    renamed_pair: Pair,
) -> None:
    renamed_pair.backend.answer = Prepared(b'{"completion":{"values":[]}}')
    name = b'"' + renamed_pair.prefix + b'plain"'
    ref = b'{"x":1.0,"name":%b,"caf\\u00e9":2,"type":"ref/prompt"}' % name

    renamed_pair.client.request(
        "completion/complete", b'"ref":' + ref + b',"argument":{"name":"a","value":""}'
    )

    sent = member(renamed_pair.backend.last("completion/complete").params, "ref")
    assert members(sent) == members(ref.replace(name, b'"plain"'))
