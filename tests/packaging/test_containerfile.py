"""The Containerfile, as far as it can be tried without a container engine."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.packaging.conftest import ROOT, SECONDS, run
from tests.packaging.containerfile import Containerfile

# What only an extra brings may be missing, and nothing else.
EVERYTHING = """
import importlib, pkgutil, vmcp
for found in pkgutil.walk_packages(vmcp.__path__, "vmcp."):
    try:
        importlib.import_module(found.name)
    except ModuleNotFoundError as error:
        if error.name.partition(".")[0] not in ("opentelemetry", "requests"):
            raise
"""

pytestmark = pytest.mark.timeout(SECONDS)


def test_what_it_copies_is_there_and_not_ignored(containerfile: Containerfile) -> None:
    ignored = (ROOT / ".containerignore").read_text().splitlines()

    for name in containerfile.copied:
        assert (ROOT / name).exists()
        assert f"!{name}" in ignored


def test_what_runs_is_small_and_no_root(containerfile: Containerfile) -> None:
    build, last = containerfile.stages
    (user,) = last.all("USER")

    assert build.base == "${PYTHON} AS build"
    assert last.base == "${PYTHON}"
    assert containerfile.arguments["PYTHON"].endswith("-slim")
    assert all(part.isdecimal() and int(part) > 0 for part in user.split(":"))
    assert last.all("RUN") == []


def test_it_starts_the_gateway_without_a_shell(containerfile: Containerfile) -> None:
    last = containerfile.stages[-1]

    assert last.words("ENTRYPOINT") == ["/opt/vmcp/bin/vmcp"]
    assert last.words("CMD")[0] == "serve"
    assert last.all("EXPOSE") == ["4483"]


def test_its_build_stage_installs_all_that_is_needed(image: Path, tmp_path: Path) -> None:
    vmcp, python = image / "bin" / "vmcp", image / "bin" / "python"

    assert run(vmcp, "--version", cwd=tmp_path).startswith("vmcp ")
    run(python, "-c", EVERYTHING, cwd=tmp_path)


def test_it_serves_the_objects_of_a_cluster_too(image: Path, tmp_path: Path) -> None:
    python = image / "bin" / "python"

    run(python, "-c", "import vmcp.kube.library", cwd=tmp_path)


def test_its_options_are_options_of_the_command(image: Path, containerfile: Containerfile) -> None:
    command, *words = containerfile.stages[-1].words("CMD")

    # Wide, since help is laid out for the terminal.
    shown = run("/usr/bin/env", "COLUMNS=200", image / "bin" / "vmcp", command, "--help", cwd=image)

    assert all(word in shown for word in words if word.startswith("--"))
