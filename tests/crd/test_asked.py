"""What counts as a protection that an object asks for."""

from __future__ import annotations

from typing import Any

import pytest

from vmcp.crd.asked import protections

ALL = "permit(principal, action, resource);"
FEW = 'permit(principal, action == Action::"call_tool", resource);'
MORE = {"entitiesJson": "[]", "primaryUpstreamProvider": "company"}


def inline(*policies: Any, **more: Any) -> dict[str, Any]:
    return {"type": "inline", "inline": {"policies": [*policies], **more}}


@pytest.mark.parametrize(
    "given",
    [
        inline(ALL),
        inline(ALL, **MORE),
        inline(ALL, "permit (principal,\n  action,\n  resource) ;\n"),
        {**inline(ALL), "groupClaimName": "groups"},
        None,
    ],
    ids=["one", "with entities", "in other white space", "with claims", "none"],
)
def test_a_policy_that_permits_everything_protects_nothing(given: Any) -> None:
    assert protections("VirtualMCPServer", {"incomingAuth": {"authzConfig": given}}) == ()
    assert protections("MCPRemoteProxy", {"authzConfig": given}) == ()


@pytest.mark.parametrize(
    "given",
    [
        inline(FEW),
        inline(ALL, FEW.replace("permit", "forbid")),
        inline(f"// {ALL}"),
        inline("per mit(principal, action, resource);"),
        inline(f"{ALL} {ALL}"),
        inline(f'@id("one") {ALL}'),
        inline(),
        inline(7),
        inline(ALL, later={"forbid": "all"}),
        {**inline(ALL), "later": {"forbid": "all"}},
        {"inline": {"policies": [ALL]}},
        {"type": "inline"},
        {"type": "inline", "inline": {"policies": ALL}},
        {"type": "configMap", "configMap": {"name": "policies"}},
        {"type": "configMap", "inline": {"policies": [ALL]}},
        "all",
    ],
    ids=str,
)
def test_other_policies_and_what_is_not_understood_protect(given: Any) -> None:
    found = protections("VirtualMCPServer", {"incomingAuth": {"authzConfig": given}})

    assert found == ("incomingAuth.authzConfig",)
    assert protections("MCPRemoteProxy", {"authzConfig": given}) == ("authzConfig",)


@pytest.mark.parametrize(
    ("given", "protects"),
    [
        ({"type": "cedar", "policies": [ALL]}, False),
        ({"type": "cedarv1", "policies": [ALL], **MORE}, False),
        ({"type": "cedar", "policies": [ALL], "later": 1}, True),
        ({"type": "cedar", "policies": []}, True),
        ({"type": "httpv1", "policies": [ALL]}, True),
        ({"policies": [ALL]}, True),
    ],
)
def test_policies_in_the_config_of_a_gateway_are_read_likewise(given: Any, protects: bool) -> None:  # noqa: FBT001 - of a table
    found = protections("VirtualMCPServer", {"config": {"incomingAuth": {"authz": given}}})

    assert found == (("config.incomingAuth.authz",) if protects else ())


def test_callers_are_to_be_known_however_much_they_may_do() -> None:
    incoming = {"type": "oidc", "authzConfig": inline(ALL)}

    assert protections("VirtualMCPServer", {"incomingAuth": incoming}) == ("incomingAuth.type",)


@pytest.mark.parametrize("place", ["incomingAuth", "config.incomingAuth"])
@pytest.mark.parametrize("given", ["all", ["10.0.0.0/8"], {"on": True}, 1, True], ids=str)
def test_whatever_else_stands_beside_known_protections_protects(place: str, given: Any) -> None:
    incoming = {"type": "anonymous", "later": given, "none": None, "off": False, "empty": {}}
    spec = (
        {"incomingAuth": incoming}
        if place == "incomingAuth"
        else {"config": {"incomingAuth": incoming}}
    )

    assert protections("VirtualMCPServer", spec) == (f"{place}.later",)


def test_a_proxy_that_checks_callers_in_the_older_way_protects() -> None:
    assert protections("MCPRemoteProxy", {"oidcConfig": {"type": "inline"}}) == ("oidcConfig",)
