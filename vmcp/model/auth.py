"""How we authenticate to a backend: a closed union of specs."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from vmcp.model.secret import Secret


@dataclass(frozen=True, slots=True)
class NoAuth:
    """Send no credential."""


@dataclass(frozen=True, slots=True)
class HeaderInjection:
    """Send one header with a secret value."""

    header: str
    value: Secret


@dataclass(frozen=True, slots=True)
class BearerToken:
    """Send `Authorization: Bearer <token>`."""

    token: Secret


AuthSpec = NoAuth | HeaderInjection | BearerToken

NO_AUTH = NoAuth()


class AuthOrigin(Enum):
    """Who decided how we authenticate to a backend, in the words of /status."""

    OWN = "own reference"
    TABLE = "per-backend table"
    DEFAULT = "default"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class AuthDecision:
    """Who decided on the auth of a backend, and the object that was named, if one was."""

    origin: AuthOrigin
    config: str | None = None


UNDECIDED = AuthDecision(AuthOrigin.NONE)
