from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
from pathlib import Path

import pytest

from tests.support.stdio_servers.harness import BASE, SECONDS, gone
from vmcp.model.backend import StdioEndpoint
from vmcp.model.secret import Secret
from vmcp.protocol.failures import BackendFailed
from vmcp.protocol.lines import Overlong
from vmcp.transport.outgoing import process

pytestmark = pytest.mark.usefixtures("nothing_left")

ECHO = "import sys\nfor line in sys.stdin: print(line, end='', flush=True)"
DEAF = "import signal; print('ready', flush=True); signal.pause()"
STUBBORN = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)\n" + DEAF
# What starts another process tells its id and whether it waits for it.
PARENT = (
    "import signal, subprocess, sys\n"
    "child = subprocess.Popen([sys.executable, '-S', '-c', 'import signal; signal.pause()'])\n"
    "print(child.pid, flush=True)\n"
)


class Kept:
    """Keep what a child says."""

    def __init__(self) -> None:
        self.lines: asyncio.Queue[bytes | Overlong] = asyncio.Queue()
        self.why: asyncio.Queue[str] = asyncio.Queue()

    def heard(self, line: bytes) -> None:
        self.lines.put_nowait(line)

    def heard_overlong(self, line: Overlong) -> None:
        self.lines.put_nowait(line)

    def lost(self, why: str) -> None:
        self.why.put_nowait(why)


def python(code: str, env: dict[str, str] | None = None, cwd: str | None = None) -> StdioEndpoint:
    secrets = tuple((name, Secret(value)) for name, value in (env or {}).items())
    return StdioEndpoint(sys.executable, ("-S", "-c", code), secrets, cwd)


def running(
    endpoint: StdioEndpoint, kept: Kept
) -> contextlib.AbstractAsyncContextManager[process.Child]:
    return process.running("fake", endpoint, BASE, kept)


async def first_line(kept: Kept) -> str:
    async with asyncio.timeout(SECONDS):
        line = await kept.lines.get()
    assert isinstance(line, bytes)
    return line.decode()


async def reason(kept: Kept) -> str:
    async with asyncio.timeout(SECONDS):
        return await kept.why.get()


async def test_lines_go_in_and_come_out() -> None:
    kept = Kept()
    async with running(python(ECHO), kept) as child:
        for line in (b"one", b"two"):
            child.write(line)

        assert [await first_line(kept), await first_line(kept)] == ["one", "two"]


async def test_a_message_with_line_ends_between_its_tokens_stays_one_line() -> None:
    kept = Kept()
    async with running(python(ECHO), kept) as child:
        child.write(b'[\n{"a":1},\r\n2]')

        assert await first_line(kept) == '[ {"a":1},  2]'


async def test_the_child_has_our_path_home_lang_and_tmpdir_and_what_is_configured_and_no_more() -> (
    None
):
    kept, secret = Kept(), {"TOKEN": "s3cret", "HOME": "/its/own"}
    environment = {**BASE, "TMPDIR": "/tmp", "AWS_SECRET": "ours", "PYTHONPATH": "/ours"}
    endpoint = python("import json, os; print(json.dumps(dict(os.environ)))", secret)

    async with process.running("fake", endpoint, environment, kept):
        seen = json.loads(await first_line(kept))

    seen.pop("LC_CTYPE", None)
    assert seen == {**BASE, "TMPDIR": "/tmp", **secret}


async def test_the_child_runs_in_its_folder_and_in_a_session_of_its_own(tmp_path: Path) -> None:
    kept = Kept()
    code = "import os; print(os.getcwd()); print(os.getsid(0) == os.getpid() == os.getpgid(0))"

    async with running(python(code, cwd=str(tmp_path)), kept):
        assert [await first_line(kept), await first_line(kept)] == [str(tmp_path), "True"]


async def test_a_command_is_looked_for_in_the_path_of_the_child(tmp_path: Path) -> None:
    kept, command = Kept(), tmp_path / "serve"
    command.write_text("#!/bin/sh\necho here\n")
    command.chmod(0o700)

    async with running(StdioEndpoint("serve", (), (("PATH", Secret(str(tmp_path))),)), kept):
        assert await first_line(kept) == "here"


