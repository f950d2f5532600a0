"""Headers that are sent to a backend with every request."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from vmcp.crd.specs.base import Spec, spec
from vmcp.crd.specs.references import SecretKeyRef
from vmcp.crd.specs.values import Text, TextMap, keyed_by


@spec
class SecretHeader(Spec):
    """A header whose value is secret."""

    header_name: Annotated[Text, Field(min_length=1, max_length=255)] = Field(
        description="The name of the header."
    )
    value_secret_ref: SecretKeyRef = Field(description="The Secret that holds its value.")


@spec
class HeaderForward(Spec):
    """Headers to send, beside those of the outgoing authentication."""

    add_plaintext_headers: TextMap | None = Field(
        default=None,
        description="Names and values. Everybody who may read this object sees the values.",
    )
    add_headers_from_secret: Annotated[tuple[SecretHeader, ...], keyed_by("headerName")] | None = (
        Field(default=None, description="Headers whose values come from Secrets.")
    )
