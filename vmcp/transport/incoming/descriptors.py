"""How many files and sockets the process may have open."""

from __future__ import annotations

import resource

_ENOUGH = 2**17


def raised() -> int:
    """Raise the limit as far as the system lets us, and return it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _ENOUGH if hard == resource.RLIM_INFINITY else min(hard, _ENOUGH)
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return min(soft, _ENOUGH) if soft > 0 else _ENOUGH
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    except (OSError, ValueError):
        return soft
    return wanted
