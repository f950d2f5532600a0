"""What all commands print: tables, JSON and text on standard output, remarks on standard error.

On a terminal tables are drawn by rich; a pipe gets plain text in aligned columns, a line a row.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from enum import StrEnum

from vmcp.cli.stop import ExitCode, Stop

# Longer first lines are cut in tables; `--output json` has them whole.
LINE_LENGTH = 100


class TableFormat(StrEnum):
    """How lists are printed."""

    TABLE = "table"
    JSON = "json"


class TextFormat(StrEnum):
    """How the result of a call is printed."""

    TEXT = "text"
    JSON = "json"


def on_terminal() -> bool:
    """Tell whether a person reads standard output."""
    return sys.stdout.isatty()


def emit(text: str) -> None:
    """Print `text` and a line end on standard output; end quietly when nobody reads any more."""
    try:
        sys.stdout.write(f"{text}\n")
        sys.stdout.flush()
    except BrokenPipeError:
        raise Stop("", ExitCode.BROKEN_PIPE) from None


def close() -> None:
    """Flush standard output for the last time; lead it nowhere if nobody reads any more."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        # Or the interpreter's own flush would complain.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def remark(text: str) -> None:
    """Print a line on standard error: what is not part of the result."""
    sys.stderr.write(f"{visible(text)}\n")
    sys.stderr.flush()


def emit_json(value: object) -> None:
    """Print `value` as indented JSON."""
    emit(json.dumps(value, indent=2, ensure_ascii=False))


def emit_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print rows under the names of their columns."""
    cells = [[_one_line(cell) for cell in row] for row in rows]
    emit(_drawn(columns, cells) if on_terminal() else _aligned(columns, cells))


def visible(text: str) -> str:
    """Write control characters out, but for line ends and tabs: no server steers a terminal."""
    if text.isprintable():
        return text
    return "".join(char if char in "\n\t" else _written_out(char) for char in text)


def first_line(text: str | None) -> str:
    """Return the first line of a description that says anything, cut to what fits into a table."""
    line = next((line.strip() for line in (text or "").splitlines() if line.strip()), "")
    return line if len(line) <= LINE_LENGTH else f"{line[: LINE_LENGTH - 1].rstrip()}…"


def _one_line(text: str) -> str:
    return text if text.isprintable() else "".join(_written_out(char) for char in text)


def _written_out(char: str) -> str:
    code = ord(char)
    is_control = code < 0x20 or 0x7F <= code < 0xA0  # noqa: PLR2004 - the C0 and C1 controls
    return f"\\x{code:02x}" if is_control else char


def _aligned(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    from rich.cells import cell_len

    lines = [[name.upper() for name in columns], *rows]
    widths = [max(cell_len(line[at]) for line in lines) for at in range(len(columns))]
    return "\n".join(
        "  ".join(
            cell + " " * (width - cell_len(cell)) for cell, width in zip(line, widths, strict=True)
        ).rstrip()
        for line in lines
    )


def _drawn(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, header_style="bold", pad_edge=False, show_edge=False)
    for at, name in enumerate(columns):
        table.add_column(name.capitalize(), overflow="fold", style="cyan" if at == 0 else None)
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    console = Console()
    with console.capture() as capture:
        console.print(table)
    return capture.get().strip("\n")
