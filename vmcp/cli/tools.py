"""`vmcp tools`: the tools of a running server."""

from __future__ import annotations

from vmcp.cli.output import TableFormat
from vmcp.cli.target import (
    DEFAULT_URL,
    LIST_SECONDS,
    CaFile,
    ChosenEra,
    EraChoice,
    Headers,
    PrintedList,
    Seconds,
    Url,
    aim,
)


def tools(
    *,
    url: Url = DEFAULT_URL,
    era: ChosenEra = EraChoice.AUTO,
    timeout: Seconds = LIST_SECONDS,
    header: Headers = None,
    ca_file: CaFile = None,
    printed: PrintedList = TableFormat.TABLE,
) -> None:
    """List the tools of a running server."""
    target = aim(url, era, timeout, header, ca_file)
    from vmcp.cli import listing

    listing.show(target, listing.tools, printed)
