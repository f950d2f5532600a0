"""What shells propose: by the scripts that typer installs, as each shell would ask."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.conftest import ROOT
from tests.cli.test_operations import answering

LISTED = b'{"rows": [{"name": "shop_add"}, {"name": "shop_fail"}, {"name": "the_shop_add"}]}'
SHELLS = ("bash", "zsh", "fish")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a config file, a command `vmcp`, and nothing else."""
    command = tmp_path / "bin" / "vmcp"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nPYTHONPATH="{ROOT}" exec "{sys.executable}" -m vmcp "$@"\n')
    command.chmod(0o755)
    (tmp_path / "vmcp.yaml").write_text("backends: [{name: shop}, {name: ship}, {name: wiki}]\n")
    return tmp_path


def run(folder: Path, *words: str, **variables: str) -> str:
    """Run `vmcp` in the folder and return what it prints."""
    place = f"{folder / 'bin'}:{os.defpath}"
    ended = subprocess.run(
        [str(folder / "bin" / "vmcp"), *words],
        cwd=folder,
        env={"PATH": place, "HOME": str(folder), **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.stderr == ""
    return ended.stdout


def proposed(folder: Path, shell: str, line: str, **variables: str) -> str:
    """Return what a shell is told at the end of a line."""
    asked = {
        "bash": {"COMP_WORDS": line, "COMP_CWORD": str(len(line.split(" ")) - 1)},
        "zsh": {"_TYPER_COMPLETE_ARGS": line},
        "fish": {"_TYPER_COMPLETE_ARGS": line, "_TYPER_COMPLETE_FISH_ACTION": "get-args"},
    }
    return run(folder, _VMCP_COMPLETE=f"complete_{shell}", **asked[shell], **variables)


@pytest.fixture
def ops_url() -> Iterator[str]:
    with answering(200, LISTED) as (url, _):
        yield url


@pytest.mark.parametrize("shell", SHELLS)
def test_commands_and_their_options_are_proposed(folder: Path, shell: str) -> None:
    assert "status" in proposed(folder, shell, "vmcp st")
    assert "--ops-url" in proposed(folder, shell, "vmcp status --o")
    assert "debug" in proposed(folder, shell, "vmcp serve --log-level d")


@pytest.mark.parametrize("shell", SHELLS)
def test_tools_of_a_running_gateway_are_proposed(folder: Path, shell: str, ops_url: str) -> None:
    found = proposed(folder, shell, "vmcp call shop_a", VMCP_OPS_URL=ops_url)

    assert "shop_add" in found
    assert "the_shop_add" not in found
    assert "shop_fail" in proposed(folder, shell, "vmcp explain shop_f", VMCP_OPS_URL=ops_url)


@pytest.mark.parametrize("shell", SHELLS)
def test_backends_of_the_file_are_proposed_once(folder: Path, shell: str) -> None:
    assert "shop" in proposed(folder, shell, "vmcp doctor sh")
    assert "shop" not in proposed(folder, shell, "vmcp doctor shop sh")


@pytest.mark.parametrize("shell", SHELLS)
def test_config_files_and_folders_are_proposed(folder: Path, shell: str) -> None:
    assert "vmcp.yaml" in proposed(folder, shell, "vmcp validate -c v")
    assert "bin/" in proposed(folder, shell, "vmcp validate --config b")


def test_where_nobody_answers_nothing_is_proposed(folder: Path, free_port: int) -> None:
    (folder / "vmcp.yaml").write_text("backends: [")
    url = f"http://127.0.0.1:{free_port}"

    assert proposed(folder, "bash", "vmcp call sh", VMCP_OPS_URL=url).strip() == ""
    assert proposed(folder, "bash", "vmcp doctor sh").strip() == ""
    assert proposed(folder, "bash", "vmcp validate -c none/").strip() == ""


def test_bash_completes_with_the_script_that_is_shown(folder: Path) -> None:
    script = run(
        folder, "--show-completion", "bash", _TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION="1"
    )
    asked = 'COMP_WORDS=(vmcp doc); COMP_CWORD=1; _vmcp_completion vmcp; echo "${COMPREPLY[@]}"'

    ended = subprocess.run(
        ["/bin/bash", "-c", f"{script}\n{asked}"],
        cwd=folder,
        env={"PATH": f"{folder / 'bin'}:{os.defpath}", "HOME": str(folder)},
        capture_output=True,
        text=True,
        check=True,
    )

    assert ended.stdout == "doctor\n"


@pytest.mark.parametrize("shell", SHELLS)
def test_completion_is_installed_into_the_home_folder(folder: Path, shell: str) -> None:
    words = ("--install-completion", shell)

    said = run(
        folder, *words, _TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION="1", SHELL=f"/bin/{shell}"
    )

    assert f"{shell} completion installed" in said
    assert [
        path
        for path in folder.rglob("*vmcp*")
        if "bin" not in path.parts and path.suffix != ".yaml"
    ]


def test_a_proposal_comes_before_a_person_wonders(folder: Path, ops_url: str) -> None:
    def seconds() -> float:
        start = worked()
        proposed(folder, "bash", "vmcp call shop_a", VMCP_OPS_URL=ops_url)
        return worked() - start

    def worked() -> float:
        # What others do on the machine does not count.
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return used.ru_utime + used.ru_stime

    assert min(seconds() for _ in range(3)) < 1.0
