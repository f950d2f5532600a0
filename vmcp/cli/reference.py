"""The commands as a chapter of docs/cli.md: `python -m vmcp.cli.reference docs/cli.md` writes it anew there."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator
from enum import Enum
from pathlib import Path
from types import NoneType
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from typer.models import ArgumentInfo, OptionInfo

from vmcp.cli.main import COMMANDS

BEGIN = (
    "<!-- Written by `python -m vmcp.cli.reference docs/cli.md`; edits belong to vmcp/cli. -->\n"
)
END = "<!-- Here what is written by it ends. -->\n"

Command = Callable[..., None]
Info = ArgumentInfo | OptionInfo


def page(text: str) -> str:
    """Return the page with the chapter of the commands as it should be; what stands around it stays."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError("the page lacks the marks between which the commands stand")
    return f"{before}{BEGIN}\n{reference()}\n{END}{after}"


def reference() -> str:
    """Return what the commands say of themselves as Markdown."""
    return "\n".join(line for command in COMMANDS for line in _section(command))


def _section(command: Command) -> Iterator[str]:
    given = list(_parameters(command))
    arguments = [(name, info) for name, _, info, _ in given if isinstance(info, ArgumentInfo)]
    words = [_argument(name, info, command) for name, info in arguments]
    yield f"### `vmcp {command.__name__}`\n"
    yield f"    {' '.join(['vmcp', command.__name__, *words, '[OPTIONS]'])}\n"
    yield inspect.cleandoc(command.__doc__ or "") + "\n"
    yield "| argument or option | takes | default | meaning |\n|---|---|---|---|"
    for name, kind, info, default in given:
        is_argument = isinstance(info, ArgumentInfo)
        names = [f"`{_argument(name, info, command)}`"] if is_argument else _names(info)
        meaning = f"{info.help}{_variable(info)}".replace("|", "\\|")
        yield f"| {', '.join(names)} | {_takes(kind, info)} | {_default(default)} | {meaning} |"
    yield ""


def _parameters(command: Command) -> Iterator[tuple[str, Any, Info, Any]]:
    """Yield of each parameter its name, its type, what typer knows of it, and its default."""
    hints = get_type_hints(command, include_extras=True)
    for name, parameter in inspect.signature(command).parameters.items():
        kind, info = (
            get_args(hints[name])[:2] if get_origin(hints[name]) is Annotated else (None, None)
        )
        if not isinstance(info, Info):
            raise TypeError(f"{command.__name__}: {name} is no argument and no option")
        yield name, _present(kind), info, parameter.default


def _present(kind: Any) -> Any:
    """Return a type without the None that stands for an option that is not given."""
    found = [one for one in get_args(kind) if one is not NoneType]
    return found[0] if NoneType in get_args(kind) and len(found) == 1 else kind


def _argument(name: str, info: Info, command: Command) -> str:
    default = inspect.signature(command).parameters[name].default
    word = info.metavar or name.upper()
    return word if default is inspect.Parameter.empty or word.startswith("[") else f"[{word}]"


def _names(info: Info) -> list[str]:
    # Within Annotated, typer keeps the first name where the default would stand.
    return [f"`{name}`" for name in (info.default, *(info.param_decls or ()))]


def _takes(kind: Any, info: Info) -> str:
    if kind is bool:
        return "-"
    if get_origin(kind) is list:
        return _takes(get_args(kind)[0], info)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return ", ".join(f"`{each.value}`" for each in kind)
    if kind is int and info.min is not None and info.max is not None:
        return f"number {info.min} to {info.max}"
    words = {int: "number", float: "number", Path: "file"}
    shown = info.metavar if isinstance(info, OptionInfo) else None
    return f"`{shown}`".replace("|", "\\|") if shown else words.get(kind, "text")


def _default(value: Any) -> str:
    if value is inspect.Parameter.empty:
        return "required"
    if value is None or value is False:
        return "-"
    shown = value.value if isinstance(value, Enum) else value
    return f"`{shown:g}`" if isinstance(shown, float) else f"`{shown}`"


def _variable(info: Info) -> str:
    return f" Environment: `{info.envvar}`." if info.envvar else ""


if __name__ == "__main__":
    file = Path(sys.argv[1])
    file.write_text(page(file.read_text("utf-8")), "utf-8")
