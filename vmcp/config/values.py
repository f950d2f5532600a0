"""The kinds of single values in the config file, each with its check and its JSON Schema."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, get_args
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    PlainValidator,
    Strict,
    WithJsonSchema,
)

from vmcp.config import durations, headers
from vmcp.config.faults import fault, is_showable_key, kind, listing, near, shown

NAME_PATTERN = r"^[a-zA-Z0-9][-a-zA-Z0-9_.]{0,62}$"
_URL_PATTERN = r"^[hH][tT][tT][pP][sS]?://[^/?#@]+([/?][^#]*)?$"
_MAX_DURATION_SECONDS = 24 * 3600.0


def checked_text(value: str) -> str:
    """Refuse what no operating system and no protocol takes as text."""
    if "\0" in value:
        raise fault("Holds a NUL character.")
    if any("\ud800" <= character <= "\udfff" for character in value):
        raise fault("Holds half of a surrogate pair.")
    return value


def _filled(value: str) -> str:
    if not value.strip():
        raise fault("Is empty.", found="an empty text")
    return value


Flag = Annotated[bool, Strict()]
Whole = Annotated[int, Strict()]
Text = Annotated[str, Strict(), AfterValidator(checked_text)]
FilledText = Annotated[Text, AfterValidator(_filled), Field(json_schema_extra={"minLength": 1})]
Port = Annotated[Whole, Field(ge=0, le=65535)]


def choice(literal: Any, *, later: tuple[str, ...] = ()) -> BeforeValidator:
    """Return a validator for a Literal; `later` are values that are known, but not implemented."""
    allowed: tuple[str, ...] = get_args(literal)

    def check(value: object) -> object:
        if value in allowed:
            return value
        if value in later:
            raise fault(
                "This value is known, but not implemented in this version.",
                found=shown(value),
                allowed=listing(allowed),
            )
        raise fault(
            "Is none of the allowed values.",
            found=shown(value),
            allowed=listing(allowed),
            suggestion=near(value, allowed),
        )

    return BeforeValidator(check)


def _name(value: str) -> str:
    if re.fullmatch(NAME_PATTERN, value) is None:
        raise fault(
            "Is not a name.",
            found=shown(value),
            allowed="at most 63 letters, digits, '-', '_' and '.', with a letter or a digit first",
        )
    return value


Name = Annotated[Text, AfterValidator(_name), Field(json_schema_extra={"pattern": NAME_PATTERN})]


def _url(value: str) -> str:
    # The value is never shown: paths and queries of URLs hold tokens often enough.
    if (complaint := url_complaint(value)) is not None:
        raise fault(
            complaint,
            found=kind(value),
            allowed="an absolute http or https URL without credentials and fragment",
        )
    return value


def url_complaint(value: str) -> str | None:
    """Return what is wrong with the URL of a backend without repeating it; None if nothing is."""
    if not value.isascii() or not value.isprintable() or " " in value:
        return "Holds characters that must be percent-encoded."
    try:
        parts = urlsplit(value)
        is_whole = bool(parts.hostname) and parts.port != 0
    except ValueError:
        return "Is not a URL."
    if parts.scheme not in ("http", "https") or "://" not in value:
        return "Does not begin with http:// or https://."
    if "@" in parts.netloc:
        return "Holds credentials; they belong in outgoingAuth."
    if "#" in value:
        return "Holds a fragment."
    return None if is_whole else "Has no host, or the port 0."


Url = Annotated[
    Text,
    AfterValidator(_url),
    Field(json_schema_extra={"pattern": _URL_PATTERN}),
]


def _duration(value: object) -> float:
    allowed = "a duration such as 500ms, 45s or 1m30s, above 0 and at most 24h"
    if not isinstance(value, str):
        raise fault("Is not a duration.", found=shown(value), allowed=allowed)
    try:
        found = durations.seconds(value)
    except ValueError:
        raise fault("Is not a duration.", found=shown(value), allowed=allowed) from None
    if not 0 < found <= _MAX_DURATION_SECONDS:
        raise fault("Is out of range.", found=shown(value), allowed=allowed)
    return found


Duration = Annotated[
    float,
    PlainValidator(_duration),
    WithJsonSchema({"type": "string", "pattern": durations.PATTERN}),
]


def _header_name(value: str) -> str:
    if not headers.is_token(value):
        raise fault(
            "Is not the name of a header.",
            found=shown(value) if is_showable_key(value) else kind(value),
            allowed="letters, digits and -!#$%&'*+.^_`|~",
        )
    if headers.is_reserved(value):
        raise fault(
            "Is a header that the gateway writes itself or never sends.",
            found=shown(value),
            allowed=headers.RESERVED_TEXT,
        )
    return value


def _passed_header_name(value: str) -> str:
    if value.lower() == "authorization":
        raise fault(
            "Is a credential of the caller for this gateway and never passed on.",
            found=shown(value),
            suggestion="Give the backend a credential of its own in outgoingAuth.",
        )
    return value


HeaderName = Annotated[
    Text, AfterValidator(_header_name), Field(json_schema_extra={"pattern": headers.NAME_PATTERN})
]
PassedHeaderName = Annotated[HeaderName, AfterValidator(_passed_header_name)]


def _header_map(value: object) -> object:
    """Refuse all bad names as one, without showing them: such a name may hold the value."""
    if not isinstance(value, Mapping):
        raise fault("Must be a mapping of header names to values.", found=kind(value))
    bad = [key for key in value if not headers.is_token(key)]
    if bad:
        raise fault(
            "Holds keys that are no names of headers.",
            found=f"{len(bad)} (not shown)",
            suggestion="Is a space missing behind a colon?",
        )
    reserved = [key for key in value if headers.is_reserved(key)]
    if reserved:
        raise fault(
            "Holds headers that the gateway writes itself or never sends.",
            found=listing(reserved),
            allowed=headers.RESERVED_TEXT,
        )
    return value


by_header = BeforeValidator(_header_map)
