"""The commands that take a folder of manifests, on the example that runs as its README says."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.cli.conftest import ROOT, Vmcp, spawn
from tests.support.ports import lasting_port

EXAMPLE = ROOT / "examples" / "manifests"


@pytest.fixture
def example(tmp_path: Path) -> Path:
    """Return the folder of the example's objects, with an authority."""
    folder = tmp_path / "example"
    shutil.copytree(EXAMPLE, folder)
    made = [sys.executable, "-c", "import servers; servers.publish(servers.certificate()[0])"]
    subprocess.run(made, cwd=folder, check=True)
    return folder / "objects"


def edit(file: Path, old: str, new: str) -> None:
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))


def words(folder: Path) -> tuple[str, ...]:
    return ("--manifests", str(folder), "--allow-loopback-backends")


def test_validate_shows_the_backends_and_who_decided_on_their_auth(
    vmcp: Vmcp, example: Path
) -> None:
    ended = vmcp("validate", *words(example), "-o", "json")

    assert ended.code == 0
    told = json.loads(ended.out)
    assert [(one["name"], one["auth"], one["from"], one["object"]) for one in told["backends"]] == [
        ("clock", "bearer token", "per-backend table: clock-token", "MCPServerEntry/default/clock"),
        (
            "notes",
            "header X-Api-Key",
            "own reference: notes-key",
            "MCPServerEntry/default/notes",
        ),
    ]
    assert "key-of-the-notes" not in ended.out


def test_validate_fails_where_an_object_lacks_what_it_names(vmcp: Vmcp, example: Path) -> None:
    (example / "ca.yaml").unlink()

    ended = vmcp("validate", *words(example), "-o", "json")

    assert ended.code == 1
    (problem,) = json.loads(ended.out)["problems"]
    assert (problem["object"], problem["reason"]) == (
        "MCPServerEntry/default/notes",
        "CABundleNotFound",
    )


@pytest.mark.parametrize(
    "given",
    [
        ("--manifests", "no/such/folder"),
        ("--name", "x"),
        ("--manifests", str(EXAMPLE), "--name", "x", "--group", "y"),
    ],
)
def test_options_that_do_not_go_together_are_wrong_usage(
    vmcp: Vmcp, given: tuple[str, ...]
) -> None:
    assert vmcp("validate", *given).code == 2
    assert vmcp("serve", *given).code == 2


def test_a_folder_that_is_the_same_changes_nothing(
    vmcp: Vmcp, example: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    shutil.copytree(example, other)
    edit(other / "keys.yaml", "key-of-the-notes", "another")

    ended = vmcp("diff", *words(other), "--against", str(example))

    assert (ended.code, ended.out) == (0, "Nothing changes.\n")


def test_diff_tells_what_comes_what_goes_and_what_changes(
    vmcp: Vmcp, example: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    shutil.copytree(example, other)
    edit(other / "gateway.yaml", "name: clock-token", "name: notes-key")
    edit(
        other / "notes.yaml", "    name: notes-key\n  caBundleRef", "    name: gone\n  caBundleRef"
    )
    new = yaml.safe_load((example / "clock.yaml").read_text().split("---")[0])
    new["metadata"]["name"] = "more"
    (other / "more.yaml").write_text(yaml.safe_dump(new))

    ended = vmcp("diff", *words(other), "--against", str(example))
    told = json.loads(vmcp("diff", *words(other), "--against", str(example), "-o", "json").out)

    assert ended.code == 1
    assert ended.out.splitlines() == [
        "+ backend more",
        "- backend notes",
        (
            "~ backend clock: auth: bearerToken (per-backend table clock-token)"
            " -> headerInjection (per-backend table notes-key)"
        ),
        "+ problem MCPServerEntry/default/notes: AuthConfigNotFound",
    ]
    assert (told["changes"], told["added"], told["removed"]) == (True, ["more"], ["notes"])


@pytest.mark.parametrize("broken", ["--manifests", "--against"])
def test_diff_cannot_tell_what_a_folder_with_a_broken_file_changes(
    vmcp: Vmcp, example: Path, broken: str
) -> None:
    other = example.parent / "other"
    shutil.copytree(example, other)
    (other / "late.yaml").write_text("kind: [")
    whole = "--against" if broken == "--manifests" else "--manifests"

    ended = vmcp("diff", whole, str(example), broken, str(other), "--allow-loopback-backends")

    assert (ended.code, ended.out) == (2, "")
    assert "late.yaml: FileBroken" in ended.err


def test_diff_that_cannot_tell_ends_with_2(vmcp: Vmcp, example: Path) -> None:
    nobody = f"http://127.0.0.1:{lasting_port()}"

    assert vmcp("diff", *words(example), "--ops-url", nobody).code == 2
    assert vmcp("diff", "--manifests", str(example / "none")).code == 2


@pytest.fixture
def served(example: Path) -> Iterator[tuple[str, str]]:
    """Run the servers of the example and the gateway; return its endpoint and its operations port."""
    ports = [lasting_port(), lasting_port()]
    edit(example / "notes.yaml", "4491", str(ports[0]))
    edit(example / "clock.yaml", "4492", str(ports[1]))
    servers = subprocess.Popen(
        [sys.executable, example.parent / "servers.py", *map(str, ports)],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert servers.stdout is not None
    servers.stdout.readline()
    process = spawn("serve", *words(example), "--port", "0", "--ops-port", "0")
    try:
        told = json.loads(process.stderr.readline())
        ready = 0
        while ready < 2:
            ready += json.loads(process.stderr.readline())["message"] == "backend is ready"
        yield told["url"], told["operations"]
    finally:
        process.terminate()
        process.communicate(timeout=30)
        servers.terminate()
        servers.communicate(timeout=30)


def test_the_example_runs_as_its_readme_says(
    vmcp: Vmcp, served: tuple[str, str], example: Path
) -> None:
    url, operations = served

    tools = vmcp("tools", "--url", url, "-o", "json")
    called = vmcp("call", "notes_read", "name=welcome", "--url", url)
    status = vmcp("status", "--ops-url", operations)
    explained = vmcp("explain", "notes_read", "--ops-url", operations)
    same = vmcp("diff", *words(example), "--live", "--ops-url", operations)
    edit(example / "notes.yaml", "toolsFilter: [read]", "toolsFilter: [read, delete_note]")
    other = vmcp("diff", *words(example), "--live", "--ops-url", operations)

    assert "clock_now" in tools.out
    assert "delete" not in tools.out
    assert called.out == "The coffee machine is on the second floor.\n"
    assert status.code == 0
    assert "bearerToken (per-backend table: clock-token)" in status.out
    assert "own reference: notes-key" in explained.out
    assert (same.code, same.out) == (0, "Nothing changes.\n")
    # The gateway may have taken the change before it was asked.
    assert other.out in ("+ tool notes_delete_note\n", "Nothing changes.\n")
