from __future__ import annotations

import pytest

from tests.catalog.builders import PEER, catalog, document, key, lists, messages
from vmcp.catalog.lookup import Catalog
from vmcp.model.document import Document
from vmcp.model.inventory import Era, Peer

READER = Peer(Era.STATELESS, "2026-07-28", document(resources={}, completions={}), b"{}")


def reader(found: Catalog, uri: str) -> str | None:
    entry = found.resource(uri)
    return None if entry is None else entry.backend_name


def test_a_listed_uri_goes_before_any_template() -> None:
    found = catalog({"a": lists(templates=["r://{id}"]), "b": lists(resources=["r://1"])})

    assert reader(found, "r://1") == "b"
    assert reader(found, "r://2") == "a"


@pytest.mark.parametrize(
    ("uri", "expected"),
    [
        ("r://users/1", "c"),
        ("r://users/1/photo", "b"),
        ("r://things/1", "a"),
        ("q://1", None),
    ],
)
def test_the_template_with_the_most_literal_text_wins(uri, expected) -> None:
    listed = {
        "a": lists(templates=["r://{+rest}"]),
        "b": lists(templates=["r://users/{id}/photo"]),
        "c": lists(templates=["r://users/{id}"]),
    }

    assert reader(catalog(listed), uri) == expected


def test_among_equally_specific_templates_the_first_by_name_wins() -> None:
    listed = {"a": lists(templates=["r://{z}"]), "b": lists(templates=["r://{y}"])}

    assert reader(catalog(listed), "r://1") == "b"


def test_an_entry_that_came_by_a_template_reads_the_uri_itself() -> None:
    entry = catalog({"a": lists(templates=["r://{id}"])}).resource('r://"é')

    assert entry is not None
    assert (entry.backend, entry.name, entry.own_name) == (key("a"), 'r://"é', 'r://"é')
    assert entry.own_json == '"r://\\"é"'.encode()
    assert entry.document == document(uriTemplate="r://{id}", name="t")
    assert not entry.renamed


@pytest.mark.parametrize(
    ("only", "others"),
    [
        pytest.param(lists(resources=["r://1"]), lists(tools=["x"]), id="lists resources"),
        pytest.param(lists(templates=["s://{id}"]), lists(prompts=["x"]), id="lists templates"),
        pytest.param(lists(peer=READER), lists(tools=["x"]), id="declares them"),
    ],
)
def test_an_unlisted_uri_goes_to_the_only_backend_with_resources(only, others) -> None:
    entry = catalog({"a": others, "b": only, "c": others}).resource("q://new")

    assert entry is not None
    assert (entry.backend_name, entry.own_name) == ("b", "q://new")
    assert entry.document == Document(())


def test_an_unlisted_uri_goes_nowhere_where_several_backends_have_resources() -> None:
    listed = {"a": lists(resources=["r://1"]), "b": lists(peer=READER)}

    assert catalog(listed).resource("q://new") is None


def test_a_loser_of_a_uri_is_still_a_backend_with_resources() -> None:
    own = lists(resources=["r://1"])

    assert catalog({"a": own, "b": own}).resource("q://new") is None


def test_a_uri_too_long_for_templates_goes_to_the_only_reader() -> None:
    found = catalog({"a": lists(templates=["r://{id}"])})

    entry = found.resource("r://" + "x" * 10_000)

    assert entry is not None
    assert entry.document == Document(())


def test_a_template_that_cannot_be_matched_is_listed_and_told() -> None:
    found = catalog({"a": lists(templates=["r://{id"]), "b": lists(resources=["x://1"])})

    assert found.template("r://{id") is not None
    assert reader(found, "r://1") is None
    assert messages(found) == [
        (
            "Resource template 'r://{id' of backend 'a' is listed, but leads no URI to its backend:"
            " it is not one of RFC 6570, or too long."
        )
    ]


def test_names_lead_nowhere_in_other_lists() -> None:
    found = catalog({"a": lists(["t"], ["p"], ["r:1"], ["s:{id}"])})

    assert found.tool("a_p") is None
    assert found.prompt("a_t") is None
    assert found.tool("t") is None
    assert found.template("r:1") is None
    assert found.prompt("a_p") is not None


def test_the_backends_that_declare_a_capability_are_told_in_order() -> None:
    found = catalog({"b": lists(peer=READER), "c": lists(), "a": lists(peer=READER)})

    assert found.declaring("completions") == (key("a"), key("b"))
    assert found.declaring("tools") == ()
    assert found.peers == {key("a"): READER, key("b"): READER, key("c"): PEER}
