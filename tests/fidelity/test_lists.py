"""Each member of each listed document is the one that the backend gave, byte for byte."""

import json

import pytest

from tests.fidelity import crossing
from tests.fidelity.conftest import LISTS, Pair
from tests.support.raw_json import Members, items, member, members
from tests.support.raw_server import LISTS as MEMBERS
from tests.support.raw_server import Era

IDENTITY = {"tools": "name", "prompts": "name", "resources": "uri", "templates": "uriTemplate"}
each_list = pytest.mark.parametrize("method", LISTS)


def shown(pair: Pair, method: str) -> dict[str, Members]:
    answer = pair.client.request(method)
    found = items(member(answer.result, MEMBERS[method].decode()))
    return {json.loads(member(raw, IDENTITY[LISTS[method]])): members(raw) for raw in found}


def given(pair: Pair, method: str) -> dict[str, Members]:
    crosses = pair.client.era is Era.SESSIONED and pair.backend.era is Era.STATELESS
    cut = crossing.tool if method == "tools/list" and crosses else members
    every = pair.backend.lists[method]
    return {json.loads(member(raw, IDENTITY[LISTS[method]])): cut(raw) for raw in every}


def renamed(given_members: Members, prefix: bytes) -> Members:
    return tuple(
        (key, b'"' + prefix + value[1:] if key == b'"name"' else value)
        for key, value in given_members
    )


@each_list
def test_every_member_of_every_document_is_untouched(pair: Pair, method: str) -> None:
    assert shown(pair, method) == given(pair, method)


@each_list
def test_a_backend_at_its_own_path_is_untouched_by_those_beside_it(
    alone_pair: Pair, method: str
) -> None:
    assert shown(alone_pair, method) == given(alone_pair, method)


@pytest.mark.parametrize("method", ["tools/list", "prompts/list"])
def test_a_rename_changes_the_name_alone(renamed_pair: Pair, method: str) -> None:
    prefix = renamed_pair.prefix
    listed = shown(renamed_pair, method)
    ours = {name: found for name, found in listed.items() if name.startswith(prefix.decode())}

    assert ours == {
        prefix.decode() + name: renamed(found, prefix)
        for name, found in given(renamed_pair, method).items()
    }


@pytest.mark.parametrize("method", ["resources/list", "resources/templates/list"])
def test_uris_and_their_documents_are_never_renamed(renamed_pair: Pair, method: str) -> None:
    assert shown(renamed_pair, method) == given(renamed_pair, method)
