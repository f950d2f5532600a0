"""Progress notifications as a bar on standard error, where a person can see it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from mcp.shared.dispatcher import ProgressFnT
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TaskProgressColumn, TextColumn

from vmcp.cli.output import first_line, visible


@contextmanager
def bar(title: str) -> Iterator[ProgressFnT]:
    """Draw a bar from the first notification to the end of the body; nothing off a terminal."""
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), TaskProgressColumn())
    with Progress(
        *columns, console=console, disable=not console.is_terminal, transient=True
    ) as shown:
        task: TaskID | None = None

        async def notice(progress: float, total: float | None, message: str | None) -> None:
            nonlocal task
            if task is None:
                task = shown.add_task(title, total=total)
            text = visible(first_line(message)) or title
            shown.update(task, completed=progress, total=total, description=text)

        yield notice
