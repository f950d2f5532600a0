"""The Helm chart of the custom resources: `python -m vmcp.cli.crdchart charts/vmcp-crds` writes it anew there.

The definitions are templates, not files of Helm's own folder crds/, which it would never upgrade.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import vmcp
from vmcp.cli.manifest import document
from vmcp.crd.definitions import definitions

_HEAD = "{{- /* Written by `python -m vmcp.cli.crdchart`; edits belong to vmcp/crd. */}}\n"
_METADATA = "\nmetadata:\n"
_KEEP = """\
  {{- if .Values.keep }}
  annotations:
    helm.sh/resource-policy: keep
  {{- end }}
"""

_CHART = {
    "apiVersion": "v2",
    "name": "vmcp-crds",
    "description": "The custom resources of vmcp, a gateway for the Model Context Protocol.",
    "type": "application",
    "version": vmcp.__version__,
    "appVersion": vmcp.__version__,
    # The first that tells broken rules of a field of its own.
    "kubeVersion": ">=1.28.0-0",
}
_VALUES = """\
# Leave the definitions in the cluster when this release is uninstalled. Without them the API server
# deletes all objects of these kinds.
keep: true
"""
_VALUES_SCHEMA = {
    "$schema": "http://json-schema.org/draft-07/schema#",
    "type": "object",
    "additionalProperties": False,
    "properties": {
        # Helm adds it by itself.
        "global": {"type": "object"},
        "keep": {
            "type": "boolean",
            "description": "Leave the definitions in the cluster when this release is uninstalled.",
        },
    },
}


def files() -> dict[str, str]:
    """Return the files of the chart by their paths within it."""
    templates = {
        f"templates/{one['spec']['names']['plural']}.yaml": _template(one) for one in definitions()
    }
    return {
        "Chart.yaml": document(_CHART),
        "values.yaml": _VALUES,
        "values.schema.json": json.dumps(_VALUES_SCHEMA, indent=2) + "\n",
        **templates,
    }


def write(folder: Path) -> None:
    """Make a folder hold the chart; templates that are not of it go."""
    wanted = files()
    for path in sorted(folder.glob("templates/*")):
        if str(path.relative_to(folder)) not in wanted:
            path.unlink()
    for name, text in wanted.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def _template(definition: Mapping[str, Any]) -> str:
    before, metadata, after = document(definition).partition(_METADATA)
    return f"{_HEAD}{before}{metadata}{_KEEP}{after}"


if __name__ == "__main__":
    write(Path(sys.argv[1]))
