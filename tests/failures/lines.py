"""How lines of the matrix are written: the backends that are in trouble in the usual ways, and how they heal."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tests.failures.cases import (
    Case,
    Fails,
    Served,
    Told,
)
from tests.failures.sites import (
    ChildSite,
    HttpSite,
    Site,
    TlsSite,
    TrustedLater,
)
from tests.net.certificates import authority, identity
from tests.support.scripted import Script

NEXT_ATTEMPT = "at the next attempt to connect, 1 s to 60 s later"
NEXT_CALL = "with the next call"
NOTHING = "nothing to heal"

CALL, LIST = "tools/call", "tools/list"


def answers(*methods: str, by: Script, times: int | None = None) -> Callable[[str], Site]:
    """Return what makes a backend that gives one answer to these methods."""
    script: Mapping[str, Script] = dict.fromkeys(methods, by)
    return lambda era: HttpSite(era, script, times=times)


def greets(by: Script) -> Callable[[str], Site]:
    """Return what makes a backend that gives one answer to the first request of its era."""
    return answers("initialize", "server/discover", by=by)


def child(mode: str) -> Callable[[str], Site]:
    """Return what makes a child process that behaves like this."""
    return lambda era: ChildSite(era, mode)


def shows(
    *, days: int = 30, name: str = "127.0.0.1", authority_name: str = "root"
) -> Callable[[str], Site]:
    """Return what makes a backend that shows another certificate than it should."""

    def make(era: str) -> Site:
        trusted = authority("root")
        bad = identity(name, signer=authority(authority_name), days=days)
        return TlsSite(era, identity("127.0.0.1", signer=trusted), bad, trusted)

    return make


def trusts_later(era: str) -> Site:
    """Make a backend whose authority is another one, which a file then holds in place of the old one."""
    old, new = authority("root"), authority("another root")
    good, bad = (identity("127.0.0.1", signer=each, days=30) for each in (old, new))
    return TrustedLater(era, good, bad, old, new)


def mute_in_tls(era: str) -> Site:
    """Make a backend that takes connections and says nothing of TLS."""
    trusted = authority("root")
    return TlsSite(era, identity("127.0.0.1", signer=trusted), None, trusted)


def calling(
    name: str,
    what: str,
    by: Script,
    sees: Fails | Served,
    *,
    is_large: bool = False,
) -> Case:
    """Return a line about the answer to a call."""
    shown = Told("healthy", sees.reason, "call") if isinstance(sees, Fails) else Told("healthy")
    heals = NEXT_CALL if isinstance(sees, Fails) else NOTHING
    make = answers(CALL, by=by)
    return Case(name, "call", what, make, sees, shown, heals, is_large=is_large)
