"""The chart of the custom resources."""

from __future__ import annotations

from pathlib import Path

import yaml

from tests.cli.conftest import ROOT
from vmcp.cli.crdchart import files, write
from vmcp.crd.definitions import definitions

CHART = ROOT / "charts" / "vmcp-crds"


def held(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): path.read_text()
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_the_chart_is_up_to_date() -> None:
    assert held(CHART) == files(), "run: python -m vmcp.cli.crdchart charts/vmcp-crds"


def test_templates_are_the_definitions_with_a_switch_for_keeping_them() -> None:
    templates = {name: text for name, text in files().items() if name.startswith("templates/")}

    found = []
    for text in templates.values():
        lines = text.splitlines()
        actions = [line.strip() for line in lines if "{{" in line]
        assert actions[1:] == ["{{- if .Values.keep }}", "{{- end }}"]
        found.append(yaml.safe_load("\n".join(line for line in lines if "{{" not in line)))
    for one in found:
        assert one["metadata"].pop("annotations") == {"helm.sh/resource-policy": "keep"}
    assert sorted(found, key=lambda one: str(one["metadata"]["name"])) == [*definitions()]


def test_writing_it_anew_removes_templates_that_are_no_longer_of_it(tmp_path: Path) -> None:
    stale = tmp_path / "templates" / "gone.yaml"
    stale.parent.mkdir()
    stale.write_text("kind: Gone\n")

    write(tmp_path)

    assert held(tmp_path) == files()
