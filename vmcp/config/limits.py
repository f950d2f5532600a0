"""The section `server.limits`: how much of the gateway all clients together, and one of them, may take."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated

from pydantic import Field

from vmcp.config.faults import Fault
from vmcp.config.section import Section
from vmcp.config.values import Whole

CONNECTIONS = 20_000
PER_CLIENT = 5_000

Number = Annotated[Whole, Field(ge=1, le=1_000_000)]


class LimitSettings(Section):
    """What is refused with 503 and Retry-After, so that the rest is served."""

    connections: Number = Field(
        default=CONNECTIONS, description="The most connections of clients at once."
    )
    connections_per_client: Number = Field(
        default=PER_CLIENT,
        description=(
            "The most connections of one address at once, or of one /64 network in IPv6. The addresses in "
            "`trustedProxies` stand for many clients and are not counted so. At most `connections`."
        ),
    )
    requests: Number = Field(
        default=5_000,
        description=(
            "The most requests under way at once, all backends together; streams that only wait for news "
            "do not count."
        ),
    )

    @classmethod
    def faults(cls, given: Mapping[str, object]) -> Iterator[Fault]:
        """Refuse more connections for one client than there are."""
        every, one = given.get("connections", CONNECTIONS), given.get("connectionsPerClient")
        if isinstance(every, int) and isinstance(one, int) and one > every:
            yield Fault(
                ("connectionsPerClient",),
                "Is more than all clients together may have.",
                found=str(one),
                allowed=f"at most {every}",
            )
