"""The config that is in force while what is on disk changes."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.net.certificates import authority
from tests.support.virtual_time import START, HandClock
from tests.support.waiting import until
from vmcp.config.load import Loaded, load
from vmcp.discovery.reload import LiveConfig


class Disk:
    """A config file, and what reads it."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "vmcp.yaml"
        self.clock = HandClock()
        self.loads = 0
        self.may_load = threading.Event()
        self.may_load.set()

    def write(self, text: str) -> None:
        self.path.write_text(text)

    def load(self) -> Loaded:
        try:
            return load(self.path, {})
        finally:
            # From now on the file may be written: what it held has been read.
            self.loads += 1
            self.may_load.wait(5)

    def live(self, text: str) -> LiveConfig:
        self.write(text)
        return LiveConfig(self.load, load(self.path, {}), self.clock)


@pytest.fixture
def disk(tmp_path: Path) -> Disk:
    return Disk(tmp_path)


def names(live: LiveConfig) -> list[str]:
    return [backend.name for backend in live.loaded.value.config.backends]


def web(*names: str) -> str:
    listed = ", ".join(f"{{name: {name}, url: 'https://h/{name}'}}" for name in names)
    return f"backends: [{listed}]\n"


def messages(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.message for record in caplog.records if record.name == "vmcp.discovery.reload"]


async def test_a_reload_puts_in_force_what_is_on_disk(disk: Disk) -> None:
    live = disk.live(web("a"))
    disk.write(web("a", "b"))
    disk.clock.move(60)

    loading = await live.reload()

    assert names(live) == ["a", "b"]
    assert (loading.reloads, loading.failures, loading.failure) == (1, 0, None)
    assert (loading.loaded_at - START).total_seconds() == 60


async def test_a_broken_config_leaves_the_one_before_in_force(disk: Disk) -> None:
    live = disk.live(web("a"))
    disk.write("backends: [{name: a}, {name: 'b c', url: 'https://h'}]")
    disk.clock.move(60)

    loading = await live.reload()

    assert names(live) == ["a"]
    assert (loading.reloads, loading.failures) == (0, 1)
    assert loading.loaded_at == START
    assert loading.failure is not None
    assert (loading.failure.at - START).total_seconds() == 60
    assert [error.path for error in loading.failure.errors] == [
        "backends[0]",
        "backends[1].name",
    ]


async def test_a_fault_is_logged_once_and_its_end_too(
    disk: Disk, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    live = disk.live(web("a"))
    broken, kept = (
        "the config is broken; the one before stays in force",
        "the config is loaded anew",
    )

    for text in ("backends: 1", "backends: 1\n", "backends: 2", web("a"), web("a")):
        disk.write(text)
        await live.reload()

    assert messages(caplog) == [broken, kept]
    assert live.loading.value.failure is None


async def test_those_who_ask_during_a_reload_share_one_more(disk: Disk) -> None:
    live = disk.live(web("a"))
    disk.may_load.clear()
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(live.reload())
        await until(lambda: disk.loads == 1)
        disk.write(web("b"))
        later = [tasks.create_task(live.reload()) for _ in range(5)]
        disk.may_load.set()

    assert disk.loads == 2
    assert names(live) == ["b"]
    assert {task.result().reloads for task in later} == {2}


async def test_an_equal_config_wakes_nobody(disk: Disk) -> None:
    live = disk.live(web("a"))
    before = live.loaded.value

    await live.reload()

    assert live.loaded.value is before


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("host", "0.0.0.0"),
        ("port", "5000"),
        ("path", "/other"),
        ("sse", "true"),
        ("opsHost", "0.0.0.0"),
        ("opsPort", "5001"),
    ],
)
async def test_what_cannot_change_while_it_runs_waits_and_the_rest_is_applied(
    disk: Disk, key: str, value: str
) -> None:
    live = disk.live(web("a"))
    before = live.loaded.value.config.server
    disk.write(f"{web('b')}server: {{{key}: {value}, allowedHosts: [gateway.example]}}")

    await live.reload()
    await live.reload()

    assert live.loaded.value.waiting == (f"server.{key}",)
    assert names(live) == ["b"]
    server = live.loaded.value.config.server
    assert server.allowed_hosts == ("gateway.example",)
    assert server.model_copy(update={"allowed_hosts": None}) == before


async def test_other_telemetry_waits_for_a_restart_and_the_rest_is_applied(disk: Disk) -> None:
    live = disk.live(web("a"))
    disk.write(f"{web('b')}telemetry: {{serviceName: other}}")

    await live.reload()

    assert live.loaded.value.waiting == ("telemetry",)
    assert live.loaded.value.config.telemetry.service_name is None
    assert names(live) == ["b"]


@pytest.mark.parametrize(
    ("key", "settings", "texts"),
    [
        (
            "headersFromSecret",
            "headersFromSecret: [{headerName: X-Key, valueFile: held}]",
            ("first", "second"),
        ),
        (
            "caCertPath",
            "caCertPath: held",
            (authority("one").pem, authority("two").pem),
        ),
    ],
)
async def test_what_a_file_holds_that_telemetry_names_waits_for_a_restart(
    disk: Disk, key: str, settings: str, texts: tuple[str, str]
) -> None:
    held = disk.path.with_name("held")
    held.write_text(texts[0])
    live = disk.live(f"{web('a')}telemetry: {{endpoint: 'c:1', {settings}}}")
    held.write_text(texts[1])

    await live.reload()
    await live.reload()

    assert live.loaded.value.waiting == (f"telemetry.{key}",)


