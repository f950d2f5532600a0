"""One gateway over real servers: from PyPI and npm over stdio, and of the official SDK over HTTP."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from tests.support.node import command
from tests.support.servers import fixture_server, run_gateway, serving

TEXT = "Größe 🎉 שלום\n"
AUTHOR = ("-c", "user.name=Ann", "-c", "user.email=ann@example.test")


@dataclass(frozen=True, slots=True)
class World:
    """Where the gateway is, and what its servers may touch."""

    url: str
    repository: Path
    files: Path

    def filled(self, arguments: Mapping[str, object]) -> dict[str, object]:
        """Return arguments in which the placeholders are paths of this world."""
        paths = {"{repository}": str(self.repository), "{text}": str(self.files / "text.txt")}
        return {
            key: paths.get(value, value) if isinstance(value, str) else value
            for key, value in arguments.items()
        }


@pytest.fixture(scope="session")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    place = tmp_path_factory.mktemp("world").resolve()
    repository, files = place / "repository", place / "files"
    files.mkdir()
    (files / "text.txt").write_text(TEXT, encoding="utf-8")
    make_repository(repository)
    children = [
        stdio("everything", *command("mcp-server-everything"), "stdio"),
        stdio("files", *command("mcp-server-filesystem"), str(files)),
        stdio(
            "memory", *command("mcp-server-memory"), MEMORY_FILE_PATH=str(place / "memory.jsonl")
        ),
        stdio("git", script("mcp-server-git"), "--repository", str(repository)),
        stdio("time", script("mcp-server-time"), "--local-timezone", "UTC"),
    ]
    with (
        fixture_server("stateless") as new,
        fixture_server("sessioned") as old,
        serving("a server with many tools", [sys.executable, "-m", "tests.real.many"]) as many,
    ):
        urls = {"new": new, "old": old, "many": many}
        over_http = [{"name": name, "url": url} for name, url in urls.items()]
        with run_gateway(yaml.safe_dump({"backends": [*children, *over_http]})) as gateway:
            yield World(gateway.url, repository, files)


def stdio(name: str, program: str, *arguments: str, **env: str) -> dict[str, object]:
    """Return a backend that is a child process."""
    child: dict[str, object] = {"command": program, "args": list(arguments), "env": env}
    return {"name": name, "stdio": child}


def script(name: str) -> str:
    """Return a program that the virtual environment has."""
    path = Path(sys.executable).parent / name
    if not path.is_file():
        pytest.fail(f"{name} is missing: install the dev dependencies")
    return str(path)


def make_repository(path: Path) -> None:
    """Make a repository with one commit, untouched by the machine's configuration."""
    if shutil.which("git") is None:
        pytest.fail("git is missing: mcp-server-git needs it")
    path.mkdir()
    (path / "README").write_text("read me\n")
    steps: Sequence[Sequence[str]] = (
        ("init", "-q", "-b", "main"),
        ("add", "README"),
        (*AUTHOR, "commit", "-q", "-m", "The first commit"),
    )
    for step in steps:
        subprocess.run(["git", "-C", str(path), *step], check=True, timeout=30)
