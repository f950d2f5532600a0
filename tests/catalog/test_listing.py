from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.catalog.builders import document, key
from vmcp.catalog.entries import Entry
from vmcp.catalog.listing import Listing, Page
from vmcp.model.inventory import Era

NAMES = st.sets(st.text(alphabet="abc_", min_size=1, max_size=4), max_size=12)


def entry(name: str, **members: object) -> Entry:
    return Entry(key("k"), "k", name, name, document(name=name, **members))


def listing(*names: str) -> Listing:
    return Listing.of(entry(name) for name in names)


def found(page: Page) -> list[str]:
    return [one["name"] for one in json.loads(b"[" + page.items + b"]")]


def test_names_are_sorted() -> None:
    assert listing("b", "a", "C", "a.b").names == ("C", "a", "a.b", "b")


@given(NAMES, st.integers(min_value=1, max_value=20), st.sampled_from(Era))
def test_the_pages_of_any_size_make_up_the_whole(names, size, era) -> None:
    shown = listing(*names)
    pages = [shown.page(None, size, era)]
    while (last := pages[-1].last) is not None:
        pages.append(shown.page(last, size, era))

    assert b",".join(page.items for page in pages) == shown.page(None, len(names) + 1, era).items
    assert [name for page in pages for name in found(page)] == sorted(names)
    assert all(len(found(page)) == size for page in pages[:-1])


@given(NAMES, st.text(alphabet="abc_", max_size=4), st.integers(min_value=1, max_value=4))
def test_a_page_goes_on_after_a_name_that_is_gone(names, after, size) -> None:
    expected = [name for name in sorted(names) if name > after]

    page = listing(*names).page(after, size, Era.STATELESS)

    assert found(page) == expected[:size]
    assert page.last == (expected[size - 1] if len(expected) > size else None)


def test_an_empty_listing_has_one_empty_page() -> None:
    assert listing().page(None, 10, Era.SESSIONED) == Page(b"", None)
    assert len(listing()) == 0


def test_a_page_of_no_documents_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one"):
        listing("a").page(None, 0, Era.SESSIONED)


def test_sessioned_clients_see_no_output_schema_of_anything_but_an_object() -> None:
    odd = entry("odd", outputSchema={"type": "array"}, title="t")._replace(object_output=False)
    usual = entry("usual", outputSchema={"type": "object"})
    shown = Listing.of([odd, usual])

    sessioned, stateless = (shown.page(None, 9, era).items for era in Era)

    assert stateless == odd.document.join() + b"," + usual.document.join()
    assert sessioned == b'{"name":"odd","title":"t"},' + usual.document.join()


def test_pages_stay_right_when_more_are_asked_for_than_are_kept() -> None:
    shown = listing(*(f"{number:03}" for number in range(200)))

    for _ in range(2):
        for number in range(199):
            assert found(shown.page(f"{number:03}", 1, Era.STATELESS)) == [f"{number + 1:03}"]


@pytest.mark.parametrize(
    "other",
    [
        pytest.param([entry("a", title="t")], id="one is gone"),
        pytest.param([entry("a", title="t"), entry("b"), entry("c")], id="one is new"),
        pytest.param([entry("a", title="u"), entry("b")], id="a member has changed"),
        pytest.param([entry("a"), entry("b", title="t")], id="a member has moved"),
        pytest.param([entry("a", title="t"), entry("b")._replace(name="c")], id="another name"),
    ],
)
def test_the_digest_tells_listings_apart(other) -> None:
    assert Listing.of(other).digest != Listing.of([entry("a", title="t"), entry("b")]).digest


def test_the_digest_depends_on_no_order_and_no_process() -> None:
    assert listing("a", "b").digest == listing("b", "a").digest
    assert listing("a").digest.hex()[:16] == "5083b2a2035d8e1b"
