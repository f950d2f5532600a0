"""The official conformance suite: the fixture directly, and the same through the gateway."""

import pytest

from tests.conformance.outcome import Report, regressions, shortfalls
from tests.conformance.run import (
    REVISIONS,
    UNSCORED,
    Revision,
    direct,
    read_baseline,
    through_gateway,
)

pytestmark = pytest.mark.timeout(400)

each_revision = pytest.mark.parametrize("revision", REVISIONS, ids=lambda r: r.name)


@pytest.fixture(scope="session")
def direct_reports() -> dict[str, Report]:
    return {revision.name: direct(revision) for revision in REVISIONS}


@pytest.fixture(scope="session")
def gateway_reports() -> dict[str, Report]:
    return {revision.name: through_gateway(revision) for revision in REVISIONS}


@each_revision
def test_the_fixture_reaches_the_published_figures(
    direct_reports: dict[str, Report], revision: Revision
) -> None:
    report = direct_reports[revision.name]

    assert sum(outcome.passed for outcome in report.values()) == revision.passed
    assert not shortfalls(revision.name, report, passed=revision.passed, unscored=UNSCORED)


@each_revision
def test_what_passes_directly_passes_through_the_gateway(
    direct_reports: dict[str, Report], gateway_reports: dict[str, Report], revision: Revision
) -> None:
    before, through = direct_reports[revision.name], gateway_reports[revision.name]

    assert not regressions(revision.name, before, through, read_baseline())
