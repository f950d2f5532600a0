"""The section `backends`: the MCP servers behind the gateway, and how each is reached."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, ClassVar, Literal

from pydantic import Field, PlainValidator, ValidationInfo

from vmcp.config.faults import Fault, listing
from vmcp.config.headers import value_complaint
from vmcp.config.raw import mapping, sequence
from vmcp.config.references import (
    Bundle,
    BundlePath,
    FilePath,
    FolderPath,
    SecretOrigin,
    VariableName,
    by_variable,
    env_complaint,
    hidden,
    key_read_by,
    no_complaint,
    origin,
    read_by,
    secret,
    secret_file,
    variable,
)
from vmcp.config.section import Section, is_given
from vmcp.config.values import FilledText, HeaderName, Name, Text, Url, by_header, choice
from vmcp.model.backend import SessionScope
from vmcp.model.secret import Secret

Transport = Literal["streamable-http", "sse", "stdio"]

_OF_HTTP = ("caBundle", "caBundlePath", "clientCert", "headerForward", "sessionScope")


class EnvReference(Section):
    """The value of a child's environment variable, kept outside the config file."""

    holds_secrets: ClassVar[bool] = True
    exactly_one: ClassVar[tuple[str, ...]] = ("valueEnv", "valueFile")

    value_env: Annotated[VariableName, variable(env_complaint)] | None = Field(
        default=None, description="The environment variable of the gateway that holds the value."
    )
    value_file: Annotated[FilePath, secret_file(env_complaint)] | None = Field(
        default=None, description="The file that holds the value."
    )

    @property
    def origin(self) -> SecretOrigin:
        """Where the value comes from."""
        return origin(None, self.value_env, self.value_file)


def _env_value(given: object, validation: ValidationInfo) -> Secret | EnvReference:
    # The kind decides: a union would tell the faults of both of its sides.
    if isinstance(given, Mapping):
        return EnvReference.model_validate(given, context=validation.context)
    return secret(given, no_complaint)


EnvValue = Annotated[
    Secret | EnvReference, PlainValidator(_env_value, json_schema_input_type=str | EnvReference)
]


class StdioSettings(Section):
    """A command that the gateway starts and speaks to over standard input and output."""

    command: FilledText = Field(description="The program: a name on PATH, or a path.")
    args: tuple[Text, ...] = Field(default=(), repr=False, description="Its arguments.")
    env: Annotated[Mapping[str, EnvValue], by_variable] = Field(
        default={},
        description=(
            "Its environment beside PATH, HOME, LANG and TMPDIR, by variable: a text, or a mapping "
            "with `valueEnv` or `valueFile` for a secret."
        ),
    )
    cwd: FolderPath | None = Field(
        default=None, description="The folder that it runs in; the gateway's own if absent."
    )


class SecretHeaderSettings(Section):
    """A header whose value is kept outside the config file."""

    holds_secrets: ClassVar[bool] = True
    exactly_one: ClassVar[tuple[str, ...]] = ("valueEnv", "valueFile")

    header_name: HeaderName = Field(description="The name of the header.")
    value_env: Annotated[VariableName, variable(value_complaint)] | None = Field(
        default=None, description="The environment variable that holds its value."
    )
    value_file: Annotated[FilePath, secret_file(value_complaint)] | None = Field(
        default=None, description="The file that holds its value."
    )

    @property
    def origin(self) -> SecretOrigin:
        """Where the value comes from."""
        return origin(None, self.value_env, self.value_file)


class HeaderForwardSettings(Section):
    """Headers that the gateway adds to each request to the backend."""

    add_plaintext_headers: Annotated[
        Mapping[str, Annotated[Secret, hidden(value_complaint)]], by_header
    ] = Field(default={}, description="Values by the names of the headers.")
    add_headers_from_secret: tuple[SecretHeaderSettings, ...] = Field(
        default=(), description="Headers with secret values."
    )

    @classmethod
    def faults(cls, given: Mapping[str, object]) -> Iterator[Fault]:
        """Refuse a header that is named twice, in whatever case."""
        seen: set[str] = set()
        for place, name in header_names(given):
            if name.lower() in seen:
                yield Fault(place, "This header is named twice.", found=repr(name))
            seen.add(name.lower())


