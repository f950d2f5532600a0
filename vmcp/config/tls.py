"""The section `server.tls`: the certificate with which the gateway serves its clients."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from vmcp.config.references import FilePath, key_read_by, no_complaint, read_by
from vmcp.config.section import Section

_CertificatePath = Annotated[
    FilePath, read_by(lambda outside, path: outside.certificate_file(path), no_complaint)
]
_KeyPath = Annotated[
    FilePath, key_read_by(lambda outside, path, certificate: outside.key_file(path, certificate))
]


class TlsSettings(Section):
    """The certificate of the gateway. Both files are read anew when they change; open connections go on."""

    cert_file: _CertificatePath = Field(
        description="The PEM file of the certificate, followed by those that signed it, but for the root."
    )
    key_file: _KeyPath = Field(
        description="The PEM file of its private key, which is not encrypted."
    )
