"""What happens in a namespace, at random: objects of all kinds come, change, move and go, several at once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from tests.crd.worlds import (
    NAMESPACE,
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
)
from tests.net.certificates import authority
from vmcp.crd.world import CONFIG_MAP, SECRET, Hidden, Thing
from vmcp.model.keys import ObjectKey

Things = st.SearchStrategy[Thing]


@dataclass(frozen=True)
class Event:
    """An object is so from now on, or is gone."""

    key: ObjectKey
    thing: Thing | None


# Few names, so that references lead somewhere and names are taken.
_GROUPS = st.sampled_from(["g", "g", "g", "other"])
_NAMES = st.sampled_from(["x", "y", "z"])
_CONFIGS = st.sampled_from(["a", "b"])
_SECRETS = st.sampled_from(["s", "t"])
_KEYS = st.sampled_from(["k", "l"])
_STATUS = st.fixed_dictionaries(
    {},
    optional={
        "url": st.sampled_from(["http://one.apps:8080/sse#x", "http://two.apps:8080", ""]),
        "phase": st.sampled_from(["Ready", "Failed"]),
    },
)


def _named(names: st.SearchStrategy[str]) -> st.SearchStrategy[Mapping[str, str]]:
    return st.fixed_dictionaries({"name": names})


def _fields(
    **fields: st.SearchStrategy[Any],
) -> st.SearchStrategy[dict[str, Any]]:
    """Return some of these fields."""
    return st.fixed_dictionaries({}, optional=fields)


_AUTH = {"externalAuthConfigRef": _named(_CONFIGS)}
_TOOLS = {"toolConfigRef": _named(st.just("t"))}
_FORWARD = _fields(
    addHeadersFromSecret=st.lists(
        st.fixed_dictionaries(
            {
                "headerName": st.sampled_from(["X-A", "X-Key"]),
                "valueSecretRef": st.fixed_dictionaries({"name": _SECRETS, "key": _KEYS}),
            }
        ),
        max_size=2,
        unique_by=lambda header: header["headerName"],
    ),
    addPlaintextHeaders=st.sampled_from([{"X-A": "1"}, {"X-B": "2"}]),
)
_BUNDLE = st.fixed_dictionaries(
    {"configMapRef": st.fixed_dictionaries({"name": st.sampled_from(["ca", "ca", "gone"])})},
    optional={"exclusive": st.booleans()},
)
_PEM = authority().pem


def _made(
    maker: Any, specs: st.SearchStrategy[dict[str, Any]], **more: st.SearchStrategy[Any]
) -> Things:
    return st.builds(lambda spec, **rest: maker(**rest, **spec), specs, **more)


_ENTRIES = _made(
    entry,
    _fields(
        **_AUTH,
        caBundleRef=_BUNDLE,
        headerForward=_FORWARD,
        transport=st.sampled_from(["sse", "carrier pigeon"]),
        remoteUrl=st.sampled_from(["https://new.example/mcp", "http://127.0.0.1:1/mcp"]),
    ),
    name=_NAMES,
    of=_GROUPS,
)
_PROXIES = _made(
    proxy,
    _fields(
        **_AUTH,
        **_TOOLS,
        headerForward=_FORWARD,
        oidcConfigRef=st.just({"name": "o", "audience": "a"}),
    ),
    name=_NAMES,
    of=_GROUPS,
    status=_STATUS,
)
_SERVERS = _made(
    server,
    _fields(**_AUTH, **_TOOLS, proxyMode=st.sampled_from(["sse", "smoke"])),
    name=_NAMES,
    of=_GROUPS,
    status=_STATUS,
)
_CHOICE = st.one_of(
    st.just({"type": "discovered"}),
    st.builds(
        lambda ref: {"type": "externalAuthConfigRef", "externalAuthConfigRef": ref},
        _named(_CONFIGS),
    ),
)
_OUTGOING = _fields(
    source=st.sampled_from(["discovered", "inline"]),
    default=_CHOICE,
    backends=st.dictionaries(_NAMES, _CHOICE, max_size=2),
)
_AGGREGATION = _fields(
    tools=st.lists(
        st.fixed_dictionaries({"workload": _NAMES}, optional=_TOOLS),
        max_size=2,
    ),
    conflictResolution=st.sampled_from(["prefix", "manual"]),
)
_GATEWAYS = _made(
    gateway,
    _fields(
        outgoingAuth=_OUTGOING,
        config=_fields(
            aggregation=_AGGREGATION,
            operational=st.just({"timeouts": {"perWorkload": {"x": "3s"}}}),
            audit=st.just({"enabled": True}),
        ),
        passthroughHeaders=st.just(["X-A"]),
        incomingAuth=st.sampled_from([{"type": "anonymous"}, {"type": "magic"}]),
    ),
    name=st.sampled_from(["gw", "gw", "gw", "second"]),
    of=_GROUPS,
)
_EXCHANGE = {"tokenUrl": "https://login.example/token", "audience": "b"}
_AUTH_CONFIGS = st.one_of(
    st.builds(bearer, _CONFIGS, _SECRETS, _KEYS),
    st.builds(lambda name, of, key: injection(name, of, key=key), _CONFIGS, _SECRETS, _KEYS),
    st.builds(
        lambda name, spec: made("MCPExternalAuthConfig", name, spec=spec),
        _CONFIGS,
        st.sampled_from(
            [
                {"type": "unauthenticated"},
                {"type": "tokenExchange", "tokenExchange": _EXCHANGE},
                {"type": "bearerToken"},
            ]
        ),
    ),
)
_TOOL_CONFIGS = st.sampled_from(
    [
        made("MCPToolConfig", "t", spec=spec)
        for spec in ({}, {"toolsFilter": ["one"]}, {"toolsFilter": "one"})
    ]
)
_VALUES = st.dictionaries(_KEYS, st.sampled_from(["old", "new", "two words"]), max_size=2)


def _hidden(kind: str, name: str, why: str) -> Thing:
    return Hidden(ObjectKey(kind, name, NAMESPACE), why, why)


_WHY = st.sampled_from(["Forbidden.", "Still forbidden."])
_PLAIN = st.one_of(
    st.builds(lambda name, values: secret(name, **values), _SECRETS, _VALUES),
    st.builds(
        lambda data: config_map("ca", data),
        st.sampled_from([{"ca.crt": _PEM}, {"ca.crt": "garbage"}, {"other": _PEM}]),
    ),
    st.builds(_hidden, st.just(SECRET), _SECRETS, _WHY),
    st.builds(_hidden, st.just(CONFIG_MAP), st.just("ca"), _WHY),
)
_OBJECTS = st.one_of(
    _ENTRIES,
    _PROXIES,
    _SERVERS,
    _GATEWAYS,
    _AUTH_CONFIGS,
    _TOOL_CONFIGS,
    _PLAIN,
    st.builds(group, _GROUPS),
)

# What there is when the first event comes: enough that most events change what is served.
_RULES = {"aggregation": {"tools": [{"workload": "x", "toolConfigRef": {"name": "t"}}]}}
_DEFAULT = {"default": {"type": "externalAuthConfigRef", "externalAuthConfigRef": {"name": "b"}}}
_OPEN = gateway("gw", outgoingAuth=_DEFAULT, config=_RULES)
START: tuple[Thing, ...] = (
    group("g"),
    _OPEN,
    made("MCPToolConfig", "t", spec={}),
    entry("x", externalAuthConfigRef={"name": "a"}),
    entry("z", caBundleRef={"configMapRef": {"name": "ca"}}),
    server("y", status={"url": "http://one.apps:8080/mcp"}),
    bearer("a", "s", "k"),
    injection("b", "t", key="k"),
    secret("s", k="old"),
    secret("t", k="old"),
    config_map("ca", {"ca.crt": _PEM}),
)
# What comes and goes again and again.
_SWITCHES: tuple[Thing, ...] = (
    *START,
    gateway("second"),
    gateway("gw", outgoingAuth=_DEFAULT, config={**_RULES, "audit": {"enabled": True}}),
    made("MCPToolConfig", "t", spec={"toolsFilter": ["one"]}),
    entry("y"),
    bearer("a", "t", "k"),
    secret("s", k="new"),
    secret("t", k="new"),
    config_map("ca", {"ca.crt": "garbage"}),
)


_THINGS = st.sampled_from(_SWITCHES) | _OBJECTS
_EVENTS = st.one_of(
    st.builds(lambda thing: Event(thing.key, thing), _THINGS),
    st.builds(lambda thing: Event(thing.key, None), _THINGS),
)
# What is seen of them: now and then several at once, as when a watch was away.
BATCHES = st.lists(st.lists(_EVENTS, max_size=4), max_size=12)
