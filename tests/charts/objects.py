"""The objects that the chart makes of values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tests.support.cluster.admin import Object
from tests.support.cluster.chart import CHART
from tests.support.cluster.helm import Helm

# Each of them can be installed; together they name every value.
CASES: Mapping[str, Object] = {
    path.name.removesuffix("-values.yaml"): yaml.safe_load(path.read_text())
    for path in sorted((CHART / "ci").glob("*-values.yaml"))
}
FULL, STATIC, DYNAMIC, GROUP = (CASES[name] for name in ("full", "static", "dynamic", "group"))


@dataclass(frozen=True)
class Objects:
    """All objects of a release."""

    all: list[Object]

    @property
    def kinds(self) -> set[str]:
        return {one["kind"] for one in self.all}

    def one(self, kind: str, name: str | None = None) -> Object:
        """Return the only object of a kind, or that of a name."""
        of_kind = [one for one in self.all if one["kind"] == kind]
        (found,) = (one for one in of_kind if name in (None, one["metadata"]["name"]))
        return found

    @property
    def pod(self) -> Object:
        found: Object = self.one("Deployment")["spec"]["template"]["spec"]
        return found

    @property
    def container(self) -> Object:
        (found,) = self.pod["containers"]
        return dict(found)

    @property
    def config(self) -> Any:
        """What the gateway reads as its config."""
        return yaml.safe_load(self.one("ConfigMap")["data"]["config.yaml"])

    @property
    def rules(self) -> list[Object]:
        found: list[Object] = self.one("Role")["rules"]
        return found


@dataclass(frozen=True)
class Chart:
    """Renders the chart."""

    helm: Helm
    folder: Path = CHART

    def __call__(self, values: Object, **more: Any) -> Objects:
        """Return the objects of some values, of which others take the place at the top."""
        return Objects(self.helm.rendered(self.folder, values={**values, **more}))
