"""The wheel and the sdist: what is in them, and that they work where nothing of the tree is."""

from __future__ import annotations

import json
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.packaging.conftest import ROOT, SECONDS, Built, run

pytestmark = pytest.mark.timeout(SECONDS)


def named(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as found:
        return set(found.namelist())


def test_the_wheel_holds_all_of_the_package_and_nothing_else(built: Built) -> None:
    sources = {
        str(path.relative_to(ROOT))
        for path in (ROOT / "vmcp").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }

    found = named(built.wheel)

    assert {name for name in found if ".dist-info/" not in name} == sources
    assert {"vmcp/py.typed", "vmcp/transport/incoming/page/index.html"} <= found
    assert any(name.endswith("licenses/LICENSE") for name in found)


def test_the_sdist_holds_no_tests_and_builds_the_same_wheel(built: Built) -> None:
    with tarfile.open(built.sdist) as found:
        names = {Path(name).parts[1] for name in found.getnames() if len(Path(name).parts) > 1}

    # The wheel was made from it: that is how `build` works where nobody says otherwise.
    assert "tests" not in names
    assert {"vmcp", "pyproject.toml", "README.md", "LICENSE", "PKG-INFO"} <= names


def test_the_command_has_the_name_of_the_project(built: Built) -> None:
    with zipfile.ZipFile(built.wheel) as found:
        (entry,) = (name for name in found.namelist() if name.endswith("entry_points.txt"))
        text = found.read(entry).decode()

    # `pipx run vmcp` and `uvx vmcp` start the command that is called as the project is.
    assert "[console_scripts]\nvmcp = vmcp.cli.main:main" in text


@contextmanager
def serving(vmcp: Path, config: Path) -> Iterator[str]:
    """Run an installed gateway; yield the URL that its log names."""
    process = subprocess.Popen(
        [vmcp, "serve", "-c", config, "--port", "0", "--ops-port", "0", "--log-format", "json"],
        cwd=config.parent,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    try:
        for line in process.stderr:
            said = json.loads(line)
            if said["message"] == "listening":
                url = said["url"]
            if said["message"] == "backend is ready":
                break
        yield url
    finally:
        process.terminate()
        process.communicate(timeout=30)


def test_an_installed_gateway_serves_a_stdio_backend(installed: Path, tmp_path: Path) -> None:
    config = tmp_path / "vmcp.yaml"
    time = {"name": "time", "stdio": {"command": sys.executable, "args": ["-m", "mcp_server_time"]}}
    config.write_text(json.dumps({"backends": [time]}))
    vmcp = installed / "bin" / "vmcp"

    with serving(vmcp, config) as url:
        called = run(
            vmcp, "call", "time_get_current_time", "timezone=UTC", "--url", url, cwd=tmp_path
        )

    assert json.loads(called)["timezone"] == "UTC"


def test_what_is_installed_runs_from_its_own_files(installed: Path, tmp_path: Path) -> None:
    python = installed / "bin" / "python"

    where = run(python, "-c", "import vmcp; print(vmcp.__file__)", cwd=tmp_path)

    assert where.startswith(str(installed))
