from pathlib import Path

import pytest

from tests.config.refusals import BOTH, refused
from vmcp.config.reference import reference
from vmcp.config.schema import Config, json_schema

PAGE = Path(__file__).parents[2] / "docs" / "config.md"


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text() == reference(), "run: python -m vmcp.config.reference > docs/config.md"


def test_every_key_is_on_the_page() -> None:
    page = reference()
    sections = [json_schema(), *json_schema()["$defs"].values()]

    for key in {key for section in sections for key in section["properties"]}:
        assert f"| `{key}` |" in page


def test_links_lead_to_headings() -> None:
    page = reference()
    headings = [line.removeprefix("### ") for line in page.splitlines() if line.startswith("### ")]
    anchors = {"".join(c for c in one.lower() if c.isalnum() or c in "-_") for one in headings}

    targets = {part.partition(")")[0] for part in page.split("](#")[1:]}

    assert targets
    assert targets <= anchors


@pytest.mark.parametrize("key", sorted(Config.later))
def test_what_the_page_calls_not_implemented_is_refused(key: str) -> None:
    assert f"`{key}`" in reference()
    assert refused(f"{BOTH}{key}: {{}}")
