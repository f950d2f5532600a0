"""What a gateway makes of the objects of its namespace."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from typing import Any

import pytest

from tests.crd.worlds import (
    CLUSTER,
    FOLDER,
    bearer,
    config_map,
    entry,
    gateway,
    group,
    injection,
    made,
    proxy,
    secret,
    server,
    world,
)
from tests.net.certificates import authority
from vmcp.crd.convert import Converter, convert
from vmcp.crd.scope import Scope
from vmcp.crd.world import Thing
from vmcp.model.auth import AuthDecision, AuthOrigin, BearerToken, HeaderInjection, NoAuth
from vmcp.model.backend import Backend, HttpEndpoint
from vmcp.model.guard import Guard
from vmcp.model.health import PartialFailure
from vmcp.model.rules import Conflict, ToolOverride
from vmcp.model.secret import Secret
from vmcp.model.snapshot import Contribution

READY = {"url": "http://mcp-s.apps.svc:8080/sse#one", "phase": "Ready"}


def made_of(*things: Thing, scope: Scope = CLUSTER) -> Contribution:
    return convert(world(group(), *things), scope)


def served(*things: Thing, scope: Scope = CLUSTER) -> Contribution:
    return made_of(gateway(), *things, scope=scope)


def only(contribution: Contribution) -> Backend:
    assert contribution.problems == ()
    (backend,) = contribution.backends
    return backend


def endpoint(contribution: Contribution) -> HttpEndpoint:
    found = only(contribution).endpoint
    assert isinstance(found, HttpEndpoint)
    return found


def reasons(contribution: Contribution) -> list[tuple[str, str]]:
    return [(one.key.name, one.reason) for one in contribution.problems]


def message(contribution: Contribution) -> str:
    (problem,) = contribution.problems
    return problem.message


def test_only_members_of_its_group_are_served() -> None:
    found = served(entry("a"), entry("b", of="other"), group("other"))

    assert [each.name for each in found.backends] == ["a"]
    assert found.problems == ()


def test_a_group_that_is_missing_leaves_all_its_members_out() -> None:
    found = convert(world(gateway(), entry()), CLUSTER)

    assert found.backends == ()
    assert reasons(found) == [("gw", "GroupNotFound")]


@pytest.mark.parametrize(
    ("spec", "transport"),
    [
        ({}, "streamable-http"),
        ({"proxyMode": "sse"}, "sse"),
        ({"transport": "sse"}, "sse"),
        ({"transport": "streamable-http", "proxyMode": "sse"}, "streamable-http"),
    ],
)
def test_a_server_is_reached_as_its_proxy_exposes_it(
    spec: Mapping[str, Any], transport: str
) -> None:
    found = endpoint(served(server(status=READY, **spec)))

    assert found == HttpEndpoint("http://mcp-s.apps.svc:8080/sse", transport=found.transport)
    assert found.transport == transport


@pytest.mark.parametrize(
    ("status", "reason"),
    [
        ({}, "NotReady"),
        ({"url": ""}, "NotReady"),
        *(
            ({**READY, "phase": phase}, "NotReady")
            for phase in ("Failed", "Terminating", "Stopped")
        ),
        ({**READY, "phase": "Pending"}, None),
        ({"url": READY["url"]}, None),
    ],
)
def test_a_server_is_served_while_it_has_a_url_and_has_not_ended(
    status: Mapping[str, Any], reason: str | None
) -> None:
    found = served(server(status=status))

    assert reasons(found) == ([] if reason is None else [("s", reason)])
    assert len(found.backends) == (reason is None)


@pytest.mark.parametrize(
    ("url", "dialled"),
    [
        ("http://mcp-p.apps:8080", "http://mcp-p.apps:8080/mcp"),
        ("http://mcp-p.apps:8080/", "http://mcp-p.apps:8080/mcp"),
        ("http://mcp-p.apps:8080/own", "http://mcp-p.apps:8080/own"),
    ],
)
def test_a_proxy_without_a_path_is_reached_at_the_usual_one(url: str, dialled: str) -> None:
    found = endpoint(served(proxy(status={"url": url, "phase": "Ready"})))

    assert (found.url, found.guard) == (dialled, None)


def test_in_a_folder_a_proxy_is_dialled_where_it_would_lead_with_its_own_headers_and_tools() -> (
    None
):
    forward = {
        "addHeadersFromSecret": [
            {"headerName": "X-Key", "valueSecretRef": {"name": "k", "key": "v"}}
        ]
    }
    rules = made("MCPToolConfig", "t", spec={"toolsFilter": ["one"]})

    found = served(
        proxy(headerForward=forward, toolConfigRef={"name": "t"}),
        secret("k", v="3"),
        rules,
        scope=FOLDER,
    )

    backend = only(found)
    assert endpoint(found).url == "https://p.example/mcp"
    assert backend.headers == (("X-Key", Secret("3")),)
    assert found.own_tools["p"].filter == {"one"}


def test_in_a_cluster_the_proxy_itself_adds_headers_and_applies_tool_rules() -> None:
    forward = {"addPlaintextHeaders": {"X-Key": "3"}}
    status = {"url": "http://p.apps/mcp"}

    found = served(proxy(status=status, headerForward=forward, toolConfigRef={"name": "missing"}))

    assert only(found).headers == ()
    assert found.own_tools == {}


def test_in_a_folder_a_server_without_a_url_has_no_workload() -> None:
    assert reasons(served(server(), scope=FOLDER)) == [("s", "NoWorkload")]


def test_in_a_folder_a_proxy_that_wants_callers_checked_is_left_out() -> None:
    found = served(proxy(oidcConfigRef={"name": "o", "audience": "a"}), scope=FOLDER)

    assert reasons(found) == [("p", "IncomingAuthNotSupported")]
    assert found.closed is None


def test_a_name_that_two_kinds_share_belongs_to_the_first_of_them() -> None:
    found = served(server("x", status=READY), proxy("x", status=READY), entry("x"))

    assert [each.key.kind for each in found.backends] == ["MCPServer"]
    assert [(one.key.kind, one.reason) for one in found.problems] == [
        ("MCPRemoteProxy", "NameTaken"),
        ("MCPServerEntry", "NameTaken"),
    ]


def test_a_name_stays_with_its_holder_while_that_cannot_be_served() -> None:
    found = served(server("x"), entry("x"))

    assert found.backends == ()


@pytest.mark.parametrize(
    ("url", "part"),
    [
        ("https://user:pw@x.example/mcp", "credentials"),
        ("https://x.example/mcp#part", "fragment"),
        ("https:///mcp", "no host"),
        ("http://127.0.0.1:1/mcp", "--allow-loopback-backends"),
        ("http://localhost/mcp", "--allow-loopback-backends"),
        ("http://[::1]/mcp", "--allow-loopback-backends"),
        ("http://169.254.169.254/latest", "link-local"),
        ("http://10.1.2.3/mcp", "spec.allowPrivateEndpoint"),
    ],
)
def test_a_url_that_may_not_be_dialled_leaves_its_entry_out(url: str, part: str) -> None:
    found = served(entry(remoteUrl=url))

    assert reasons(found) == [("e", "RemoteURLInvalid")]
    assert part in message(found)
    assert "pw" not in message(found)


def test_a_private_address_is_dialled_where_the_entry_allows_it() -> None:
    found = endpoint(served(entry(remoteUrl="http://10.1.2.3/mcp", allowPrivateEndpoint=True)))

    assert found.guard == Guard(allow_private=True, allow_loopback=False)


OWN = {"externalAuthConfigRef": {"name": "own"}}
CONFIGS = [
    *(bearer(name, "s", name) for name in ("own", "table", "default")),
    secret("s", own="1", table="2", default="3"),
]


def choice(name: str) -> Mapping[str, Any]:
    return {"type": "externalAuthConfigRef", "externalAuthConfigRef": {"name": name}}


DISCOVERED = {"type": "discovered"}
TABLE = {"backends": {"e": choice("table")}}
DEFAULT = {"default": choice("default")}


@pytest.mark.parametrize(
    ("own", "outgoing", "token", "origin"),
    [
        (OWN, {**TABLE, **DEFAULT}, "1", AuthOrigin.OWN),
        ({}, {**TABLE, **DEFAULT}, "2", AuthOrigin.TABLE),
        ({}, DEFAULT, "3", AuthOrigin.DEFAULT),
        ({}, {}, None, AuthOrigin.NONE),
        (OWN, None, "1", AuthOrigin.OWN),
        (OWN, {"backends": {"e": DISCOVERED}, **DEFAULT}, "1", AuthOrigin.OWN),
        ({}, {"backends": {"e": DISCOVERED}, **DEFAULT}, None, AuthOrigin.TABLE),
        ({}, {"default": DISCOVERED}, None, AuthOrigin.DEFAULT),
        (OWN, {"source": "inline", **TABLE, **DEFAULT}, "2", AuthOrigin.TABLE),
        (OWN, {"source": "inline", **DEFAULT}, "3", AuthOrigin.DEFAULT),
        (OWN, {"source": "inline"}, None, AuthOrigin.NONE),
        ({}, {"backends": {"other": choice("table")}}, None, AuthOrigin.NONE),
    ],
)
def test_one_of_three_decides_on_the_auth_of_a_backend(
    own: Mapping[str, Any],
    outgoing: Mapping[str, Any] | None,
    token: str | None,
    origin: AuthOrigin,
) -> None:
    spec = {} if outgoing is None else {"outgoingAuth": outgoing}

    found = made_of(gateway(**spec), entry(**own), *CONFIGS)

    backend = only(found)
    config = {"1": "own", "2": "table", "3": "default"}.get(token or "")
    assert backend.auth == (NoAuth() if token is None else BearerToken(Secret(token)))
    assert found.decisions == {backend.key: AuthDecision(origin, config)}


def test_auth_that_a_group_without_a_gateway_has_is_that_of_its_members() -> None:
    found = made_of(entry(**OWN), *CONFIGS, scope=FOLDER)

    assert only(found).auth == BearerToken(Secret("1"))
    assert (found.rules, found.health) == (None, None)


@pytest.mark.parametrize(
    ("things", "reason", "names"),
    [
        ([], "AuthConfigNotFound", ["own", "apps"]),
        (
            [made("MCPExternalAuthConfig", "own", spec={"type": "nonsense"})],
            "AuthConfigInvalid",
            ["own"],
        ),
        ([bearer("own", "s")], "SecretNotFound", ["'s'", "apps"]),
        ([bearer("own", "s"), secret("s", other="x")], "SecretKeyNotFound", ["'s'", "'token'"]),
        (
            [bearer("own", "s"), secret("s", token="a b")],
            "SecretInvalid",
            ["'s'", "'token'", "white space"],
        ),
        ([bearer("own", "s"), secret("s", token="")], "SecretInvalid", ["empty"]),
        (
            [bearer("own", "s"), made("Secret", "s", data={"token": "/w=="})],
            "SecretInvalid",
            ["no UTF-8"],
        ),
        (
            [injection("own", "s", "Host"), secret("s", key="x")],
            "AuthConfigInvalid",
            ["headerName"],
        ),
        (
            [
                made(
                    "MCPExternalAuthConfig",
                    "own",
                    spec={
                        "type": "xaa",
                        "xaa": {
                            "idpTokenUrl": "https://a.example",
                            "targetTokenUrl": "https://b.example",
                            "targetAudience": "x",
                        },
                    },
                )
            ],
            "AuthTypeNotSupported",
            ["xaa"],
        ),
    ],
)
def test_auth_that_cannot_be_had_leaves_its_backend_out_and_no_other(
    things: list[Thing], reason: str, names: list[str]
) -> None:
    found = served(entry(**OWN), entry("other"), *things)

    assert [each.name for each in found.backends] == ["other"]
    assert ("e", reason) in reasons(found)
    told = next(one.message for one in found.problems if one.key.name == "e")
    assert all(name in told for name in names)


def test_a_header_with_the_value_of_a_secret_is_injected_without_its_line_end() -> None:
    found = served(entry(**OWN), injection("own", "s"), secret("s", key="sesame\n"))

    assert only(found).auth == HeaderInjection("X-Api-Key", Secret("sesame"))


CA, OTHER = authority().pem, authority("another").pem
BAD = CA.replace(CA[100:140], "0" * 40)


def ref(name: str = "ca", **more: Any) -> Mapping[str, Any]:
    exclusive = {"exclusive": True} if more.pop("exclusive", False) else {}
    return {"caBundleRef": {"configMapRef": {"name": name, **more}, **exclusive}}


def encoded(text: str) -> Thing:
    return made("ConfigMap", "ca", binaryData={"ca.crt": b64encode(text.encode()).decode()})


@pytest.mark.parametrize(
    ("spec", "things", "result"),
    [
        ({}, [], None),
        (ref(), [], "CABundleNotFound"),
        (ref(optional=True), [], "CABundleNotFound"),
        (ref(), [config_map("ca", {"other": CA})], "CABundleKeyNotFound"),
        (ref(key="gone"), [config_map("ca", {"ca.crt": CA})], "CABundleKeyNotFound"),
        (ref(), [config_map("ca", {"ca.crt": CA})], CA),
        (ref(key=""), [config_map("ca", {"ca.crt": CA})], CA),
        (ref(key="own.pem"), [config_map("ca", {"own.pem": CA})], CA),
        (ref(), [encoded(CA)], CA),
        (ref(), [config_map("ca", {"ca.crt": CA + OTHER})], CA + OTHER),
        (ref(), [config_map("ca", {"ca.crt": f"# ours\n{CA}\ntext\n{OTHER}"})], CA + OTHER),
        (ref(), [config_map("ca", {"ca.crt": "garbage"})], "CABundleInvalid"),
        (ref(), [config_map("ca", {"ca.crt": ""})], "CABundleInvalid"),
        (ref(), [config_map("ca", {"ca.crt": CA + BAD + OTHER})], "CABundleInvalid"),
        (ref(name=""), [], "CABundleNotFound"),
    ],
    ids=[
        "no reference",
        "no ConfigMap",
        "optional softens nothing",
        "no default key",
        "no explicit key",
        "default key",
        "empty key is the default",
        "explicit key",
        "binaryData",
        "several certificates",
        "text between certificates",
        "garbage",
        "empty",
        "one bad of three",
        "no name",
    ],
)
def test_a_ca_bundle_is_read_whole_or_its_backend_is_left_out(
    spec: Mapping[str, Any], things: list[Thing], result: str | None
) -> None:
    found = served(entry(**spec), *things)

    if result is None or result.startswith("-----"):
        assert endpoint(found).ca_bundle == result
    else:
        assert reasons(found) == [("e", result)]
        assert found.backends == ()


def test_what_is_wrong_with_a_bundle_names_its_place() -> None:
    found = served(entry(**ref()), config_map("ca", {"ca.crt": "garbage"}))

    assert "ConfigMap ca key ca.crt" in message(found)


def test_a_bundle_that_is_exclusive_is_trusted_alone() -> None:
    things = config_map("ca", {"ca.crt": CA})

    assert endpoint(served(entry(**ref(exclusive=True)), things)).trusts_bundle_only
    assert not endpoint(served(entry(**ref()), things)).trusts_bundle_only


def secret_header(name: str, key: str = "v") -> Mapping[str, Any]:
    return {"headerName": name, "valueSecretRef": {"name": "k", "key": key}}


def test_secret_headers_come_before_plaintext_ones() -> None:
    forward = {
        "addPlaintextHeaders": {"X-B": "2", "X-A": "1"},
        "addHeadersFromSecret": [secret_header("X-Z")],
    }

    found = only(served(entry(headerForward=forward), secret("k", v="3")))

    assert found.headers == (("X-Z", Secret("3")), ("X-A", Secret("1")), ("X-B", Secret("2")))


@pytest.mark.parametrize(
    ("forward", "reason"),
    [
        ({"addHeadersFromSecret": [secret_header("X-A", "gone")]}, "SecretKeyNotFound"),
        ({"addHeadersFromSecret": [secret_header("Host")]}, "HeaderInvalid"),
        ({"addHeadersFromSecret": [secret_header("a b")]}, "HeaderInvalid"),
        ({"addPlaintextHeaders": {"Cookie": "x"}}, "HeaderInvalid"),
        ({"addPlaintextHeaders": {"Mcp-Session-Id": "x"}}, "HeaderInvalid"),
        ({"addPlaintextHeaders": {"X-A": "a\nb"}}, "HeaderInvalid"),
        ({"addPlaintextHeaders": {"X-A": "1", "x-a": "2"}}, "HeaderInvalid"),
        (
            {"addPlaintextHeaders": {"x-a": "1"}, "addHeadersFromSecret": [secret_header("X-A")]},
            "HeaderInvalid",
        ),
        ({"addPlaintextHeaders": {"authorization": "x"}}, "HeaderInvalid"),
    ],
)
def test_a_header_that_cannot_be_sent_leaves_its_backend_out(
    forward: Mapping[str, Any], reason: str
) -> None:
    found = served(entry(headerForward=forward, **OWN), secret("k", v="3"), *CONFIGS)

    assert reasons(found) == [("e", reason)]


def test_rules_of_the_gateway_are_told_in_the_words_of_the_model() -> None:
    rules = made(
        "MCPToolConfig",
        "t",
        spec={
            "toolsFilter": ["a"],
            "toolsOverride": {"x": {"name": "y"}, "z": {"description": "shared"}},
        },
    )
    tools = [
        {"workload": "e", "toolConfigRef": {"name": "t"}, "overrides": {"z": {"name": "q"}}},
        {"workload": "f", "filter": [], "excludeAll": True},
        {"workload": "h", "toolConfigRef": {"name": "t"}, "filter": ["own"]},
    ]
    aggregation = {"conflictResolution": "priority", "tools": tools}
    aggregation["conflictResolutionConfig"] = {"priorityOrder": ["f", "e"]}

    found = made_of(gateway(config={"aggregation": aggregation}), entry(), rules).rules

    assert found is not None
    assert (found.conflict, found.priority_order) == (Conflict.PRIORITY, ("f", "e"))
    assert found.tools["e"].filter == {"a"}
    assert found.tools["e"].overrides == {"x": ToolOverride(name="y"), "z": ToolOverride(name="q")}
    assert (found.tools["f"].filter, found.tools["f"].exclude_all) == (None, True)
    assert found.tools["h"].filter == {"own"}


def test_a_tool_config_that_is_missing_leaves_its_backend_out() -> None:
    tools = [{"workload": "e", "toolConfigRef": {"name": "t"}}]

    found = made_of(gateway(config={"aggregation": {"tools": tools}}), entry(), entry("other"))

    assert [each.name for each in found.backends] == ["other"]
    assert reasons(found) == [("e", "ToolConfigNotFound"), ("gw", "ToolConfigNotFound")]


def test_an_empty_prefix_is_the_usual_one_and_an_order_may_name_a_backend_twice() -> None:
    details = {"prefixFormat": "", "priorityOrder": ["e", "f", "e"]}
    aggregation = {"conflictResolution": "priority", "conflictResolutionConfig": details}

    found = made_of(gateway(config={"aggregation": aggregation}), entry())

    assert found.rules is not None
    assert found.problems == ()
    assert (found.rules.prefix_format, found.rules.priority_order) == ("{workload}_", ("e", "f"))


def test_rules_that_cannot_be_told_show_no_tools() -> None:
    aggregation = {"conflictResolutionConfig": {"prefixFormat": "no place for a name"}}

    found = made_of(gateway(config={"aggregation": aggregation}), entry())

    assert found.rules is not None
    assert found.rules.exclude_all_tools
    assert reasons(found) == [("gw", "AggregationInvalid")]


def test_times_and_thresholds_are_those_of_the_gateway() -> None:
    operational = {
        "timeouts": {"default": "10s", "perWorkload": {"e": "1m"}},
        "failureHandling": {"unhealthyThreshold": 5, "circuitBreaker": {"enabled": True}},
    }

    found = made_of(gateway(config={"operational": operational}), entry(), entry("f"))

    assert [each.timeout_seconds for each in found.backends] == [60.0, 10.0]
    assert found.health is not None
    assert found.health.unhealthy_threshold == 5
    assert found.health.breaker is not None
    assert found.health.partial_failure is PartialFailure.FAIL


def test_what_the_spec_says_itself_beats_its_config() -> None:
    config = {
        "passthroughHeaders": ["X-Config"],
        "outgoingAuth": {"source": "inline", "default": {"type": "unauthenticated"}},
    }
    spec = {"passthroughHeaders": ["X-Spec"], "outgoingAuth": DEFAULT}

    found = made_of(gateway(config=config, **spec), entry(), *CONFIGS)

    assert only(found).passthrough == ("x-spec",)
    assert only(found).auth == BearerToken(Secret("3"))


def test_headers_that_are_set_or_never_passed_are_not_passed_on() -> None:
    spec = {"passthroughHeaders": ["X-One", "X-Api-Key", "Authorization", "X-Set"]}
    forward = {"addPlaintextHeaders": {"x-set": "1"}}

    found = made_of(gateway(**spec), entry(headerForward=forward))

    assert [each.passthrough for each in found.backends] == [("x-one",)]
    assert reasons(found) == [("gw", "FieldInvalid"), ("gw", "FieldInvalid")]


def test_a_strategy_in_the_config_of_an_object_reads_neither_variables_nor_files() -> None:
    strategies = {
        "e": {
            "type": "header_injection",
            "headerInjection": {"headerName": "X-A", "headerValue": "v"},
        },
        "f": {
            "type": "header_injection",
            "headerInjection": {"headerName": "X-A", "headerValueEnv": "PATH"},
        },
        "h": {"type": "token_exchange", "tokenExchange": {"tokenUrl": "https://x.example"}},
    }
    config = {"outgoingAuth": {"source": "discovered", "backends": strategies}}

    found = made_of(gateway(config=config), entry("e"), entry("f"), entry("h"))

    assert [each.auth for each in found.backends] == [HeaderInjection("X-A", Secret("v"))]
    assert reasons(found) == [
        ("f", "FieldNotSupported"),
        ("h", "AuthTypeNotSupported"),
        ("gw", "FieldNotSupported"),
    ]


@pytest.mark.parametrize(
    "spec",
    [
        {"incomingAuth": {"type": "oidc", "oidcConfigRef": {"name": "o", "audience": "a"}}},
        {"incomingAuth": {"type": "anonymous", "authzConfigRef": {"name": "z"}}},
        {"config": {"audit": {"enabled": True}}},
        {"config": {"incomingAuth": {"type": "oidc"}}},
        {
            "config": {"rateLimiting": {"shared": {"maxTokens": 1, "refillPeriod": "1s"}}},
            "sessionStorage": {"provider": "redis", "address": "r:1"},
        },
    ],
    ids=["oidc", "authorization", "audit", "oidc in the config", "rate limits"],
)
def test_a_protection_that_there_is_not_closes_the_gateway(spec: Mapping[str, Any]) -> None:
    found = made_of(gateway(**spec), entry())

    assert found.closed is not None
    assert (found.closed.key.name, found.closed.reason) == ("gw", "IncomingAuthNotSupported")
    assert found.closed in found.problems
    assert found.backends == ()


def test_a_gateway_that_cannot_be_read_is_closed() -> None:
    found = made_of(gateway(incomingAuth={"type": "magic"}), entry())

    assert found.closed is not None
    assert found.closed.reason == "GatewayInvalid"
    assert reasons(found) == [("gw", "GatewayInvalid"), ("gw", "SpecInvalid")]


def test_other_fields_that_are_not_implemented_are_told_and_the_rest_is_served() -> None:
    config = {
        "optimizer": {"maxToolsToReturn": 5},
        "compositeToolRefs": [{"name": "c"}],
        "newer": 1,
    }

    found = made_of(gateway(config=config, embeddingServerRef={"name": "x"}), entry())

    assert len(found.backends) == 1
    assert [one.message.split()[0] for one in found.problems] == [
        "spec.config.compositeToolRefs",
        "spec.config.newer",
        "spec.config.optimizer",
        "spec.embeddingServerRef",
    ]


def test_an_object_that_cannot_be_read_is_told_and_the_others_are_served() -> None:
    found = served(entry("bad", transport="carrier pigeon"), entry("good"))

    assert [each.name for each in found.backends] == ["good"]
    assert reasons(found) == [("bad", "SpecInvalid")]
    assert "transport" in message(found)


@pytest.mark.parametrize(
    ("spec", "told"),
    [({"of": "other"}, []), ({"of": "g"}, ["bad"]), ({"groupRef": ["other"]}, ["bad"])],
)
def test_a_member_of_another_group_that_cannot_be_read_is_not_told_of(
    spec: Mapping[str, Any], told: list[str]
) -> None:
    found = served(entry("bad", transport="carrier pigeon", **spec))

    assert [one.key.name for one in found.problems] == told


@pytest.mark.parametrize(
    ("things", "expected"),
    [
        ([], []),
        ([group("one")], []),
        ([group("one"), group("two")], ["GroupNotChosen", "GroupNotChosen"]),
        ([group(), gateway("a"), gateway("b")], ["GatewayNotChosen", "GatewayNotChosen"]),
    ],
)
def test_without_a_name_the_only_gateway_or_the_only_group_is_served(
    things: list[Thing], expected: list[str]
) -> None:
    assert [one.reason for one in convert(world(*things), FOLDER).problems] == expected


def test_a_gateway_that_is_named_and_missing_is_told() -> None:
    assert reasons(made_of(entry())) == [("gw", "GatewayNotFound")]


def changed(things: list[Thing], *new: Thing) -> list[Thing]:
    keys = {each.key for each in new}
    return [*(each for each in things if each.key not in keys), *new]


MANY = [
    group(),
    gateway(outgoingAuth=DEFAULT),
    *(entry(f"own-{i}", externalAuthConfigRef={"name": f"a{i}"}) for i in range(20)),
    *(bearer(f"a{i}", f"s{i}") for i in range(20)),
    *(secret(f"s{i}", token="t") for i in range(20)),
    *(entry(f"plain-{i}") for i in range(20)),
    entry("with-ca", **ref()),
    config_map("ca", {"ca.crt": CA}),
    *CONFIGS,
]


@pytest.mark.parametrize(
    ("new", "names"),
    [
        (secret("s3", token="new"), {"own-3"}),
        (bearer("a4", "s5"), {"own-4"}),
        (config_map("ca", {"ca.crt": OTHER}), {"with-ca"}),
        (entry("plain-7", remoteUrl="https://new.example"), {"plain-7"}),
        (secret("s", default="4"), {*(f"plain-{i}" for i in range(20)), "with-ca"}),
        (gateway(outgoingAuth=DEFAULT, replicas=3), set()),
        (gateway(outgoingAuth={**DEFAULT, "backends": {"plain-5": choice("own")}}), {"plain-5"}),
        (proxy("plain-5"), {"plain-5"}),
        (made("MCPToolConfig", "shared", spec={"toolsFilter": ["one"]}), set()),
        (group("another"), set()),
        (secret("unused", x="y"), set()),
    ],
)
def test_one_change_converts_what_it_touches_and_nothing_else(new: Thing, names: set[str]) -> None:
    converter = Converter(CLUSTER)
    converter.convert(world(*MANY))

    found = converter.convert(world(*changed(MANY, new)))

    assert {key.name for key in converter.converted} == names
    assert found == convert(world(*changed(MANY, new)), CLUSTER)


def test_who_comes_too_late_for_a_name_does_not_touch_its_holder() -> None:
    converter = Converter(CLUSTER)
    converter.convert(world(group(), gateway(), server("x", status=READY)))

    found = converter.convert(world(group(), gateway(), server("x", status=READY), entry("x")))

    assert reasons(found) == [("x", "NameTaken")]
    assert converter.converted == frozenset()


def test_what_members_refer_to_is_to_be_watched_there_or_not() -> None:
    converter = Converter(CLUSTER)

    converter.convert(
        world(
            group(),
            gateway(),
            entry(**OWN, **ref("bundle")),
            bearer("own", "mine"),
            entry("far", of="elsewhere", **ref("far-bundle")),
        )
    )

    assert {str(key) for key in converter.watched} == {"ConfigMap/apps/bundle", "Secret/apps/mine"}
