"""A client that keeps one stream open and lists anew whenever it hears of a change."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

from tests.support.backends import Fake
from tests.support.clients import Answer, Client
from tests.support.gateways import Served
from tests.support.waiting import SECONDS
from vmcp.transport.outgoing.supervised import SupervisedBackend

TOOLS = "notifications/tools/list_changed"


class Onlooker:
    """What one stream tells a client; it is never opened again."""

    def __init__(self, caller: Client, stream: Answer) -> None:
        self.caller = caller
        self.stream = stream

    async def sees(self, *tools: str) -> None:
        """Wait until the stream has told of a change after which exactly these tools are listed."""
        wanted = sorted(tools)
        async with asyncio.timeout(SECONDS):
            await self.stream.heard(TOOLS)
            while await self.caller.tools() != wanted:
                await self.stream.heard(TOOLS)


async def onlooker(caller: Client) -> Onlooker:
    """Open the stream on which a client of either era hears of changes."""
    listen: Any = caller.listen  # type: ignore[attr-defined]
    if hasattr(caller, "initialize"):
        return Onlooker(caller, await listen())
    return Onlooker(caller, await listen("mine", toolsListChanged=True))


@dataclass(frozen=True, slots=True)
class Bystander:
    """A backend that no change concerns: its client, since when it is healthy, what it was asked to open."""

    served: Served
    name: str
    fake: Fake
    client: SupervisedBackend
    since: str
    opened: int

    def assert_untouched(self) -> None:
        """Fail where it was connected, or a session of it opened, anew."""
        assert bystander(self.served, self.name, self.fake) == self


def bystander(served: Served, name: str, fake: Fake) -> Bystander:
    """Return how a backend fares that is served, and that is to stay as it is."""
    (shown,) = [one for one in served.status()["backends"] if one["name"] == name]
    assert shown["state"] == "healthy", shown
    opened = len(fake.asked("initialize")) + len(fake.asked("subscriptions/listen"))
    return Bystander(served, name, fake, served.client(name), shown["since"], opened)


def reasons(served: Served) -> list[tuple[str, str]]:
    """Return which objects have which problems."""
    return [(one["object"], one["reason"]) for one in served.status()["problems"]]


def names(served: Served) -> list[str]:
    """Return the names of the backends."""
    return [one["name"] for one in served.status()["backends"]]
