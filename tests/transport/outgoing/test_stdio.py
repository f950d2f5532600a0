from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
import sys
from pathlib import Path

import pytest

from tests.support.stdio_servers.harness import (
    BASE,
    SECONDS,
    backend,
    call,
    carry,
    connector,
    endpoint,
    gone,
    speaking,
    stateless_client,
    value,
)
from vmcp.model.backend import StdioEndpoint
from vmcp.model.document import Document
from vmcp.model.inventory import Era
from vmcp.protocol.failures import BackendFailed
from vmcp.transport.outgoing.speech import BackendGone, EraContradicted, Speech
from vmcp.transport.outgoing.stdio import StdioConnector

pytestmark = pytest.mark.usefixtures("nothing_left")

ROOT = Path(__file__).parents[3]
NO_PARAMS = Document(())
# A server of the sessioned era that dies of what it does not know, as some do.
FRAGILE = """
import json, sys
for line in sys.stdin:
    message = json.loads(line)
    if message["method"] == "server/discover":
        sys.exit(1)
    if message["method"] == "initialize":
        about = {"name": "fragile", "version": "1"}
        result = {"protocolVersion": "2025-06-18", "capabilities": {}, "serverInfo": about}
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"""


async def methods_seen(speech: Speech) -> list[str]:
    seen = value(await call(speech, "seen"))
    assert isinstance(seen, list)
    return [message["method"] for message in seen]


@pytest.mark.parametrize("era", ["stateless", "both"])
async def test_a_server_that_answers_discover_is_spoken_to_in_the_stateless_era(era: str) -> None:
    async with speaking("--era", era) as speech:
        assert speech.peer.era is Era.STATELESS
        assert speech.peer.version == "2026-07-28"
        assert speech.peer.server_info == b'{"name": "fake", "version": "1"}'
        assert await methods_seen(speech) == ["server/discover", "tools/call"]


async def test_a_server_that_refuses_discover_is_opened_by_initialize_in_the_same_process() -> None:
    async with speaking("--era", "sessioned") as speech:
        assert speech.peer.era is Era.SESSIONED
        assert speech.peer.version == "2025-11-25"
        assert (await methods_seen(speech))[:3] == [
            "server/discover",
            "initialize",
            "notifications/initialized",
        ]


async def test_a_server_that_ignores_discover_is_opened_by_initialize_after_a_short_wait() -> None:
    loop = asyncio.get_running_loop()
    began = loop.time()

    async with speaking("--era", "sessioned", "--discover", "silent") as speech:
        assert speech.peer.era is Era.SESSIONED
    # Less than the 10 s that an opening may take.
    assert 1.9 < loop.time() - began < 9.0


async def test_an_answer_to_discover_that_comes_late_decides_where_initialize_is_refused() -> None:
    async with speaking("--era", "stateless", "--discover", "late") as speech:
        assert speech.peer.era is Era.STATELESS
        assert await methods_seen(speech) == ["server/discover", "initialize", "tools/call"]


async def test_a_server_whose_era_the_silent_probe_has_fixed_is_started_anew() -> None:
    at = connector("--era", "sessioned", "--discover", "silent", "--first-only")

    async with at.connect() as speech:
        assert speech.peer.era is Era.SESSIONED
        assert (await methods_seen(speech))[0] == "initialize"


async def test_the_era_is_remembered_for_the_next_process() -> None:
    at = connector("--era", "sessioned")
    async with at.connect():
        pass

    async with at.connect() as speech:
        assert (await methods_seen(speech))[0] == "initialize"


async def test_a_remembered_era_that_is_contradicted_is_corrected(tmp_path) -> None:
    era = tmp_path / "server"
    command = f"exec {sys.executable} -S {endpoint().args[1]} --era $(cat {era})"
    run = StdioEndpoint("sh", ("-c", command))
    at = StdioConnector(backend(run), run, BASE)

    seen = []
    for now in ("sessioned", "stateless", "sessioned"):
        era.write_text(now)
        async with at.connect() as speech:
            seen.append(speech.peer.era.value)

    assert seen == ["sessioned", "stateless", "sessioned"]


async def test_a_server_that_dies_of_the_probe_is_opened_otherwise_by_the_next_attempt() -> None:
    fragile = StdioEndpoint(sys.executable, ("-S", "-c", FRAGILE))
    at = StdioConnector(backend(fragile), fragile, BASE)
    with pytest.raises(BackendFailed, match="exited with status 1"):
        async with at.connect():
            pass

    async with at.connect() as speech:
        assert speech.peer.version == "2025-06-18"


