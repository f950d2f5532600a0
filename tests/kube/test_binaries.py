"""The programs of the test cluster are those that the machine's owner names, else those that are built."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.kube.binaries import places, toolchain


def program(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch(mode=0o755)
    return path


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("KUBEBUILDER_ASSETS", raising=False)
    return tmp_path


def test_what_is_not_there_is_missing(home: Path) -> None:
    etcd = program(places.cache() / "etcd")

    assert etcd.is_relative_to(home)
    assert places.found() == {"etcd": etcd}
    assert set(places.missing()) == places.PACKAGES.keys() - {"etcd"}


def test_a_folder_that_is_named_comes_first(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(places.cache() / "etcd")
    helm = program(places.cache() / "helm")
    theirs = program(home / "assets" / "etcd")
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(theirs.parent))

    assert places.found() == {"etcd": theirs, "helm": helm}


def test_the_modules_say_which_go_they_take() -> None:
    assert toolchain.wanted() >= (1, 26)
