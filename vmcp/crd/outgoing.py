"""What a VirtualMCPServer says of the auth of its backends: the default, and the table."""

from __future__ import annotations

from collections.abc import Mapping

from vmcp.config import headers
from vmcp.crd.auth import Choice, Given, Named, Outgoing, Own
from vmcp.crd.specs.runtime_auth import RuntimeOutgoingAuth, Strategy
from vmcp.crd.specs.virtual import BackendAuth, OutgoingAuth, VirtualMCPServerSpec
from vmcp.crd.unfit import Unfit
from vmcp.model.auth import NO_AUTH, HeaderInjection
from vmcp.model.secret import Secret

_TABLE = "spec.outgoingAuth"
_RUNTIME = "spec.config.outgoingAuth"


def outgoing(spec: VirtualMCPServerSpec) -> Outgoing:
    """Return what is said in `spec.outgoingAuth` or, without it, in `spec.config.outgoingAuth`."""
    if spec.outgoing_auth is not None:
        return _declared(spec.outgoing_auth)
    runtime = None if spec.config is None else spec.config.outgoing_auth
    return Outgoing() if runtime is None else _runtime(runtime)


def _declared(given: OutgoingAuth) -> Outgoing:
    return Outgoing(
        ignores_own=given.source == "inline",
        default=None if given.default is None else _choice(given.default, f"{_TABLE}.default"),
        table={
            name: _choice(one, f"{_TABLE}.backends['{name}']")
            for name, one in (given.backends or {}).items()
        },
    )


def _choice(given: BackendAuth, where: str) -> Choice:
    where = f"{where}.externalAuthConfigRef of the VirtualMCPServer"
    if given.type == "discovered":
        return Own()
    if given.external_auth_config_ref is None:
        return Unfit("AuthConfigNotFound", f"{where} is missing. Name an MCPExternalAuthConfig.")
    return Named(given.external_auth_config_ref.name, where)


def _runtime(given: RuntimeOutgoingAuth) -> Outgoing:
    backends: Mapping[str, Strategy] = given.backends or {}
    return Outgoing(
        ignores_own=given.source == "inline",
        default=None if given.default is None else _strategy(given.default, f"{_RUNTIME}.default"),
        table={
            name: _strategy(one, f"{_RUNTIME}.backends['{name}']") for name, one in backends.items()
        },
    )


def _strategy(given: Strategy, where: str) -> Choice:
    if given.type in ("unauthenticated", ""):
        return Given(NO_AUTH)
    if given.type == "header_injection" and (header := given.header_injection) is not None:
        return _header(header.header_name, header.header_value, where)
    if given.type == "bearer_token":
        return _outside(where)
    return Unfit(
        "AuthTypeNotSupported",
        f"{where} has the type {given.type}, which this version does not implement. "
        "Use header_injection or unauthenticated, or name an MCPExternalAuthConfig in spec.outgoingAuth.",
    )


def _header(name: str, value: Secret | None, where: str) -> Choice:
    if value is None:
        return _outside(where)
    if not headers.is_token(name) or headers.is_reserved(name):
        message = f"{where}.headerInjection.headerName is no header that can be set. Correct it."
        return Unfit("AuthConfigInvalid", message)
    complaint = headers.value_complaint(value.reveal())
    if complaint is not None:
        message = f"{where}.headerInjection.headerValue {complaint}. Correct it."
        return Unfit("AuthConfigInvalid", message)
    return Given(HeaderInjection(name, value))


def _outside(where: str) -> Unfit:
    return Unfit(
        "FieldNotSupported",
        f"{where} names a variable or a file: an object must not read those of the gateway's process. "
        "Name an MCPExternalAuthConfig in spec.outgoingAuth instead.",
    )
