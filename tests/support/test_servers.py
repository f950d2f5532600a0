"""Servers of tests end with their block, and what went wrong shows what they wrote."""

import os
import sys

import pytest

from tests.support.servers import ServerFailedError, fixture_server, serving, started


def python(program: str) -> list[str]:
    return [sys.executable, "-c", program]


def test_a_server_that_ends_early_is_an_error_that_shows_its_output() -> None:
    program = python("import sys; sys.exit('no such backend')")

    with (
        pytest.raises(ServerFailedError, match=r"exit code 1(?s:.)*no such backend"),
        serving("a broken server", program),
    ):
        pytest.fail("the block ran")


def test_a_failure_in_the_block_shows_what_the_server_wrote() -> None:
    program = python("import sys, time; print('lost it', file=sys.stderr); print('http://x')")

    with pytest.raises(AssertionError) as caught, serving("a server", program):
        raise AssertionError

    assert "a server wrote" in caught.value.__notes__[0]


def test_the_program_has_ended_when_the_block_has() -> None:
    with started("a program", python("import time; time.sleep(60)")) as process:
        assert process.popen.poll() is None

    assert process.popen.poll() is not None
    with pytest.raises(ProcessLookupError):
        os.killpg(process.pid, 0)


@pytest.mark.parametrize("era", ["both", "sessioned", "stateless"])
def test_the_fixture_serves_each_era_on_a_free_loopback_port(era: str) -> None:
    with fixture_server(era) as one, fixture_server(era) as other:
        assert one.startswith("http://127.0.0.1:")
        assert one != other
