"""The processes of the test cluster: started, disturbed and ended by who holds them."""

from __future__ import annotations

import ctypes
import signal
import subprocess
import threading
from contextlib import suppress
from pathlib import Path

_END_SECONDS = 10.0
# Whoever starts them may be killed: then the kernel ends them (prctl, PR_SET_PDEATHSIG).
_SET_DEATH_SIGNAL = 1
_LIBC = ctypes.CDLL(None)


class Program:
    """One program with its arguments, of which at most one process runs."""

    def __init__(self, path: Path, arguments: list[str], log: Path) -> None:
        self.log = log
        self._words = [str(path), *arguments]
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it where it does not run."""
        if self.is_running:
            return
        # The kernel ends them with the very thread that started them.
        assert threading.current_thread() is threading.main_thread()
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                self._words,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                preexec_fn=_end_with_parent,  # noqa: PLW1509 - it calls nothing but the kernel
            )

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def rest(self, seconds: float) -> None:
        """Return after so long, or as soon as it has ended."""
        if self._process is not None:
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(seconds)

    def pause(self) -> None:
        """Stop it where it stands: connections are taken, and nothing is answered."""
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Let it go on."""
        self._signal(signal.SIGCONT)

    def kill(self) -> None:
        """End it as a crash does."""
        self._signal(signal.SIGKILL)
        self.rest(_END_SECONDS)

    def end(self) -> None:
        """End it in good order, or at least end it."""
        self.resume()
        self._signal(signal.SIGTERM)
        self.rest(_END_SECONDS)
        if self.is_running:
            self.kill()

    def last_words(self) -> str:
        """Return the end of its log."""
        text = self.log.read_text(errors="replace") if self.log.exists() else ""
        return "\n".join(text.splitlines()[-5:])

    def _signal(self, number: signal.Signals) -> None:
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(number)


def _end_with_parent() -> None:
    _LIBC.prctl(_SET_DEATH_SIGNAL, signal.SIGKILL)
