"""The npm inspector's command line works against the gateway over real servers, in both eras."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.real.conftest import TEXT, World
from tests.support.node import command

SECONDS = 60
TOOL_FAILED = 5
each_era = pytest.mark.parametrize("era", ["legacy", "modern"])


@pytest.fixture
def inspect(world: World, tmp_path: Path):
    """Run the inspector in a home of its own and return its exit code and its result."""

    def run(era: str, method: str, *arguments: str) -> tuple[int, dict[str, Any]]:
        argv = [*command("mcp-inspector"), "--cli", world.url, "--protocol-era", era]
        done = subprocess.run(
            [*argv, "--format", "json", "--method", method, *arguments],
            cwd=tmp_path,
            env={
                "PATH": os.environ["PATH"],  # noqa: TID251
                "HOME": str(tmp_path),
                "MCP_CATALOG_PATH": str(tmp_path / "catalog.json"),
            },
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        assert done.stdout, done.stderr
        return done.returncode, json.loads(done.stdout)["result"]

    return run


def named(documents: list[dict[str, Any]]) -> set[str]:
    return {document["name"] for document in documents}


@each_era
def test_it_lists_the_tools_and_finds_no_fault_in_their_schemas(inspect, era: str) -> None:
    code, result = inspect(era, "tools/list", "--strict")

    assert code == 0
    assert {"everything_echo", "files_read_file", "git_git_log"} < named(result["tools"])


@each_era
@pytest.mark.parametrize(
    ("tool", "arguments", "answer"),
    [
        ("everything_echo", {"message": TEXT}, f"Echo: {TEXT}"),
        ("files_read_text_file", {"path": "{text}"}, TEXT),
        ("git_git_status", {"repo_path": "{repository}"}, "On branch main"),
        ("time_get_current_time", {"timezone": "UTC"}, '"timezone": "UTC"'),
        ("new_test_x_mcp_header", {"region": "eü"}, "region"),
    ],
    ids=["everything", "files", "git", "time", "header"],
)
def test_it_calls_tools(
    inspect, world: World, era: str, tool: str, arguments: dict[str, object], answer: str
) -> None:
    given = json.dumps(world.filled(arguments))

    code, result = inspect(era, "tools/call", "--tool-name", tool, "--tool-args-json", given)

    assert code == 0
    assert answer in result["content"][0]["text"]


@each_era
def test_it_sees_that_a_tool_has_failed(inspect, era: str) -> None:
    code, result = inspect(era, "tools/call", "--tool-name", "old_test_error_handling")

    assert code == TOOL_FAILED
    assert result["isError"] is True


@each_era
def test_it_gets_a_prompt(inspect, era: str) -> None:
    name = "everything_args-prompt"

    code, result = inspect(
        era, "prompts/get", "--prompt-name", name, "--prompt-args", "city=Köln", "state=NW"
    )

    assert code == 0
    assert "Köln, NW" in result["messages"][0]["content"]["text"]


@each_era
def test_it_lists_prompts(inspect, era: str) -> None:
    code, result = inspect(era, "prompts/list")

    assert code == 0
    assert {"everything_simple-prompt", "new_test_simple_prompt"} < named(result["prompts"])


@each_era
def test_it_lists_and_reads_resources(inspect, era: str) -> None:
    code, listed = inspect(era, "resources/list")
    also, read = inspect(era, "resources/read", "--uri", "demo://resource/dynamic/text/7")

    assert (code, also) == (0, 0)
    assert "memory://knowledge-graph" in {each["uri"] for each in listed["resources"]}
    assert "Resource 7" in read["contents"][0]["text"]
