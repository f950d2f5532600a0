"""Files that change in all the ways in which people and programs change them."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.support.volumes import Volume
from tests.support.waiting import until
from vmcp.net.files import Notify, Watch, contents, events, places


class Noted(Watch):
    """A watch of which one can tell that it has looked and waits."""

    def __init__(self, notify: Notify = events) -> None:
        super().__init__(notify)
        self.waits = 0

    async def _heard(self, bell: asyncio.Event) -> None:
        self.waits += 1
        await super()._heard(bell)


@asynccontextmanager
async def watching(*paths: Path, watch: Noted | None = None) -> AsyncIterator[asyncio.Task[None]]:
    """Watch files for the block, which begins when they have been looked at; the task ends with a change."""
    watch = watch or Noted()
    before = watch.waits
    async with asyncio.TaskGroup() as tasks:
        waiting = tasks.create_task(watch.changed(contents(paths)))
        await until(lambda: watch.waits > before)
        try:
            yield waiting
        finally:
            waiting.cancel()


async def tells(waiting: asyncio.Task[None]) -> None:
    async with asyncio.timeout(5):
        await waiting


def write(path: Path) -> None:
    path.write_text("two")


def append(path: Path) -> None:
    with path.open("a") as file:
        file.write("more")


def rename_over(path: Path) -> None:
    fresh = path.with_suffix(".tmp")
    fresh.write_text("two")
    fresh.rename(path)


def move_away_and_write(path: Path) -> None:
    path.rename(path.with_suffix(".old"))
    path.write_text("two")


def remove(path: Path) -> None:
    path.unlink()


def replace_the_folder(path: Path) -> None:
    fresh = path.parent.with_name("fresh")
    fresh.mkdir()
    (fresh / path.name).write_text("two")
    path.parent.rename(path.parent.with_name("old"))
    fresh.rename(path.parent)


def remove_the_folder(path: Path) -> None:
    shutil.rmtree(path.parent)


def make_it_a_link(path: Path) -> None:
    target = path.with_name("target")
    target.write_text("two")
    path.unlink()
    path.symlink_to(target)


def come_back(path: Path) -> None:
    path.parent.mkdir(parents=True)
    path.write_text("back")


def replace_by_the_same(path: Path) -> None:
    path.touch()
    fresh = path.with_suffix(".tmp")
    fresh.write_text(path.read_text())
    fresh.rename(path)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    folder = tmp_path / "folder"
    folder.mkdir()
    file = folder / "file"
    file.write_text("one")
    return file


@pytest.mark.parametrize(
    "change",
    [
        write,
        append,
        rename_over,
        move_away_and_write,
        remove,
        replace_the_folder,
        remove_the_folder,
        make_it_a_link,
    ],
    ids=lambda change: change.__name__,
)
async def test_a_change_is_told(file: Path, change: Callable[[Path], None]) -> None:
    async with watching(file) as waiting:
        change(file)

        await tells(waiting)


async def test_every_change_is_told_in_turn(file: Path) -> None:
    watch = Noted()
    for change in (remove, write, remove_the_folder):
        async with watching(file, watch=watch) as waiting:
            change(file)
            await tells(waiting)
    async with watching(file, watch=watch) as waiting:
        come_back(file)
        await tells(waiting)


async def test_a_file_and_its_folder_that_never_were_are_told_when_they_come(
    tmp_path: Path,
) -> None:
    file = tmp_path / "a" / "b" / "file"
    async with watching(file) as waiting:
        come_back(file)

        await tells(waiting)


async def test_the_swap_of_a_volume_is_told(tmp_path: Path) -> None:
    volume = Volume(tmp_path / "volume", config="one", other="same")
    watch = Noted()
    for text in ("two", "three"):
        async with watching(volume.path / "config", watch=watch) as waiting:
            volume.publish(config=text, other="same")
            await tells(waiting)


async def test_a_swap_behind_a_link_from_elsewhere_is_told(tmp_path: Path) -> None:
    volume = Volume(tmp_path / "volume", config="one")
    link = tmp_path / "elsewhere"
    link.symlink_to(volume.path / "config")
    async with watching(link) as waiting:
        volume.publish(config="two")

        await tells(waiting)


async def test_what_holds_the_same_as_before_is_not_told(tmp_path: Path, file: Path) -> None:
    volume = Volume(tmp_path / "volume", config="one")
    looks: list[frozenset[Path]] = []

    def noted(watched: frozenset[Path]) -> AsyncIterator[object]:
        looks.append(watched)
        return events(watched)

    async with watching(volume.path / "config", file, watch=Noted(noted)) as waiting:
        await until(lambda: looks)
        replace_by_the_same(file)
        volume.publish(config="one")
        # The swap leads elsewhere: that is followed, and told to nobody.
        await until(lambda: len(looks) > 1)
        assert not waiting.done()

        volume.publish(config="two")
        await tells(waiting)


async def test_neighbours_of_a_file_are_not_looked_at(file: Path) -> None:
    heard = 0

    async def counted(watched: frozenset[Path]) -> AsyncIterator[object]:
        nonlocal heard
        async for each in events(watched):
            heard += 1
            yield each

    async with watching(file, watch=Noted(counted)) as waiting:
        for number in range(20):
            file.with_name(f"neighbour-{number}").write_text("x")
        write(file)
        await tells(waiting)

    assert heard <= 2


async def test_a_change_before_the_watch_began_is_told(file: Path) -> None:
    seen = contents([file])
    write(file)

    async with asyncio.timeout(5):
        await Watch(events).changed(seen)


async def refusing(_watched: frozenset[Path]) -> AsyncIterator[object]:
    raise OSError(28, os.strerror(28))
    yield


async def test_without_events_files_are_polled_and_that_is_said_once(
    file: Path, caplog: pytest.LogCaptureFixture
) -> None:
    watch = Noted(refusing)
    for change in (write, append):
        async with watching(file, watch=watch) as waiting:
            change(file)
            await tells(waiting)

    assert [record.message for record in caplog.records] == [
        "changes of files are not told; they are polled"
    ]


def test_a_pipe_is_never_opened(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)

    assert contents([pipe])[pipe].startswith("kind ")


def test_links_in_a_circle_end(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    one.symlink_to(two)
    two.symlink_to(one)

    assert {one, two} <= set(places(one))
    assert contents([one])[one].startswith("error ")


def test_all_names_on_the_way_are_watched(tmp_path: Path) -> None:
    base = tmp_path.resolve()
    (base / "real" / "deep").mkdir(parents=True)
    (base / "link").symlink_to("real/deep/..")
    (base / "real" / "file").symlink_to(base / "target")

    found = [
        each.relative_to(base)
        for each in places(base / "link" / "file")
        if each.is_relative_to(base)
    ]

    assert [str(each) for each in found] == [
        ".",
        "link",
        "real",
        "real/deep",
        "real/file",
        ".",
        "target",
    ]
