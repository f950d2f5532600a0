"""What is handed out, built and installed as its users do: the wheel, the sdist, the container's build stage."""

from __future__ import annotations

import shutil
import subprocess
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.packaging.containerfile import Containerfile, parse

ROOT = Path(__file__).resolve().parents[2]
SECONDS = 400.0


def run(*words: str | Path, cwd: Path) -> str:
    """Run a command to its end and return what it printed; fail with all that it said."""
    ended = subprocess.run(
        [str(word) for word in words],
        cwd=cwd,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=SECONDS,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout
    return ended.stdout


def copy(names: list[str], into: Path) -> Path:
    """Copy files and folders of the tree without what machines leave in it."""
    for name in names:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, into / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, into / name)
    return into


@dataclass(frozen=True)
class Built:
    """The two files that are published."""

    wheel: Path
    sdist: Path


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    # The tests lie beside it: what is not to be in the wheel must be there to be left out.
    names = ["vmcp", "tests", "pyproject.toml", "README.md", "LICENSE", "MANIFEST.in"]
    tree = copy(names, tmp_path_factory.mktemp("tree"))
    run(sys.executable, "-m", "build", cwd=tree)
    (wheel,), (sdist,) = (tree / "dist").glob("*.whl"), (tree / "dist").glob("*.tar.gz")
    return Built(wheel, sdist)


@pytest.fixture(scope="session")
def installed(built: Built, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A virtual environment with the wheel, whose dependencies are those of the tests."""
    place = tmp_path_factory.mktemp("installed")
    run(sys.executable, "-m", "venv", "--without-pip", place, cwd=place)
    python = place / "bin" / "python"
    run(
        sys.executable,
        "-m",
        "pip",
        "--python",
        python,
        "install",
        "--no-deps",
        built.wheel,
        cwd=place,
    )
    (site,) = place.glob("lib/python*/site-packages")
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib"))
    return place


@pytest.fixture(scope="session")
def containerfile() -> Containerfile:
    return parse((ROOT / "Containerfile").read_text())


@pytest.fixture(scope="session")
def image(containerfile: Containerfile, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the container's build stage makes, by its own commands, in a folder in the place of /opt/vmcp."""
    context = copy(containerfile.copied, tmp_path_factory.mktemp("context"))
    place = tmp_path_factory.mktemp("image") / "vmcp"
    (given,) = containerfile.stages[0].all("ARG")
    for command in containerfile.commands:
        ours = command.replace("/opt/vmcp", str(place)).replace("python -m", f"{sys.executable} -m")
        run("/bin/sh", "-euc", f"{given}; {ours}", cwd=context)
    return place
