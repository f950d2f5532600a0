"""Folders that change in all the ways in which people and programs change them."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.support.volumes import Volume
from tests.support.waiting import until
from vmcp.net.folder import FolderWatch, Texts, Unread, texts

ENDINGS = (".yaml", ".json")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "sub").mkdir()
    (tmp_path / "a.yaml").write_text("a")
    (tmp_path / "sub" / "b.yaml").write_text("b")
    return tmp_path


def test_files_of_all_sub_folders_are_read_but_hidden_ones_and_others(folder: Path) -> None:
    (folder / ".hidden").mkdir()
    (folder / ".hidden" / "c.yaml").write_text("c")
    (folder / ".d.yaml").write_text("d")
    (folder / "README.md").write_text("words")

    assert texts(folder, ENDINGS) == {"a.yaml": b"a", "sub/b.yaml": b"b"}


def test_a_link_that_leads_back_is_followed_once(folder: Path) -> None:
    (folder / "sub" / "back").symlink_to(folder)

    assert texts(folder, ENDINGS) == {"a.yaml": b"a", "sub/b.yaml": b"b"}


def test_what_cannot_be_read_is_told_without_the_rest(folder: Path) -> None:
    os.mkfifo(folder / "pipe.yaml")
    (folder / "gone.yaml").symlink_to(folder / "nowhere")

    found = texts(folder, ENDINGS)

    assert found["a.yaml"] == b"a"
    assert isinstance(found["pipe.yaml"], Unread)
    assert isinstance(found["gone.yaml"], Unread)


def test_a_folder_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        texts(tmp_path / "none", ENDINGS)


@asynccontextmanager
async def watched(folder: Path) -> AsyncIterator[asyncio.Task[Texts]]:
    watch = FolderWatch(folder, ENDINGS)
    async with asyncio.TaskGroup() as tasks:
        listening = tasks.create_task(watch.run())
        yield tasks.create_task(watch.changed(texts(folder, ENDINGS)))
        listening.cancel()


def write(folder: Path) -> None:
    (folder / "a.yaml").write_text("new")


def replace(folder: Path) -> None:
    fresh = folder / "fresh.tmp"
    fresh.write_text("new")
    fresh.rename(folder / "a.yaml")


def add(folder: Path) -> None:
    (folder / "c.yaml").write_text("new")


def add_in_a_new_folder(folder: Path) -> None:
    (folder / "more" / "deep").mkdir(parents=True)
    (folder / "more" / "deep" / "c.yaml").write_text("new")


def remove(folder: Path) -> None:
    (folder / "sub" / "b.yaml").unlink()


@pytest.mark.parametrize(
    "change", [write, replace, add, add_in_a_new_folder, remove], ids=lambda change: change.__name__
)
async def test_every_change_is_told(folder: Path, change: Callable[[Path], None]) -> None:
    async with watched(folder) as waiting:
        change(folder)

        async with asyncio.timeout(7):
            assert await waiting == texts(folder, ENDINGS)


async def test_a_volume_that_swaps_its_link_is_told(tmp_path: Path) -> None:
    volume = Volume(tmp_path / "volume", **{"a.yaml": "old"})
    async with watched(tmp_path / "volume") as waiting:
        volume.publish(**{"a.yaml": "new"})

        async with asyncio.timeout(7):
            assert await waiting == {"a.yaml": b"new"}


def publish(link: Path, folder: Path) -> None:
    """Have a link lead to another folder, in one step."""
    fresh = link.with_suffix(".fresh")
    fresh.symlink_to(folder)
    fresh.rename(link)


@pytest.mark.parametrize("below", ["", "objects"])
async def test_a_folder_that_a_link_leads_to_is_told_of_at_once(
    tmp_path: Path, below: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for version in ("one", "two"):
        (tmp_path / version / below).mkdir(parents=True)
        (tmp_path / version / below / "a.yaml").write_text(version)
    link = tmp_path / "current"
    publish(link, tmp_path / "one")
    folder = Path("current") / below
    watch = FolderWatch(folder, ENDINGS)
    async with asyncio.timeout(3), asyncio.TaskGroup() as tasks:
        listening = tasks.create_task(watch.run())
        seen = texts(folder, ENDINGS)
        for version in ("two", "one", "two"):
            waiting = tasks.create_task(watch.changed(seen))
            await until(lambda: watch._bell._waiters)
            publish(link, tmp_path / version)
            seen = await waiting
            assert seen == {"a.yaml": version.encode()}

        waiting = tasks.create_task(watch.changed(seen))
        await until(lambda: watch._bell._waiters)
        (tmp_path / "two" / below / "a.yaml").write_text("three")
        assert await waiting == {"a.yaml": b"three"}
        listening.cancel()