@pytest.mark.parametrize("losses", [1, 2, 3])
async def test_a_server_of_both_eras_that_was_away_is_spoken_to_as_before(
    tmp_path: Path, losses: int
) -> None:
    away = tmp_path / "away"
    command = f"[ -e {away} ] && exit 1; exec {sys.executable} -S {endpoint().args[1]} --era both"
    run = StdioEndpoint("sh", ("-c", command))
    at = StdioConnector(backend(run), run, BASE)
    async with at.connect() as speech:
        assert speech.peer.era is Era.STATELESS
    away.touch()
    for _ in range(losses):
        with pytest.raises(BackendFailed, match="exited with status 1"):
            async with at.connect():
                pass
    away.unlink()

    async with at.connect() as speech:
        assert speech.peer.era is Era.STATELESS


async def test_a_program_that_refuses_both_eras_is_no_server() -> None:
    code = (
        "import json, sys\n"
        "for line in sys.stdin:\n"
        "    error = {'code': -32601, 'message': 'no'}\n"
        "    print(json.dumps({'jsonrpc': '2.0', 'id': json.loads(line)['id'], 'error': error}), flush=True)"
    )
    run = StdioEndpoint(sys.executable, ("-S", "-c", code))

    with pytest.raises(EraContradicted):
        async with StdioConnector(backend(run), run, BASE).connect():
            pass


async def test_a_command_that_exits_at_once_is_named_with_its_status() -> None:
    run = StdioEndpoint(sys.executable, ("-S", "-c", "import sys; sys.exit(7)"))

    with pytest.raises(
        BackendFailed, match="Backend 'fake': its process exited with status 7"
    ) as failed:
        async with StdioConnector(backend(run), run, BASE).connect():
            pass
    assert failed.value.reason == "ConnectionLost"


@pytest.mark.parametrize("era", ["sessioned", "stateless"])
@pytest.mark.parametrize(
    ("tool", "arguments", "why"),
    [
        ("leave", {"status": 5}, "exited with status 5"),
        ("close", {"what": "output"}, "closed its stdout"),
        ("close", {"what": "input"}, "closed its stdin"),
    ],
    ids=["exit", "output closed", "input closed"],
)
async def test_a_lost_process_fails_the_calls_in_flight_and_the_listener(
    era: str, tool: str, arguments: dict[str, object], why: str
) -> None:
    failures: list[BackendFailed] = []

    async def noted(work) -> None:
        try:
            await work
        except BackendFailed as failure:
            failures.append(failure)

    async with speaking("--era", era) as speech:
        ready = asyncio.Event()
        async with asyncio.timeout(SECONDS), asyncio.TaskGroup() as tasks:
            tasks.create_task(noted(speech.listen(lambda _: None, ready.set)))
            await ready.wait()
            tasks.create_task(noted(call(speech, "hang")))
            tasks.create_task(noted(call(speech, tool, **arguments)))

        # What comes after the loss fails at once.
        await noted(speech.ask("tools/list", NO_PARAMS))

    assert all(why in failure.message for failure in failures)
    assert [failure.reason for failure in failures] == ["ConnectionLost"] * 4
    # On a connection that is gone no stream can be opened anew.
    assert sum(isinstance(failure, BackendGone) for failure in failures) == 1


async def test_calls_in_flight_fail_when_the_connection_is_left() -> None:
    failures: list[str] = []

    async def fail(speech: Speech) -> None:
        try:
            await call(speech, "hang")
        except BackendFailed as failure:
            failures.append(failure.reason)

    async with asyncio.timeout(SECONDS), asyncio.TaskGroup() as tasks, speaking() as speech:
        tasks.create_task(fail(speech))
        await call(speech, "echo")

    assert failures == ["ConnectionLost"]


@pytest.mark.parametrize("era", ["sessioned", "stateless"])
@pytest.mark.parametrize("place", ["first", "last"])
async def test_an_answer_of_a_megabyte_on_one_line_passes(era: str, place: str) -> None:
    async with speaking("--era", era) as speech:
        done = await call(speech, "large", bytes=2**20, id=place)

        assert len(done.payload) > 2**20


@pytest.mark.parametrize("era", ["sessioned", "stateless"])
@pytest.mark.parametrize("place", ["first", "last"])
async def test_a_line_above_the_limit_fails_its_call_and_the_next_one_works(
    era: str, place: str
) -> None:
    async with speaking("--era", era) as speech:
        with pytest.raises(BackendFailed, match="more than 16777216 bytes") as failed:
            await call(speech, "large", bytes=20 * 2**20, id=place)

        assert failed.value.reason == "TooLarge"
        assert value(await call(speech, "echo", a=1)) == {"a": 1}


async def test_a_line_above_the_limit_whose_request_is_unknown_leaves_it_to_the_deadline() -> None:
    async with speaking() as speech:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(1.0):
                await call(speech, "large", bytes=17 * 2**20, id="hidden")

        assert value(await call(speech, "echo", a=1)) == {"a": 1}