@pytest.mark.parametrize(
    ("endpoint", "words"),
    [
        (
            StdioEndpoint("no-such-command", ("--token", "s3cret")),
            "'no-such-command' was not found in PATH",
        ),
        (StdioEndpoint("/no/such/command"), "'/no/such/command' cannot be started: No such file"),
        (StdioEndpoint(__file__), "cannot be started: Permission denied"),
        (
            StdioEndpoint(sys.executable, cwd="/no/such/folder"),
            "cannot be started: its cwd is no folder",
        ),
        (
            StdioEndpoint(sys.executable, ("s3cret\0",)),
            "a character in its command, args, env or cwd",
        ),
        (StdioEndpoint("/bin/sh", (), (("A=B", Secret("s3cret")),)), "a character in its command"),
    ],
    ids=[
        "not in PATH",
        "no file",
        "not executable",
        "no folder",
        "null character",
        "name of a variable",
    ],
)
async def test_a_command_that_cannot_be_started_is_named_without_its_arguments(
    endpoint: StdioEndpoint, words: str
) -> None:
    with pytest.raises(BackendFailed) as failed:
        async with running(endpoint, Kept()):
            pass

    assert failed.value.reason == "Unreachable"
    assert words in failed.value.message
    assert "s3cret" not in failed.value.message


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("import os; os._exit(3)", "its process exited with status 3"),
        ("import os; os.kill(os.getpid(), 9)", "its process was ended by SIGKILL"),
        ("import os, sys; os.close(1); sys.stdin.read()", "it closed its stdout"),
    ],
    ids=["exit", "signal", "closed output"],
)
async def test_the_end_of_a_child_is_told_once_with_its_reason(code: str, why: str) -> None:
    kept = Kept()

    async with running(python(code), kept):
        assert (await reason(kept)).startswith(why)
    assert kept.why.empty()


async def test_what_a_child_says_last_is_heard_before_its_end() -> None:
    kept = Kept()

    async with running(python("print('x' * 1000000)"), kept):
        await reason(kept)

        assert len(kept.lines.get_nowait()) == 1_000_000  # type: ignore[arg-type]


async def test_a_child_that_heeds_the_end_of_its_input_is_given_no_signal(tmp_path: Path) -> None:
    kept, trace = Kept(), tmp_path / "trace"
    code = f"import sys; print('ready', flush=True); sys.stdin.read(); open({str(trace)!r}, 'w').write('end')"

    async with running(python(code), kept):
        await first_line(kept)

    assert trace.read_text() == "end"


@pytest.mark.parametrize("code", [DEAF, STUBBORN], ids=["deaf", "stubborn"])
async def test_a_child_that_does_not_heed_the_end_of_its_input_is_ended(code: str) -> None:
    kept = Kept()

    async with running(python(code), kept):
        await first_line(kept)


async def test_what_a_child_has_started_ends_with_it() -> None:
    kept = Kept()

    async with running(python(PARENT + "sys.stdin.read()"), kept):
        grandchild = int(await first_line(kept))

    await gone(grandchild)


async def test_a_child_that_exits_is_lost_even_if_something_else_holds_its_pipes() -> None:
    kept = Kept()

    async with running(python(PARENT), kept):
        grandchild = int(await first_line(kept))
        assert (await reason(kept)).startswith("its process exited with status 0")

    await gone(grandchild)


async def test_a_cancelled_block_ends_the_child() -> None:
    kept = Kept()

    with pytest.raises(TimeoutError):
        async with running(python(ECHO), kept), asyncio.timeout(0):
            await asyncio.Event().wait()


async def test_a_second_cancellation_ends_a_stubborn_child_at_once() -> None:
    kept, loop = Kept(), asyncio.get_running_loop()

    async def run() -> None:
        async with running(python(STUBBORN), kept):
            await asyncio.Event().wait()

    async with asyncio.TaskGroup() as tasks:
        task = tasks.create_task(run())
        await first_line(kept)
        task.cancel()
        await reason(kept)
        task.cancel()
        began = loop.time()
        await asyncio.wait((task,))

    assert task.cancelled()
    # Less than the 3 s that it has otherwise.
    assert loop.time() - began < 2.5


async def test_a_child_that_reads_nothing_makes_writers_wait_and_no_longer_than_it_lives() -> None:
    kept = Kept()
    async with running(python(DEAF), kept) as child:
        await first_line(kept)
        child.write(b"x" * 2**20)

        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await child.writable()

        async with asyncio.timeout(SECONDS), asyncio.TaskGroup() as tasks:
            tasks.create_task(child.writable())
            os.kill(child.pid, signal.SIGKILL)


async def test_a_line_that_was_offered_is_written_once_the_child_reads_again() -> None:
    kept = Kept()
    code = (
        "import sys, signal; print('ready', flush=True); signal.sigwait([signal.SIGUSR1])\n" + ECHO
    )
    blocked = "import signal; signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1]); "
    async with running(python(blocked + code), kept) as child:
        await first_line(kept)
        child.write(b"x" * 2**20)
        for at in range(200):
            child.offer(b"%d" % at)
        os.kill(child.pid, signal.SIGUSR1)
        await first_line(kept)
        await child.writable()
        child.write(b"last")

        found = [await first_line(kept)]
        while found[-1] != "last":
            found.append(await first_line(kept))

    assert found == [*map(str, range(64)), "last"]


async def test_a_line_above_the_limit_is_cut_out_of_the_stream() -> None:
    kept = Kept()
    code = "print('x' * (16 * 2**20 + 1)); print('next')"

    async with running(python(code), kept):
        async with asyncio.timeout(SECONDS):
            assert isinstance(await kept.lines.get(), Overlong)
        assert await first_line(kept) == "next"
