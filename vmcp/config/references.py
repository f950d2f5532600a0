"""What a config file refers to outside itself: environment variables, files, folders.

The schema only asks; who reads is handed in as the context of a validation.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Protocol

from pydantic import AfterValidator, BeforeValidator, Field, PlainValidator, ValidationInfo

from vmcp.config import pem
from vmcp.config.faults import fault, kind
from vmcp.config.values import FilledText, Text, checked_text
from vmcp.model.secret import Secret

Complaint = Callable[[str], str | None]

VARIABLE_PATTERN = r"^[A-Za-z_][A-Za-z0-9_]*$"
_MIN_SEAL_KEY_LENGTH = 32
# What names and paths usually look like; any other text may be the secret itself, put in the wrong place.
_USUAL_NAME = re.compile(r"_?[A-Z]{1,24}[0-9]{0,3}(_[A-Z]{0,24}[0-9]{0,3})*")
_USUAL_PATH = re.compile(r"\.{0,2}/[^\n]*|[^\n]+\.[a-z]{1,5}")


class Unreadable(Exception):
    """Something that the file refers to cannot be read; the wording says what and why."""


class Outside(Protocol):
    """What a config file refers to, as the `context` of a validation; methods raise Unreadable.

    Without one, references are checked for their form alone.
    """

    def variable(self, name: str) -> str:
        """Return the value of an environment variable."""
        ...

    def secret_file(self, path: str) -> str:
        """Return the secret that a file holds."""
        ...

    def bundle_file(self, path: str) -> str:
        """Return the normalised certificates of a file."""
        ...

    def certificate_file(self, path: str) -> str:
        """Return the chain of certificates that a file holds to serve with."""
        ...

    def key_file(self, path: str, certificate: str | None) -> str:
        """Return the private key in a file, which belongs to the certificate in another one if that is known."""
        ...

    def keys_file(self, path: str) -> str:
        """Return the text of a file that lists API keys."""
        ...

    def client_chain_file(self, path: str) -> str:
        """Return the normalised chain of certificates that a file holds to show to a backend."""
        ...

    def client_key_file(self, path: str, certificate: str | None) -> str:
        """Return the private key in a file, which belongs to the certificate in another one if that is known."""
        ...

    def folder(self, path: str) -> str:
        """Return the path of a folder that exists."""
        ...


@dataclass(frozen=True, slots=True)
class FromEnv:
    """A secret lies in an environment variable."""

    name: str


@dataclass(frozen=True, slots=True)
class FromFile:
    """A secret lies in a file, named as the config names it."""

    path: str


SecretOrigin = Secret | FromEnv | FromFile


def _variable_name(value: str) -> str:
    # What is no name may be the secret itself, put in the wrong place.
    if re.fullmatch(VARIABLE_PATTERN, value) is None:
        raise fault(
            "Is not the name of an environment variable.",
            found=kind(value),
            allowed="letters, digits and '_', with no digit first",
        )
    return value


VariableName = Annotated[
    Text, AfterValidator(_variable_name), Field(json_schema_extra={"pattern": VARIABLE_PATTERN})
]


def _variable_map(value: object) -> object:
    """Refuse all bad names as one, without showing them: such a name may hold the value."""
    if not isinstance(value, Mapping):
        raise fault("Must be a mapping of variable names to values.", found=kind(value))
    bad = [key for key in value if re.fullmatch(VARIABLE_PATTERN, key) is None]
    if bad:
        raise fault(
            "Holds keys that are no names of environment variables.",
            found=f"{len(bad)} (not shown)",
            allowed="letters, digits and '_', with no digit first",
        )
    return value


by_variable = BeforeValidator(_variable_map)


def secret(value: object, complaint: Complaint) -> Secret:
    """Return a text as a Secret; a fault shows nothing of it."""
    if not isinstance(value, str):
        is_number = isinstance(value, bool | int | float)
        raise fault(
            "Must be text.",
            found=kind(value),
            suggestion="Put it in quotes." if is_number else None,
        )
    if (wrong := complaint(checked_text(value))) is not None:
        raise fault(f"The value {wrong}.", found=kind(value))
    return Secret(value)


def hidden(complaint: Complaint) -> PlainValidator:
    """Return a validator that turns a text into a Secret."""
    return PlainValidator(lambda value: secret(value, complaint), json_schema_input_type=str)


def no_complaint(value: str) -> str | None:  # noqa: ARG001
    """Take every text."""
    return None


def env_complaint(value: str) -> str | None:
    """Return what is wrong with a secret for a child's environment, None if nothing is."""
    return None if value else "is empty"


