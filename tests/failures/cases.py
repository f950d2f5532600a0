"""What a line of the failure matrix says: the trouble, who sees what of it and when, and how it heals."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from tests.failures.sites import Site

# What the campaign sets in its config, so that its waits are short.
CALL_SECONDS = 1.0


class Back(Enum):
    """The era of a backend and how it is reached."""

    HTTP_SESSIONED = ("HTTP", "sessioned")
    HTTP_STATELESS = ("HTTP", "stateless")
    STDIO_SESSIONED = ("stdio", "sessioned")
    STDIO_STATELESS = ("stdio", "stateless")
    SSE = ("HTTP+SSE", "sessioned")

    @property
    def era(self) -> str:
        """The era."""
        return self.value[1]

    @property
    def label(self) -> str:
        """A name for ids of tests and names of backends."""
        return "-".join(self.value).lower().replace("+", "-")


HTTP = (Back.HTTP_SESSIONED, Back.HTTP_STATELESS)
STDIO = (Back.STDIO_SESSIONED, Back.STDIO_STATELESS)
SESSIONED_HTTP = (Back.HTTP_SESSIONED,)
SSE = (Back.SSE,)
BOTH = HTTP + STDIO


class Since(Enum):
    """When the trouble begins."""

    START = "from the start"
    LATER = "later"


@dataclass(frozen=True, slots=True)
class Within:
    """How long something takes: the words for people, and the seconds in the campaign's config."""

    words: str
    seconds: float


AT_ONCE = Within("at once", 0.0)
TIMEOUT = Within("`timeouts` (30 s)", CALL_SECONDS)
CONNECTING = Within("4 s", 4.0)
OPENING = Within("15 s", 15.0)
# The check, or an opening where it has lost the connection that was there before.
CHECK = Within("with the next check", 16.0)
PAGES = Within("after 100 pages", 10.0)


@dataclass(frozen=True, slots=True)
class Fails:
    """A call ends with error -32603, `data.backend` and this `data.reason`."""

    reason: str
    within: Within = AT_ONCE
    retry_after_seconds: int | None = None

    @property
    def words(self) -> str:
        """What stands in the table."""
        wait = self.retry_after_seconds
        more = "" if wait is None else f", `retryAfterSeconds` {wait}"
        return f"-32603, `{self.reason}`{more}"


@dataclass(frozen=True, slots=True)
class Missing:
    """Its tools are not listed, those of others are; nothing waits for it."""

    within: Within = AT_ONCE
    words: str = "the lists without its tools"


@dataclass(frozen=True, slots=True)
class Served:
    """The call is answered rightly all the same."""

    within: Within = AT_ONCE
    words: str = "the right answer"


Seen = Fails | Missing | Served


FAILING = "failing"
# The first request is `discover`, or `initialize` where the backend is known to be of the sessioned era.
GREETING = "discover` or `initialize"


@dataclass(frozen=True, slots=True)
class Told:
    """What /status says: the state, and reason and stage of the last failure where there is one.

    `failing` is degraded at first, and unhealthy once the threshold is passed.
    """

    state: str
    reason: str | None = None
    stage: str | None = None
    within: Within = AT_ONCE

    @property
    def words(self) -> str:
        """What stands in the table."""
        state = "`degraded`, then `unhealthy`" if self.state == FAILING else f"`{self.state}`"
        if self.reason is None:
            return state
        return f"{state}; last failure `{self.stage}`, `{self.reason}`"


@dataclass(frozen=True, slots=True)
class Case:
    """One line: what happens at `phase`, since when, at which backends, and what comes of it."""

    name: str
    phase: str
    what: str
    make: Callable[[str], Site]
    sees: Seen
    told: Told
    heals: str
    backs: tuple[Back, ...] = HTTP
    since: Since = Since.LATER
    # Large bodies come one after the other, so that the memory of each can be measured.
    is_large: bool = False
    # It hits while a call of this tool is under way.
    struck: str | None = None

    @property
    def slug(self) -> str:
        """The name of its backends."""
        return "".join(char if char.isalnum() else "-" for char in self.name.lower())
