"""Install Debian's Chromium where it is missing and that is allowed: `python -m tests.ui.install`."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

from tests.ui.chromium import found

SECONDS = 600
_COMMANDS = (
    ("apt-get", "update", "-qq"),
    ("apt-get", "install", "-qq", "-y", "--no-install-recommends", "chromium"),
)


def missing() -> str | None:
    """Install it; return why there is still none."""
    if found() is not None:
        return None
    if shutil.which("apt-get") is None or os.geteuid() != 0:
        return "only root on a Debian can install the package `chromium` here."
    for command in _COMMANDS:
        # The tests live in their own environment, and apt must not ask.
        env = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}  # noqa: TID251
        done = subprocess.run(
            command, env=env, capture_output=True, text=True, timeout=SECONDS, check=False
        )
        if done.returncode:
            return f"`{' '.join(command)}` failed:\n{done.stdout}{done.stderr}"
    return None if found() is not None else "the package brought no program of that name."


def main() -> int:
    """Say loudly that nothing was tested where there is no Chromium."""
    reason = missing()
    if reason is None:
        return 0
    sys.stderr.write(f"\n*** THE PAGE WAS NOT TESTED: there is no Chromium, and {reason}\n\n")
    return 1


if __name__ == "__main__":
    sys.exit(main())
