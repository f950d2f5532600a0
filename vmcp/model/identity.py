"""Who calls, and for whom a backend's lists hold."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


@dataclass(frozen=True, slots=True)
class Caller:
    """An authenticated caller: who vouches for it, and its name there."""

    issuer: str
    subject: str


class Everybody(Enum):
    """The audience of an inventory that does not depend on who asks."""

    EVERYBODY = "everybody"


EVERYBODY = Everybody.EVERYBODY
Audience = Everybody | Caller

# One value for all who come without credentials: they share nothing but what is public.
ANONYMOUS = Caller(issuer="", subject="")
