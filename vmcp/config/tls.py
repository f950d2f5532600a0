"""The section `server.tls`: the certificate with which the gateway serves its clients."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, Field, ValidationInfo

from vmcp.config.references import FilePath, Outside, judge, no_complaint
from vmcp.config.section import Section


def _certificate_path(path: str, validation: ValidationInfo) -> str:
    outside: Outside | None = validation.context
    if outside is not None:
        judge(outside.certificate_file, path, no_complaint, f"The file {path}")
    return path


def _key_path(path: str, validation: ValidationInfo) -> str:
    outside: Outside | None = validation.context
    if outside is not None:
        # A certificate that is wrong itself is told of at its own place.
        certificate = validation.data.get("cert_file")

        def read(name: str) -> str:
            return outside.key_file(name, certificate)

        judge(read, path, no_complaint, f"The file {path}")
    return path


class TlsSettings(Section):
    """The certificate of the gateway. Both files are read anew when they change; open connections go on."""

    cert_file: Annotated[FilePath, AfterValidator(_certificate_path)] = Field(
        description="The PEM file of the certificate, followed by those that signed it, but for the root."
    )
    key_file: Annotated[FilePath, AfterValidator(_key_path)] = Field(
        description="The PEM file of its private key, which is not encrypted."
    )
