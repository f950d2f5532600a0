"""How the gateway authenticates to a backend: who decides, and the credential that comes of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import assert_never

from vmcp.config import headers
from vmcp.crd.specs.exchange import HeaderInjection as InjectionSpec
from vmcp.crd.specs.external_auth import MCPExternalAuthConfigSpec
from vmcp.crd.unfit import Unfit, secret_value
from vmcp.crd.world import AUTH_CONFIG, World
from vmcp.model.auth import (
    NO_AUTH,
    AuthDecision,
    AuthOrigin,
    AuthSpec,
    BearerToken,
    HeaderInjection,
)


@dataclass(frozen=True, slots=True)
class Own:
    """What the backend's own object says; nothing where it says nothing."""


@dataclass(frozen=True, slots=True)
class Named:
    """An MCPExternalAuthConfig; `where` is the field that names it."""

    config: str
    where: str


@dataclass(frozen=True, slots=True)
class Given:
    """A credential that stands in the VirtualMCPServer itself."""

    spec: AuthSpec


Choice = Own | Named | Given | Unfit


@dataclass(frozen=True, slots=True)
class Outgoing:
    """What a gateway says of the auth of all its backends."""

    ignores_own: bool = False
    default: Choice | None = None
    table: Mapping[str, Choice] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Effective:
    """What holds for one backend: None is no credential."""

    choice: Named | Given | Unfit | None
    decision: AuthDecision


def effective(name: str, own: str | None, outgoing: Outgoing) -> Effective:
    """Return whose word on the auth of a backend holds: its own, that of the table, the default."""
    if own is not None and not outgoing.ignores_own:
        return _decided(Named(own, "spec.externalAuthConfigRef"), AuthOrigin.OWN)
    if name in outgoing.table:
        return _decided(outgoing.table[name], AuthOrigin.TABLE)
    if outgoing.default is not None:
        return _decided(outgoing.default, AuthOrigin.DEFAULT)
    return Effective(None, AuthDecision(AuthOrigin.NONE))


def _decided(choice: Choice, origin: AuthOrigin) -> Effective:
    match choice:
        case Own():
            # Its own reference would have come first: there is none, and nothing else stands in for it.
            return Effective(None, AuthDecision(origin))
        case Named():
            return Effective(choice, AuthDecision(origin, choice.config))
        case Given() | Unfit():
            return Effective(choice, AuthDecision(origin))
        case _:
            assert_never(choice)


def credential(world: World, choice: Named | Given | Unfit | None) -> AuthSpec | Unfit:
    """Return what is sent to a backend."""
    match choice:
        case None:
            return NO_AUTH
        case Given():
            return choice.spec
        case Unfit():
            return choice
        case Named():
            return _of_config(world, choice)
        case _:
            assert_never(choice)


def _of_config(world: World, named: Named) -> AuthSpec | Unfit:
    found = world.resource(AUTH_CONFIG, named.config)
    if found is None:
        return Unfit(
            "AuthConfigNotFound",
            f"{named.where} names {AUTH_CONFIG} '{named.config}', which does not exist in namespace "
            f"'{world.namespace}'. Create it, or correct the name.",
        )
    if not isinstance(found.spec, MCPExternalAuthConfigSpec):
        return Unfit(
            "AuthConfigInvalid",
            f"{named.where} names {AUTH_CONFIG} '{named.config}', whose spec is not valid. "
            "Its own problem tells what to correct.",
        )
    return _of_type(world, named.config, found.spec)


def _of_type(world: World, name: str, spec: MCPExternalAuthConfigSpec) -> AuthSpec | Unfit:
    if spec.type == "unauthenticated":
        return NO_AUTH
    if spec.header_injection is not None:
        return _injection(world, name, spec.header_injection)
    if spec.bearer_token is not None:
        where = f"spec.bearerToken.tokenSecretRef of {AUTH_CONFIG} '{name}'"
        ref = spec.bearer_token.token_secret_ref
        token = secret_value(world, ref.name, ref.key, headers.token_complaint, where=where)
        return token if isinstance(token, Unfit) else BearerToken(token)
    return Unfit(
        "AuthTypeNotSupported",
        f"{AUTH_CONFIG} '{name}' has the type {spec.type}, which this version does not implement. "
        "Use headerInjection, bearerToken or unauthenticated.",
    )


def _injection(world: World, name: str, spec: InjectionSpec) -> AuthSpec | Unfit:
    where = f"{AUTH_CONFIG} '{name}'"
    header = spec.header_name
    if not headers.is_token(header) or headers.is_reserved(header):
        return Unfit(
            "AuthConfigInvalid",
            f"spec.headerInjection.headerName of {where} is no header that can be set. "
            f"Allowed: {headers.RESERVED_TEXT}.",
        )
    where = f"spec.headerInjection.valueSecretRef of {where}"
    ref = spec.value_secret_ref
    value = secret_value(world, ref.name, ref.key, headers.value_complaint, where=where)
    return value if isinstance(value, Unfit) else HeaderInjection(header, value)
