"""What operators are told is what there is: metrics and reasons in the code, on the pages and in a scrape."""

from __future__ import annotations

import itertools
import re
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

from prometheus_client.parser import text_string_to_metric_families

from tests.house.lines import codes, data_reasons, logged, statuses
from tests.house.reasons import ROOT, given
from tests.support.backends import serving
from tests.support.clients import named, sessioned, stateless
from tests.support.gateways import Served, config, gateway_of
from tests.support.scrape import scraped
from tests.support.sessioned_backend import SessionedFake
from vmcp.telemetry.metrics import ALL, OF_THE_PROCESS

OPERATIONS, NAMING = ROOT / "docs" / "operations.md", ROOT / "docs" / "naming.md"
MANIFESTS = ROOT / "docs" / "manifests.md"


def section(page: str, title: str) -> str:
    return page.split(f"\n## {title}\n")[1].split("\n## ", maxsplit=1)[0]


def rows(text: str) -> Iterator[list[str]]:
    for line in text.splitlines():
        if line.startswith("| `"):
            yield [cell.strip() for cell in line.strip("|").split("|")]


def test_the_page_lists_every_metric_with_its_labels_and_its_meaning() -> None:
    listed = list(rows(section(OPERATIONS.read_text(), "Metrics")))
    expected = [
        [
            f"`{each.name}`",
            each.kind,
            ", ".join(f"`{label}`" for label in each.labels) or "-",
            each.meaning,
        ]
        for each in ALL
    ]

    assert [row for row in listed if row[0].startswith("`vmcp_")] == expected
    assert [row[0].strip("`") for row in listed if row[0].startswith("`process_")] == [
        *OF_THE_PROCESS
    ]


@asynccontextmanager
async def everything_happens() -> AsyncIterator[Served]:
    """Serve a gateway in which there is something to tell under every name."""
    fake = SessionedFake()
    breaking = {"failureHandling": {"circuitBreaker": {"enabled": True}}}
    rules = {"tools": [{"workload": "a", "filter": ["echo", "nothing"]}]}
    async with (
        serving(fake),
        gateway_of(config(fake, aggregation=rules, operational=breaking)) as served,
        sessioned(served.url) as old,
        stateless(served.url) as new,
    ):
        await old.listen()
        await old.ask("tools/call", named("a_echo"))
        await new.refused("tools/call", named("unknown"))
        await fake.stop()
        await new.refused("tools/call", named("a_echo"))
        yield served


async def test_a_scrape_tells_every_metric_of_the_page_and_no_other() -> None:
    async with everything_happens() as served:
        body = await scraped(served.gateway)

    told = {
        re.sub(r"_(bucket|sum|count)$", "", sample.name)
        if family.type == "histogram"
        else sample.name
        for family in text_string_to_metric_families(body)
        for sample in family.samples
    }
    assert told == {*(each.name for each in ALL), *OF_THE_PROCESS}


async def test_no_label_holds_what_the_table_does_not_name() -> None:
    async with everything_happens() as served:
        body = await scraped(served.gateway)

    expected = {each.name.removesuffix("_total"): {*each.labels} for each in ALL}
    for family in text_string_to_metric_families(body):
        for sample in family.samples:
            labels = {*sample.labels} - {"le"}
            assert labels == expected.get(family.name, set()), family.name


def reasons(text: str) -> set[str]:
    """Return what stands in the first cells of the tables of reasons."""
    found: set[str] = set()
    for table in text.split("| reason | meaning |")[1:]:
        lines = table.strip().splitlines()
        cells = [line.split("|")[1] for line in itertools.takewhile(lambda one: "|" in one, lines)]
        found |= {name for cell in cells for name in re.findall(r"[A-Z]\w+", cell)}
    return found


def test_every_reason_of_a_failure_is_on_the_page_and_every_one_there_is_given() -> None:
    page = section(OPERATIONS.read_text(), "Errors that clients see")

    assert given("gateway", "transport", by="BackendFailed") == reasons(page)


def test_every_reason_of_a_problem_is_on_a_page_and_every_one_there_is_given() -> None:
    pages = NAMING.read_text() + section(OPERATIONS.read_text(), "Problems") + MANIFESTS.read_text()
    of_objects = given("crd", by="Unfit", place=0) | given("crd", by="Problem")

    found = given("gateway", "catalog", "discovery", "config", by="Problem") | of_objects
    assert found == reasons(pages)


def test_every_line_of_the_log_is_on_the_page_with_its_level_and_no_other() -> None:
    page = section(OPERATIONS.read_text(), "Logs").split("### Lines")[1].split("\n### ")[0]
    told = {
        (line, level) for cell, level, _ in rows(page) for line in re.findall("`([^`]+)`", cell)
    }

    assert told == logged()


def test_every_status_and_code_of_an_error_is_on_the_page() -> None:
    page = OPERATIONS.read_text()

    assert {each for each in statuses() if not re.search(rf"\b{each}\b", page)} == set()
    assert {each for each in codes() if str(each) not in page} == set()
    assert {each for each in data_reasons() if f"`{each}`" not in page} == set()


def test_no_status_or_code_is_on_the_page_of_errors_that_none_gets() -> None:
    cells = [
        row[1:] for row in every_row(section(OPERATIONS.read_text(), "Errors that clients see"))
    ]
    codes_told = {int(code) for cell, *_ in cells for code in re.findall(r"-32\d{3}", cell)}
    told = {int(each) for *_, cell in cells for each in re.findall(r"\b[45]\d\d\b", cell)}

    assert codes_told <= codes()
    assert told <= statuses()


def every_row(text: str) -> Iterator[list[str]]:
    """Yield the cells of the first table."""
    for line in text.split("| reason |", maxsplit=1)[0].splitlines():
        if line.startswith("| ") and not line.startswith("|---"):
            yield [cell.strip() for cell in line.strip("|").split("|")]