async def test_what_was_changed_back_waits_for_nothing(disk: Disk) -> None:
    live = disk.live(web("a"))
    disk.write(f"{web('a')}server: {{port: 5000}}")
    await live.reload()
    disk.write(web("a"))

    await live.reload()

    assert live.loaded.value.waiting == ()


async def test_another_key_for_seals_waits_for_a_restart(disk: Disk) -> None:
    key = disk.path.parent / "seal"
    key.write_text("k" * 32)
    live = disk.live(f"{web('a')}server: {{sealKeyFile: seal}}")
    key.write_text("l" * 32)

    await live.reload()
    await live.reload()

    assert live.loaded.value.waiting == ("server.sealKeyFile",)


@asynccontextmanager
async def following(live: LiveConfig) -> AsyncIterator[None]:
    """Run a config for the block."""
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(live.run())
        yield
        running.cancel()


async def test_a_changed_file_is_followed_without_being_asked(disk: Disk) -> None:
    live = disk.live(web("a"))
    async with following(live):
        await until(lambda: disk.loads)
        disk.write(web("b"))

        await until(lambda: names(live) == ["b"])


async def test_what_changed_before_it_runs_is_taken(disk: Disk) -> None:
    live = disk.live(web("a"))
    disk.write(web("b"))

    async with following(live):
        await until(lambda: names(live) == ["b"])

    assert live.loading.value.reloads == 1


async def test_the_beginning_alone_is_no_reload(disk: Disk) -> None:
    live = disk.live(web("a"))
    before = live.loading.value

    async with following(live):
        await until(lambda: disk.loads)

    assert live.loading.value is before


async def test_a_bell_reloads_too(disk: Disk) -> None:
    live = disk.live(web("a"))
    async with following(live):
        await until(lambda: disk.loads)
        live.ring()

        await until(lambda: live.loading.value.reloads == 1)


async def test_what_was_read_on_a_bell_is_not_read_again_because_files_have_changed(
    disk: Disk,
) -> None:
    live = disk.live(web("a"))
    async with following(live):
        await until(lambda: disk.loads == 1)
        disk.write(web("b"))
        live.ring()
        await until(lambda: names(live) == ["b"])

        disk.write(web("c"))
        await until(lambda: names(live) == ["c"])

    assert disk.loads == 3


def bearer(path: str) -> str:
    auth = f"{{type: bearer_token, bearerToken: {{tokenFile: {path}}}}}"
    return f"{web('a')}outgoingAuth: {{default: {auth}}}\n"


def token(live: LiveConfig) -> str:
    (secret,) = live.loaded.value.secrets.values()
    return secret.reveal()


async def test_a_secret_file_is_followed_and_so_is_one_that_is_named_later(disk: Disk) -> None:
    one, two = disk.path.with_name("one"), disk.path.with_name("two")
    one.write_text("first")
    two.write_text("second")
    live = disk.live(bearer("one"))
    async with following(live):
        await until(lambda: disk.loads)
        one.write_text("first-rotated")
        await until(lambda: token(live) == "first-rotated")

        disk.write(bearer("two"))
        await until(lambda: token(live) == "second")
        two.write_text("second-rotated")
        await until(lambda: token(live) == "second-rotated")


async def test_a_secret_file_that_is_gone_is_a_fault_until_it_is_back(
    disk: Disk, caplog: pytest.LogCaptureFixture
) -> None:
    file = disk.path.with_name("one")
    file.write_text("first")
    live = disk.live(bearer("one"))
    async with following(live):
        await until(lambda: disk.loads)
        file.unlink()
        await until(lambda: live.loading.value.failure is not None)
        assert token(live) == "first"

        file.write_text("back")
        await until(lambda: token(live) == "back")

    assert live.loading.value.failure is None
    assert "first" not in caplog.text
    assert "back" not in caplog.text


async def test_a_file_that_was_missing_when_it_was_first_named_is_followed(disk: Disk) -> None:
    live = disk.live(web("a"))
    async with following(live):
        await until(lambda: disk.loads)
        disk.write(bearer("late"))
        await until(lambda: live.loading.value.failure is not None)

        disk.path.with_name("late").write_text("here")
        await until(lambda: token(live) == "here" if live.loaded.value.secrets else False)


async def test_a_fault_of_ours_leaves_in_force_what_is(disk: Disk) -> None:
    loaded = disk.live(web("a")).loaded.value

    def broken() -> Loaded:
        raise ZeroDivisionError

    live = LiveConfig(broken, loaded, disk.clock)
    loading = await live.reload()

    assert loading.failure is not None
    assert [str(error) for error in loading.failure.errors] == [
        "the file: It cannot be read: ZeroDivisionError."
    ]
    assert live.loaded.value is loaded
