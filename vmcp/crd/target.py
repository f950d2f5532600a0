"""Where a member of a group is reached, over which transport, and which addresses may be dialled for it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import assert_never
from urllib.parse import urlsplit

from vmcp.config.values import url_complaint
from vmcp.crd.scope import Scope
from vmcp.crd.specs.entry import MCPServerEntrySpec
from vmcp.crd.specs.remoteproxy import MCPRemoteProxyMember
from vmcp.crd.specs.server import MCPServerMember
from vmcp.crd.unfit import Unfit
from vmcp.crd.world import MemberSpec, Resource
from vmcp.model.backend import HttpTransport
from vmcp.model.guard import Guard

_ENDED = frozenset(("Failed", "Terminating", "Stopped"))
_DEFAULT_PATH = "/mcp"


@dataclass(frozen=True, slots=True)
class Target:
    """What is dialled; `guard` is None for what an operator in the cluster says."""

    url: str = field(repr=False)
    transport: HttpTransport
    guard: Guard | None


def is_remote(spec: MemberSpec, scope: Scope) -> bool:
    """Tell whether `spec.remoteUrl` is dialled, and not what runs in front of it."""
    match spec:
        case MCPServerEntrySpec():
            return True
        case MCPRemoteProxyMember():
            return not scope.has_operator
        case MCPServerMember():
            return False
        case _:
            assert_never(spec)


def target(resource: Resource, spec: MemberSpec, scope: Scope) -> Target | Unfit:
    """Return where a member is reached."""
    match spec:
        case MCPServerEntrySpec():
            return _remote(spec, scope)
        case MCPRemoteProxyMember() if not scope.has_operator:
            return _remote(spec, scope)
        case MCPRemoteProxyMember():
            return _exposed(resource, spec.transport, scope)
        case MCPServerMember():
            transport = spec.proxy_mode if spec.transport == "stdio" else spec.transport
            return _exposed(resource, transport, scope)
        case _:
            assert_never(spec)


def _remote(spec: MCPServerEntrySpec | MCPRemoteProxyMember, scope: Scope) -> Target | Unfit:
    complaint = url_complaint(spec.remote_url)
    if complaint is not None:
        return _invalid("spec.remoteUrl", complaint)
    guard = Guard(spec.allow_private_endpoint, scope.allows_loopback)
    kind = guard.refusal_of_host(urlsplit(spec.remote_url).hostname or "")
    if kind is not None:
        return Unfit(
            "RemoteURLInvalid", f"spec.remoteUrl leads to {kind}, which is refused. {_hint(kind)}"
        )
    return Target(spec.remote_url, spec.transport, guard)


def _hint(kind: str) -> str:
    if "loopback" in kind:
        return "For tests, start the gateway with --allow-loopback-backends."
    if "private" in kind:
        return "If it is meant, set spec.allowPrivateEndpoint to true."
    return "Use another address."


def _invalid(field_name: str, complaint: str) -> Unfit:
    return Unfit(
        "RemoteURLInvalid",
        f"{field_name}: {complaint} Write an http or https URL without credentials and fragment.",
    )


def _exposed(resource: Resource, transport: HttpTransport, scope: Scope) -> Target | Unfit:
    """Return where an operator says that a workload is reached."""
    url, phase = resource.seen.url, resource.seen.phase
    if not url:
        return _unknown(scope)
    if phase in _ENDED:
        return Unfit(
            "NotReady", f"status.phase is {phase}. It is served when its operator has mended it."
        )
    url = url.partition("#")[0]
    complaint = url_complaint(url)
    if complaint is not None:
        return _invalid("status.url", complaint)
    return Target(_with_path(url, resource), transport, None)


def _unknown(scope: Scope) -> Unfit:
    if scope.has_operator:
        return Unfit("NotReady", "status.url is empty. It is served when its operator has set it.")
    return Unfit(
        "NoWorkload",
        "Nothing runs it here, and the file has no status.url. Add one, or use an MCPServerEntry.",
    )


def _with_path(url: str, resource: Resource) -> str:
    """Return a URL with the usual path where a proxy gives none."""
    parts = urlsplit(url)
    has_none = parts.path in ("", "/") and resource.key.kind == "MCPRemoteProxy"
    return parts._replace(path=_DEFAULT_PATH).geturl() if has_none else url
