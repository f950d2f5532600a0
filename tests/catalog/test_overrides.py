from __future__ import annotations

import pytest

from tests.catalog.builders import document
from vmcp.catalog.overrides import overridden
from vmcp.catalog.raw import UnreadableError
from vmcp.model.rules import ToolOverride


def test_a_description_replaces_the_old_one_in_its_place() -> None:
    before = document(name="a", description="old", _meta=b'{"x": 1.0}')

    after = overridden(before, ToolOverride(description='größer "so"'))

    assert after.join() == (
        '{"name":"a","description":"größer \\"so\\"","_meta":{"x": 1.0}}'.encode()
    )


def test_a_description_is_added_where_there_was_none() -> None:
    after = overridden(document(name="a"), ToolOverride(description="new"))

    assert after.join() == b'{"name":"a","description":"new"}'


def test_an_empty_description_is_not_an_absent_one() -> None:
    after = overridden(document(name="a", description="old"), ToolOverride(description=""))

    assert after.join() == b'{"name":"a","description":""}'


def test_named_annotations_are_replaced_and_the_others_keep_their_bytes() -> None:
    before = document(annotations=b'{ "readOnlyHint" : false, "x-cost" : 1.50, "title":"\\u00e9" }')

    after = overridden(
        before, ToolOverride(annotations={"readOnlyHint": b"true", "openWorldHint": b"false"})
    )

    assert after.get(b'"annotations"') == (
        b'{"readOnlyHint":true,"x-cost":1.50,"title":"\\u00e9","openWorldHint":false}'
    )


def test_a_repeated_annotation_is_replaced_wherever_it_stands() -> None:
    before = document(annotations=b'{"title":"a","title":"b"}')

    after = overridden(before, ToolOverride(annotations={"title": b'"c"'}))

    assert after.get(b'"annotations"') == b'{"title":"c","title":"c"}'


@pytest.mark.parametrize("members", [{}, {"annotations": b"null"}], ids=["absent", "null"])
def test_annotations_are_made_where_there_are_none(members) -> None:
    after = overridden(document(**members), ToolOverride(annotations={"title": b'"T"'}))

    assert after.get(b'"annotations"') == b'{"title":"T"}'


def test_annotations_that_are_no_object_cannot_be_overridden() -> None:
    with pytest.raises(UnreadableError):
        overridden(document(annotations=b"[1]"), ToolOverride(annotations={"title": b'"T"'}))


def test_an_override_without_content_changes_nothing() -> None:
    before = document(name="a", annotations=b"[ ]")

    assert overridden(before, ToolOverride(name="b")) is before