def variable_text(name: str) -> str:
    """Return how a message tells of a variable that there is not."""
    return _told("The environment variable", name, _USUAL_NAME)


def file_text(path: str) -> str:
    """Return how a message tells of a file that there is not."""
    return _told("The file", path, _USUAL_PATH)


def _told(what: str, name: str, usual: re.Pattern[str]) -> str:
    return f"{what} {name}" if usual.fullmatch(name) else f"{what} that it names (not shown)"


def origin(inline: Secret | None, name: str | None, path: str | None) -> SecretOrigin:
    """Return the one origin that is given."""
    if inline is not None:
        return inline
    return FromEnv(name) if name is not None else FromFile(path or "")


def seal_key_complaint(value: str) -> str | None:
    """Return what is wrong with a key for seals, None if nothing is."""
    is_short = len(value) < _MIN_SEAL_KEY_LENGTH
    return f"is shorter than {_MIN_SEAL_KEY_LENGTH} characters" if is_short else None


def variable(complaint: Complaint) -> AfterValidator:
    """Return a validator of a variable's name that also reads the variable."""

    def check(name: str, validation: ValidationInfo) -> str:
        outside: Outside | None = validation.context
        if outside is not None:
            _judge(outside.variable, name, complaint, f"The environment variable {name}")
        return name

    return AfterValidator(check)


def secret_file(complaint: Complaint) -> AfterValidator:
    """Return a validator of a file's path that also reads the secret in it."""
    return read_by(lambda outside, path: outside.secret_file(path), complaint)


def read_by(read: Callable[[Outside, str], str], complaint: Complaint) -> AfterValidator:
    """Return a validator of a path that also reads what it leads to."""

    def check(path: str, validation: ValidationInfo) -> str:
        outside: Outside | None = validation.context
        if outside is not None:
            _judge(partial(read, outside), path, complaint, f"The file {path}")
        return path

    return AfterValidator(check)


def key_read_by(read: Callable[[Outside, str, str | None], str]) -> AfterValidator:
    """Return a validator of a key's path that also reads the key; its section has a `cert_file` before it."""

    def check(path: str, validation: ValidationInfo) -> str:
        outside: Outside | None = validation.context
        if outside is not None:
            # A certificate that is wrong itself is told of at its own place.
            certificate = validation.data.get("cert_file")
            _judge(
                lambda name: read(outside, name, certificate),
                path,
                no_complaint,
                f"The file {path}",
            )
        return path

    return AfterValidator(check)


def _judge(read: Callable[[str], str], name: str, complaint: Complaint, subject: str) -> None:
    """Read what a name leads to; raise the fault that it cannot be read, or what the complaint says."""
    try:
        wrong = complaint(checked_text(read(name)))
    except Unreadable as error:
        raise fault(str(error)) from None
    if wrong is not None:
        raise fault(f"{subject} {wrong}.")


def _bundle(text: str) -> str:
    try:
        return pem.normalised(text)
    except pem.BundleInvalid as error:
        raise fault(f"The inline data {error}.", allowed="PEM certificates") from None


FilePath = FilledText
BundlePath = Annotated[
    FilledText, read_by(lambda outside, path: outside.bundle_file(path), no_complaint)
]
FolderPath = Annotated[
    FilledText, read_by(lambda outside, path: outside.folder(path), no_complaint)
]
Bundle = Annotated[Text, AfterValidator(_bundle)]
