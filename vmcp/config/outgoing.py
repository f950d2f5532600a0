"""The sections `outgoingAuth` and its strategies: how the gateway authenticates to backends."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from vmcp.config.faults import Fault
from vmcp.config.headers import token_complaint, value_complaint
from vmcp.config.references import (
    FilePath,
    SecretOrigin,
    VariableName,
    hidden,
    origin,
    secret_file,
    variable,
)
from vmcp.config.section import Section
from vmcp.config.values import HeaderName, choice
from vmcp.model.secret import Secret

StrategySource = Literal["inline", "discovered"]
StrategyType = Literal["unauthenticated", "header_injection", "bearer_token"]
LATER_STRATEGIES = (
    "token_exchange",
    "upstream_inject",
    "aws_sts",
    "xaa",
    "obo",
    "embedded_auth_server",
)

# The key that holds the settings of a strategy, for those that have settings.
_KEYS: Mapping[str, str] = {
    "header_injection": "headerInjection",
    "bearer_token": "bearerToken",
}


class HeaderInjectionSettings(Section):
    """One header with a secret value, sent with each request to the backend."""

    holds_secrets: ClassVar[bool] = True
    exactly_one: ClassVar[tuple[str, ...]] = (
        "headerValue",
        "headerValueEnv",
        "headerValueFile",
    )

    header_name: HeaderName = Field(description="The name of the header.")
    header_value: Annotated[Secret, hidden(value_complaint)] | None = Field(
        default=None, description="Its value, in the file itself."
    )
    header_value_env: Annotated[VariableName, variable(value_complaint)] | None = Field(
        default=None, description="The environment variable that holds its value."
    )
    header_value_file: Annotated[FilePath, secret_file(value_complaint)] | None = Field(
        default=None, description="The file that holds its value."
    )

    @property
    def origin(self) -> SecretOrigin:
        """Where the value comes from."""
        return origin(self.header_value, self.header_value_env, self.header_value_file)


class BearerTokenSettings(Section):
    """A token that is sent as `Authorization: Bearer <token>`."""

    holds_secrets: ClassVar[bool] = True
    exactly_one: ClassVar[tuple[str, ...]] = ("tokenEnv", "tokenFile")

    token_env: Annotated[VariableName, variable(token_complaint)] | None = Field(
        default=None, description="The environment variable that holds the token."
    )
    token_file: Annotated[FilePath, secret_file(token_complaint)] | None = Field(
        default=None, description="The file that holds the token."
    )

    @property
    def origin(self) -> SecretOrigin:
        """Where the token comes from."""
        return origin(None, self.token_env, self.token_file)


class StrategySettings(Section):
    """One way to authenticate to a backend: a type, and the settings that belong to it."""

    later: ClassVar[frozenset[str]] = frozenset(
        {"tokenExchange", "upstreamInject", "awsSts", "xaa", "obo", "embeddedAuthServer"}
    )

    type: Annotated[
        StrategyType,
        choice(StrategyType, later=LATER_STRATEGIES),
    ] = Field(description="The kind of credential.")
    header_injection: HeaderInjectionSettings | None = Field(
        default=None, description="The settings of type `header_injection`."
    )
    bearer_token: BearerTokenSettings | None = Field(
        default=None, description="The settings of type `bearer_token`."
    )

    @classmethod
    def faults(cls, given: Mapping[str, object]) -> Iterator[Fault]:
        """Demand the settings of the type, and no others."""
        wanted = _KEYS.get(str(given.get("type")))
        if wanted and wanted not in given:
            yield Fault((), f"The type {given['type']} needs the key {wanted}.")
        for key in _KEYS.values():
            if key in given and key != wanted and given.get("type") in (*_KEYS, "unauthenticated"):
                yield Fault((key,), f"Has no effect with the type {given['type']}.")


class OutgoingAuthSettings(Section):
    """The credentials that backends get; a client's own credentials never reach them."""

    source: Annotated[StrategySource, choice(StrategySource)] = Field(
        default="inline",
        description=(
            "Where the strategies are written: `inline` is here, `discovered` in custom resources, "
            "which is what holds with `--kubernetes` and `--manifests`."
        ),
    )
    default: StrategySettings | None = Field(
        default=None,
        description="The strategy of HTTP backends that `backends` does not name; none if absent.",
    )
    backends: Mapping[str, StrategySettings] = Field(
        default={}, description="The strategies of single backends, by the names of the backends."
    )
