"""The official conformance suite: the fixture directly, and the same through the gateway."""

import pytest

from tests.conformance.clients import Driven, measure_clients
from tests.conformance.outcome import Report, regressions, shortfalls
from tests.conformance.run import (
    REVISIONS,
    UNSCORED,
    Revision,
    direct,
    pair_name,
    pairs,
    read_baseline,
    through_gateway,
)

pytestmark = pytest.mark.timeout(400)

each_revision = pytest.mark.parametrize("revision", REVISIONS, ids=lambda r: r.name)
each_pair = pytest.mark.parametrize("pair", pairs(), ids=lambda pair: pair_name(*pair))


@pytest.fixture(scope="session")
def direct_reports() -> dict[str, Report]:
    return {revision.name: direct(revision) for revision in REVISIONS}


@pytest.fixture(scope="session")
def driven() -> tuple[Driven, ...]:
    return measure_clients(["stateless"])


@each_revision
def test_the_fixture_reaches_the_published_figures(
    direct_reports: dict[str, Report], revision: Revision
) -> None:
    report = direct_reports[revision.name]

    assert sum(outcome.passed for outcome in report.values()) == revision.passed
    assert not shortfalls(revision.name, report, passed=revision.passed, unscored=UNSCORED)


@each_pair
def test_what_passes_directly_passes_through_the_gateway(
    direct_reports: dict[str, Report], pair: tuple[Revision, str]
) -> None:
    before, through = direct_reports[pair[0].name], through_gateway(*pair)

    assert not regressions(pair_name(*pair), before, through, read_baseline())


def test_the_gateway_is_a_client_that_the_suite_takes(driven: tuple[Driven, ...]) -> None:
    assert [each.problem for each in driven if each.problem is not None] == []
