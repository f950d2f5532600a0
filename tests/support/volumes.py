"""A volume as Kubernetes mounts a ConfigMap or a Secret: a swap replaces all of its files at once."""

from __future__ import annotations

import shutil
from pathlib import Path


class Volume:
    """Each file is a link into a folder to which a link leads, and that one is swapped."""

    def __init__(self, path: Path, **files: str) -> None:
        self.path = path
        self._version = 0
        path.mkdir()
        self.publish(**files)
        for name in files:
            (path / name).symlink_to(Path("..data") / name)

    def publish(self, **files: str) -> None:
        """Swap the folder of the files as a whole."""
        before = self.path / f"..{self._version}"
        self._version += 1
        folder = self.path / f"..{self._version}"
        folder.mkdir()
        for name, text in files.items():
            (folder / name).write_text(text)
        fresh = self.path / "..data_tmp"
        fresh.symlink_to(folder.name)
        fresh.rename(self.path / "..data")
        shutil.rmtree(before, ignore_errors=True)