async def test_a_request_of_a_megabyte_arrives_whole() -> None:
    async with speaking() as speech:
        assert value(await call(speech, "echo", text="é" * 2**19)) == {"text": "é" * 2**19}


async def test_what_a_client_writes_on_many_lines_is_one_message() -> None:
    async with speaking() as speech:
        injected = b'{"a":[\n{"jsonrpc":"2.0","id":1,"method":"tools/list"}\r\n]}'
        params = Document(((b'"name"', b'"echo"'), (b'"arguments"', injected)))
        done = await carry(speech, params, stateless_client())

        assert value(done) == json.loads(injected)
        assert "tools/list" not in await methods_seen(speech)


NOISE = '✓ \x1b[32mready\x1b[0m\n\n{"level":"info","error":"none"}\nplain\n'


@pytest.mark.parametrize("era", ["sessioned", "stateless"])
async def test_text_on_stdout_disturbs_nothing_and_is_told_once(
    era: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "vmcp.transport.outgoing.noise")
    async with speaking("--era", era, "--say", NOISE) as speech:
        done = await call(speech, "write", base64="8J+OiSAKG1szMW0K/////wpbCnsK")
        assert value(done) == "written"

    lines = [getattr(each, "line", None) for each in caplog.records if "stdout" in each.message]
    assert lines[:2] == [None, r"✓ \x1b[32mready\x1b[0m"]
    assert [each.levelname for each in caplog.records].count("WARNING") == 1


async def test_a_flood_on_stderr_holds_nothing_up() -> None:
    async with speaking() as speech:
        assert value(await call(speech, "complain", line="x" * 500, times=20_000)) == "complained"


async def test_a_request_of_our_own_that_gets_no_answer_times_out() -> None:
    async with speaking(timeout_seconds=0.2) as speech:
        params = Document(((b'"name"', b'"hang"'),))
        with pytest.raises(BackendFailed) as failed:
            await speech.ask("tools/call", params)

    assert failed.value.reason == "TimedOut"


@pytest.mark.parametrize("era", ["sessioned", "stateless"])
async def test_a_check_is_not_over_when_the_time_of_a_call_is(era: str) -> None:
    async with (
        speaking("--era", era, timeout_seconds=0.2) as speech,
        asyncio.timeout(SECONDS),
        asyncio.TaskGroup() as tasks,
    ):
        pid = value(await call(speech, "about"))["pid"]
        os.kill(pid, signal.SIGSTOP)
        check = tasks.create_task(speech.probe())
        for _ in range(2):
            with pytest.raises(BackendFailed):
                await speech.ask("tools/list", NO_PARAMS)
        os.kill(pid, signal.SIGCONT)

        await check


async def test_a_process_that_reads_nothing_blocks_no_call_longer_than_its_deadline() -> None:
    async def within_a_moment(tool: str, **arguments: object) -> str:
        try:
            async with asyncio.timeout(0.5):
                await call(speech, tool, **arguments)
        except TimeoutError:
            return "timed out"
        return "answered"

    async with speaking("--era", "stateless") as speech, asyncio.TaskGroup() as tasks:
        calls = [tasks.create_task(within_a_moment("deaf"))]
        calls += [tasks.create_task(within_a_moment("echo", text="x" * 2**20)) for _ in range(4)]
        await asyncio.wait(calls)

    assert [one.result() for one in calls] == ["timed out"] * 5


async def test_cancelling_the_opening_leaves_no_process() -> None:
    at = connector("--era", "sessioned", "--discover", "silent")

    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.3), at.connect():
            raise AssertionError("it was opened")


async def test_a_process_holds_no_pipe_of_another_one() -> None:
    # It exits when its input ends, which it would not if another one held it open.
    async with speaking() as first, speaking() as second:
        one, other = [pipes(value(await call(each, "about"))["pid"]) for each in (first, second)]

    assert one
    assert other
    assert not one & other


def pipes(pid: int) -> set[str]:
    """Return the pipes that a process has open, each end of one by the same name."""
    found = {str(each.readlink()) for each in Path(f"/proc/{pid}/fd").iterdir()}
    return {name for name in found if name.startswith("pipe:")}


GATEWAY = """
import asyncio
from tests.support.stdio_servers.harness import call, speaking, value

async def main():
    async with speaking() as speech:
        print(value(await call(speech, "about"))["pid"], flush=True)
        await asyncio.Event().wait()

asyncio.run(main())
"""


async def test_a_gateway_that_is_killed_leaves_no_process_behind() -> None:
    gateway = await asyncio.create_subprocess_exec(
        sys.executable, "-c", GATEWAY, cwd=ROOT, stdout=asyncio.subprocess.PIPE
    )
    assert gateway.stdout is not None
    async with asyncio.timeout(SECONDS):
        child = int(await gateway.stdout.readline())

        gateway.kill()
        await gateway.wait()
        await gone(child)
    await gateway.stdout.read()
