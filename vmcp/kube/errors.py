"""Why a request to the API server did not give what it was to give."""

from __future__ import annotations


class Unreachable(Exception):
    """No answer came, or it broke off; `is_untrusted` where the server's certificate is the reason."""

    def __init__(self, why: str, *, is_untrusted: bool) -> None:
        super().__init__(f"The API server gives no answer: {why}.")
        self.is_untrusted = is_untrusted


class Refused(Exception):
    """The server answered with something else than what was asked for; `status` is that of HTTP."""

    def __init__(self, status: int, reason: str, message: str, *, retry_seconds: float) -> None:
        super().__init__(f"The API server answers {status} {reason}: {message}")
        self.status = status
        self.retry_seconds = retry_seconds


class CannotLogIn(Exception):
    """What is to be known to reach the server, or to be somebody there, is not to be had."""
