"""What a gateway makes of its objects, in lines that one can read and compare."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import fields, replace
from enum import Enum
from typing import Any, assert_never

from vmcp.model.auth import AuthDecision, AuthOrigin, AuthSpec, BearerToken, HeaderInjection, NoAuth
from vmcp.model.backend import Backend, HttpEndpoint
from vmcp.model.guard import Guard
from vmcp.model.health import HealthRules, PartialFailure
from vmcp.model.problem import Problem
from vmcp.model.rules import Rules, ToolRules
from vmcp.model.snapshot import Contribution

# As a VirtualMCPServer has them that says nothing of them.
_USUAL_HEALTH = HealthRules(partial_failure=PartialFailure.FAIL)
_FIELD = re.compile(r"spec\.[\w.\[\]'-]*[\w\]]")


def lines(made: Contribution) -> list[str]:
    """Return a line for each backend and each problem, and for the rules that are no usual ones."""
    return [*_lines(made)]


def _lines(made: Contribution) -> Iterator[str]:
    if made.closed is not None:
        yield f"closed: {made.closed.reason}"
    for backend in made.backends:
        parts = _backend(backend, made.decisions[backend.key])
        yield f"{backend.key.kind} {backend.name}: {'; '.join(parts)}"
    yield from map(_problem, made.problems)
    if made.rules is not None:
        yield from (f"rules: {one}" for one in _rules(made.rules))
    if made.health is not None:
        yield from (f"health: {one}" for one in _other(made.health, _USUAL_HEALTH))


def _problem(one: Problem) -> str:
    named = ", ".join(_FIELD.findall(one.message))
    return f"{one.key.kind} {one.key.name}: {one.reason}" + (f" of {named}" if named else "")


def _backend(backend: Backend, decision: AuthDecision) -> Iterator[str]:
    endpoint = backend.endpoint
    assert isinstance(endpoint, HttpEndpoint)
    yield f"{endpoint.transport} {endpoint.url}"
    config = "" if decision.config is None else f" {decision.config}"
    origin = "" if decision.origin is AuthOrigin.NONE else f" by {decision.origin.value}"
    yield f"{_auth(backend.auth)}{origin}{config}"
    yield from (f"{name}={value.reveal()}" for name, value in backend.headers)
    if backend.passthrough:
        yield f"passes {', '.join(backend.passthrough)}"
    if endpoint.ca_bundle is not None:
        yield "trusts its bundle alone" if endpoint.trusts_bundle_only else "trusts its bundle too"
    if endpoint.guard is not None:
        yield _guard(endpoint.guard)
    if backend.timeout_seconds != 30.0:
        yield f"{backend.timeout_seconds:g} s"


def _guard(guard: Guard) -> str:
    assert not guard.allow_loopback
    return "public and private addresses" if guard.allow_private else "public addresses"


def _auth(auth: AuthSpec) -> str:
    match auth:
        case NoAuth():
            return "no auth"
        case HeaderInjection():
            return f"{auth.header}={auth.value.reveal()}"
        case BearerToken():
            return f"Bearer {auth.token.reveal()}"
        case _:
            assert_never(auth)


def _rules(rules: Rules) -> Iterator[str]:
    yield from _other(replace(rules, tools={}), Rules())
    for name, one in rules.tools.items():
        yield f"{name}: {', '.join(_other(one, ToolRules()))}"


def _other(value: Any, usual: Any) -> Iterator[str]:
    """Yield the fields of a value that are not as usual."""
    for field in fields(value):
        found = getattr(value, field.name)
        if found != getattr(usual, field.name):
            yield f"{field.name}={_text(found)}"


def _text(value: Any) -> str:
    match value:
        case frozenset():
            return "+".join(sorted(value))
        case tuple():
            return "+".join(value)
        case dict():
            return "+".join(f"{key}->{one.name}" for key, one in value.items())
        case Enum():
            return str(value.value)
        case _:
            return str(value)
