"""The ways in which a gateway knows its clients: as nobody in particular, or by API keys."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import assert_never

from vmcp.auth.keyring import Keyring
from vmcp.config.keysfile import MAX_KEY_LENGTH
from vmcp.model.apikey import ApiKey
from vmcp.model.identity import ANONYMOUS, Caller

CHALLENGE = 'Bearer realm="vmcp"'

_BEARER = "bearer "


class Unauthenticated(Exception):
    """A request brings no credential that is known; nothing tells what is wrong with it."""


@dataclass(frozen=True, slots=True)
class Anonymous:
    """Everybody may come in."""


@dataclass(frozen=True, slots=True)
class ByApiKey:
    """Who brings one of these keys may come in."""

    keyring: Keyring


IncomingAuth = Anonymous | ByApiKey


def by_api_key(keys: tuple[ApiKey, ...]) -> ByApiKey:
    """Return the way in for those who bring one of the keys."""
    return ByApiKey(Keyring(keys))


def authenticate(auth: IncomingAuth, headers: Mapping[str, str]) -> Caller:
    """Return who calls; raise Unauthenticated."""
    match auth:
        case Anonymous():
            return ANONYMOUS
        case ByApiKey():
            caller = auth.keyring.caller(_key(headers))
            if caller is None:
                raise Unauthenticated
            return caller
        case _:
            assert_never(auth)


def lost(before: IncomingAuth, now: IncomingAuth) -> frozenset[Caller]:
    """Return the callers who came in by something that is not accepted any more.

    One who has lost one of several keys is among them: nobody knows which key a stream was opened with.
    """
    if before == now:
        return frozenset()
    match before:
        case Anonymous():
            return frozenset((ANONYMOUS,))
        case ByApiKey():
            kept = now.keyring.keys if isinstance(now, ByApiKey) else ()
            return before.keyring.callers_without(kept)
        case _:
            assert_never(before)


def _key(headers: Mapping[str, str]) -> str:
    """Return the key that a request brings, an empty text for none."""
    authorization = headers.get("authorization", "")
    if authorization[: len(_BEARER)].lower() == _BEARER:
        key = authorization[len(_BEARER) :].strip()
    else:
        key = headers.get("x-api-key", "")
    # No key is so long: it is not worth a hash.
    return key if len(key) <= MAX_KEY_LENGTH else ""
