"""What is imported when, and what is said where it is not there."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.support.gateways import loaded
from vmcp.clock import SystemClock
from vmcp.errors import ExtraMissing
from vmcp.gateway.exporting import Exports

NOTHING_IS_LOADED = """
import sys
import vmcp.app, vmcp.cli.main, vmcp.gateway.exporting
print([name for name in sys.modules if name.startswith(("opentelemetry", "prometheus_client"))])
"""
TRACED = {"backends": [], "telemetry": {"endpoint": "c:1", "tracingEnabled": True}}


def test_nothing_of_opentelemetry_and_prometheus_is_imported_before_it_is_wanted() -> None:
    told = subprocess.run(
        [sys.executable, "-c", NOTHING_IS_LOADED],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )

    assert told.stdout == "[]\n"


@pytest.mark.parametrize("missing", ["opentelemetry", "requests"])
def test_without_the_extra_the_words_say_how_to_get_it(
    missing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [each for each in sys.modules if each.startswith("opentelemetry")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delitem(sys.modules, "vmcp.telemetry.otlp", raising=False)
    monkeypatch.setitem(sys.modules, missing, None)

    with pytest.raises(ExtraMissing, match=r"pip install 'vmcp\[otel\]'"):
        Exports(loaded(TRACED), SystemClock())