def header_names(given: Mapping[str, object]) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """Yield the place and the name of each header in a `headerForward` that may be wrong."""
    for index, entry in enumerate(sequence(given, "addHeadersFromSecret")):
        name = mapping(entry).get("headerName")
        if isinstance(name, str):
            yield ("addHeadersFromSecret", index, "headerName"), name
    for name in mapping(given, "addPlaintextHeaders"):
        yield ("addPlaintextHeaders", name), name


_ChainPath = Annotated[
    FilePath, read_by(lambda outside, path: outside.client_chain_file(path), no_complaint)
]
_KeyPath = Annotated[
    FilePath,
    key_read_by(lambda outside, path, certificate: outside.client_key_file(path, certificate)),
]


class ClientCertSettings(Section):
    """The certificate that is shown to a backend which asks for one. Files that change are read anew."""

    cert_file: _ChainPath = Field(
        description="The PEM file of the certificate, followed by those that signed it, but for the root."
    )
    key_file: _KeyPath = Field(
        description="The PEM file of its private key, which is not encrypted."
    )


class BackendSettings(Section):
    """One MCP server, reached at a URL or started as a command."""

    later: ClassVar[frozenset[str]] = frozenset({"type"})
    exactly_one: ClassVar[tuple[str, ...]] = ("url", "stdio")

    name: Name = Field(description="Its public name, unique in the file.")
    url: Url | None = Field(
        default=None,
        repr=False,
        description="Where it listens: http or https, without credentials and fragment.",
    )
    transport: Annotated[Transport, choice(Transport)] | None = Field(
        default=None,
        description=(
            "How it is spoken to; if absent, `streamable-http` or, with `stdio`, `stdio`. A server "
            "that refuses streamable HTTP is tried with HTTP+SSE; `sse` says to do that at once."
        ),
    )
    stdio: StdioSettings | None = Field(
        default=None, description="The command to start, instead of a `url`."
    )
    ca_bundle: Bundle | None = Field(
        default=None,
        repr=False,
        description="PEM certificates that are trusted beside the system's, in the file itself.",
    )
    ca_bundle_path: BundlePath | None = Field(
        default=None, description="The file that holds such certificates."
    )
    client_cert: ClientCertSettings | None = Field(
        default=None,
        description="Who the gateway says it is where the server asks for a certificate (mutual TLS).",
    )
    header_forward: HeaderForwardSettings | None = Field(
        default=None, description="Headers that are added to each request."
    )
    session_scope: Annotated[SessionScope, choice(SessionScope)] | None = Field(
        default=None,
        description=(
            "Whether anonymous clients without a session get a session of the backend for each "
            "`call`, or all use one that is `shared`; absent: `call`."
        ),
    )
    metadata: Mapping[str, Text] = Field(
        default={}, description="Texts that are shown in /status and have no other effect."
    )

    @classmethod
    def faults(cls, given: Mapping[str, object]) -> Iterator[Fault]:
        """Check that the keys fit the way in which the backend is reached."""
        yield from _transport_faults(given)
        yield from _certificate_faults(given)
        if "stdio" in given and "url" not in given:
            for key in _OF_HTTP:
                if key in given:
                    yield Fault((key,), "Has no effect on a stdio backend.")


def _transport_faults(given: Mapping[str, object]) -> Iterator[Fault]:
    needs = {"stdio": "stdio", "streamable-http": "url", "sse": "url"}
    transport = given.get("transport")
    needed = needs.get(transport) if isinstance(transport, str) else None
    if needed and needed not in given and is_given(given, "stdio", "url"):
        yield Fault(
            ("transport",), f"This transport needs the key {needed}.", found=repr(transport)
        )


def _certificate_faults(given: Mapping[str, object]) -> Iterator[Fault]:
    bundles = [key for key in ("caBundle", "caBundlePath") if key in given]
    if len(bundles) > 1:
        yield Fault((), "Takes only one of several keys.", found=listing(bundles))
    url = given.get("url")
    if isinstance(url, str) and url.lower().startswith("http:"):
        for key in (*bundles, *(key for key in ("clientCert",) if key in given)):
            yield Fault((key,), "Has no effect on an http URL: only https has certificates.")
