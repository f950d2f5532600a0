"""Why a call cannot be answered: one table of error classes with their JSON-RPC codes and HTTP statuses."""

from __future__ import annotations

import json
from collections.abc import Mapping

import msgspec

from vmcp.model.health import Stage
from vmcp.protocol.document import quote

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
HEADER_MISMATCH = -32020
MISSING_CAPABILITY = -32021
UNSUPPORTED_VERSION = -32022


class Failure(Exception):
    """A request that gets a JSON-RPC error; `status` is the HTTP status where both eras agree on one.

    `data` is what goes into the error's `data` member, or None. Nothing in it may be secret.
    """

    code: int = INTERNAL_ERROR
    status: int | None = None

    def __init__(self, message: str, data: Mapping[str, object] | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.data = data

    def payload(self) -> bytes:
        """Return the raw JSON-RPC error object."""
        data = b"" if self.data is None else b',"data":' + _json(self.data)
        return b'{"code":%d,"message":%b%b}' % (self.code, quote(self.message), data)


def _json(value: Mapping[str, object]) -> bytes:
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        # A lone surrogate that the client wrote as an escape.
        return json.dumps(value).encode()


class Unparsable(Failure):
    """The body is not JSON."""

    code = PARSE_ERROR
    status = 400


class InvalidRequest(Failure):
    """The body is JSON, but no request that we may read in only one way."""

    code = INVALID_REQUEST
    status = 400


class SessionRequired(InvalidRequest):
    """A sessioned request without a session."""


class SessionUnknown(InvalidRequest):
    """A session that never was or has ended."""

    status = 404


class InvalidParams(Failure):
    """The params lack something or name something unknown."""

    code = INVALID_PARAMS


class StateExpired(InvalidParams):
    """A requestState that is too old, or belongs to another request; its status lets SDK clients read it."""

    status = 200

    def __init__(self, message: str) -> None:
        super().__init__(message, {"reason": "RequestStateExpired"})


class UnknownName(InvalidParams):
    """No such tool, prompt or resource for this caller: unknown, hidden and denied look the same."""


class IncompleteMeta(InvalidParams):
    """A stateless request without the `_meta` fields that each must carry."""

    status = 400


class UnknownMethod(Failure):
    """No such method."""

    code = METHOD_NOT_FOUND


class HeaderMismatch(Failure):
    """A header is missing or says something other than the body."""

    code = HEADER_MISMATCH
    status = 400


class CapabilityMissing(Failure):
    """The call needs a capability that the client did not declare."""

    code = MISSING_CAPABILITY


class UnsupportedVersion(Failure):
    """A protocol revision that we do not serve."""

    code = UNSUPPORTED_VERSION
    status = 400


class BackendFailed(Failure):
    """A backend could not be reached or did not answer as it must; named by its public name, never its URL.

    `reason` is CamelCase: Unreachable, TimedOut, Overloaded, InvalidAnswer, TooLarge, Rejected, SessionLost.
    """

    def __init__(self, backend: str, reason: str, message: str, **data: object) -> None:
        super().__init__(
            f"Backend '{backend}': {message}", {"backend": backend, "reason": reason, **data}
        )
        self.backend = backend
        self.reason = reason
        # What was being done; None where whoever raised it does not know.
        self.stage: Stage | None = None
        seconds = data.get("retryAfterSeconds")
        # Zero where the backend did not say.
        self.retry_after_seconds = seconds if isinstance(seconds, int) else 0


class BackendsUnhealthy(Failure):
    """Something is wanted of all backends while some of them fail, and the rules say that a part will not do."""

    status = 200

    def __init__(self, backends: list[str]) -> None:
        super().__init__(
            f"Backends that are unhealthy: {', '.join(backends)}.",
            {"reason": "BackendsUnhealthy", "backends": backends},
        )


class Stopping(Failure):
    """The gateway stops, and has waited for a call for as long as it may."""

    status = 200

    def __init__(self) -> None:
        message = "The gateway stops before the backend has answered: the call was cut off."
        super().__init__(message, {"reason": "Stopping"})


class Refusal(Failure):
    """A backend's own JSON-RPC error to something that we asked on a client's behalf."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


# 2026-07-28, "Error codes": the status of an answer that consists of an error alone.
STATELESS_STATUS: Mapping[int, int] = {
    PARSE_ERROR: 400,
    INVALID_REQUEST: 400,
    METHOD_NOT_FOUND: 404,
    INVALID_PARAMS: 400,
    HEADER_MISMATCH: 400,
    MISSING_CAPABILITY: 400,
    UNSUPPORTED_VERSION: 400,
}
