"""What a config file that cannot be used is refused with: all its errors at once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from vmcp.config.faults import Fault


@dataclass(frozen=True, slots=True)
class ConfigError:
    """One thing that is wrong with the config file, for the one who wrote it.

    `path` is the key as people write it (`backends[2].transport`), empty for the file as a whole.
    `line` and `column` count from 1 and are None where the place is not in the text. `file` is None for the
    config file itself.
    """

    path: str
    message: str
    found: str | None = None
    allowed: str | None = None
    suggestion: str | None = None
    line: int | None = None
    column: int | None = None
    file: str | None = None

    @classmethod
    def of(
        cls, fault: Fault, path: str, at: tuple[int | None, int | None], file: str | None = None
    ) -> ConfigError:
        """Return the error that a fault is at a path, and at a line and column of the text."""
        line, column = at
        return cls(
            path=path,
            message=fault.message,
            found=fault.found,
            allowed=fault.allowed,
            suggestion=fault.suggestion,
            line=line,
            column=column,
            file=file,
        )

    def __str__(self) -> str:
        """Write the error in one line and up to three indented ones."""
        place = self.path or "the file"
        if self.line is not None:
            place += f" (line {self.line}, column {self.column})"
        within = "" if self.file is None else f"{self.file}: "
        lines = [f"{within}{place}: {self.message}"]
        lines += [f"    found: {self.found}"] if self.found else []
        lines += [f"    allowed: {self.allowed}"] if self.allowed else []
        lines += [f"    {self.suggestion}"] if self.suggestion else []
        return "\n".join(lines)


class ConfigInvalid(Exception):
    """The config file cannot be used; `errors` holds everything that is wrong with it.

    `files` are those that were looked at: a change of one may mend it.
    """

    def __init__(
        self, name: str, errors: Iterable[ConfigError], files: tuple[Path, ...] = ()
    ) -> None:
        self.name = name
        self.errors = tuple(errors)
        self.files = files
        super().__init__(name, self.errors)

    def __str__(self) -> str:
        """Write all errors below a line that counts them."""
        count = "1 error" if len(self.errors) == 1 else f"{len(self.errors)} errors"
        return "\n".join([f"{self.name}: {count}", *[f"- {error}" for error in self.errors]])
