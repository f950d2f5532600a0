"""The values, their schema, the page about them and what the gateway knows of itself agree."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

import vmcp
from tests.charts.objects import CASES, DYNAMIC, Chart
from tests.charts.reference import CHART, PAGE, defaults, page, schema, values
from tests.support.cluster.helm import HelmRefused
from vmcp.discovery.fixed import _FIXED

OF_THE_CHART = ("host", "port", "opsHost", "opsPort")
OF_PODS = ("path", "sse")


def test_the_page_is_up_to_date() -> None:
    assert page(PAGE.read_text()) == PAGE.read_text(), "run: python -m tests.charts.reference"


def test_every_value_has_a_default_a_type_and_a_meaning() -> None:
    held = defaults()

    for each in values(schema()):
        each.default(held)
        assert each.type
        assert each.schema["description"].endswith(".")


def test_the_chart_is_of_this_version() -> None:
    about = yaml.safe_load((CHART / "Chart.yaml").read_text())

    assert about["version"] == about["appVersion"] == vmcp.__version__


def test_every_value_is_in_a_case() -> None:
    named = {
        each.name for each in values(schema()) for case in CASES.values() if has(case, each.path)
    }

    assert named == {each.name for each in values(schema())}


def has(case: Any, path: tuple[str, ...]) -> bool:
    for key in path:
        if not isinstance(case, dict) or key not in case:
            return False
        case = case[key]
    return True


def test_a_key_that_cannot_change_makes_new_pods_or_is_the_charts(chart: Chart) -> None:
    assert {*_FIXED} == {*OF_THE_CHART, *OF_PODS}
    for key in OF_THE_CHART:
        with pytest.raises(HelmRefused, match=f"config.server.{key}: the chart sets it"):
            template(chart, **{key: True})
    for key in OF_PODS:
        assert template(chart, **{key: True}) != template(chart)


def template(chart: Chart, **server: Any) -> Any:
    made = chart(DYNAMIC, config={"server": server})
    return made.one("Deployment")["spec"]["template"]
