import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.waiting import until
from vmcp.config.load import Loaded, load
from vmcp.discovery.source import Source
from vmcp.discovery.static import StaticSource, contribution
from vmcp.latest import Latest
from vmcp.model.auth import AuthSpec, BearerToken, HeaderInjection, NoAuth
from vmcp.model.backend import Backend, HttpEndpoint, StdioEndpoint
from vmcp.model.keys import ObjectKey
from vmcp.model.problem import Problem
from vmcp.model.rules import Conflict, Rules, ToolOverride, ToolRules
from vmcp.model.secret import Secret
from vmcp.model.snapshot import Contribution

ENVIRONMENT = {"A": "env-a", "B": "env-b"}


class Configs:
    """Makes contributions of the texts of config files."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def loaded(self, text: str) -> Loaded:
        path = self.folder / "vmcp.yaml"
        path.write_text(text)
        return load(path, ENVIRONMENT)

    def __call__(self, text: str) -> Contribution:
        return contribution(self.loaded(text))

    def one(self, text: str) -> Backend:
        [backend] = self(text).backends
        return backend


@pytest.fixture
def configs(tmp_path: Path) -> Configs:
    return Configs(tmp_path)


def rules(configs: Configs, aggregation: str) -> Rules:
    found = configs(f"backends: []\naggregation: {{{aggregation}}}").rules
    assert found is not None
    return found


def test_a_backend_has_the_defaults_of_the_file(configs: Configs) -> None:
    assert configs.one("backends: [{name: web, url: 'https://h/mcp'}]") == Backend(
        key=ObjectKey("Backend", "web"),
        name="web",
        endpoint=HttpEndpoint("https://h/mcp"),
        timeout_seconds=30.0,
    )


def test_a_stdio_backend_gets_its_variables_and_its_folder(configs: Configs) -> None:
    (configs.folder / "secret").write_text("from-file\n")
    (configs.folder / "work").mkdir()
    text = """
    backends:
      - name: box
        stdio:
          command: box
          args: [-v, x]
          env: {Z: plain, F: {valueFile: secret}, E: {valueEnv: A}}
          cwd: work
        metadata: {team: t, area: a}
    """

    backend = configs.one(text)

    assert backend.endpoint == StdioEndpoint(
        command="box",
        args=("-v", "x"),
        env=(("E", Secret("env-a")), ("F", Secret("from-file")), ("Z", Secret("plain"))),
        cwd=str(configs.folder / "work"),
    )
    assert backend.metadata == (("area", "a"), ("team", "t"))


BEARER_A = "{type: bearer_token, bearerToken: {tokenEnv: A}}"
INJECT_B = "{type: header_injection, headerInjection: {headerName: X-B, headerValueEnv: B}}"


@pytest.mark.parametrize(
    ("outgoing", "auth"),
    [
        ("{}", NoAuth()),
        (f"{{default: {BEARER_A}}}", BearerToken(Secret("env-a"))),
        (f"{{backends: {{web: {INJECT_B}}}}}", HeaderInjection("X-B", Secret("env-b"))),
        (
            f"{{default: {BEARER_A}, backends: {{web: {INJECT_B}}}}}",
            HeaderInjection("X-B", Secret("env-b")),
        ),
        (f"{{default: {BEARER_A}, backends: {{web: {{type: unauthenticated}}}}}}", NoAuth()),
        (
            "{default: {type: header_injection, headerInjection: {headerName: X, headerValue: v}}}",
            HeaderInjection("X", Secret("v")),
        ),
    ],
    ids=["none", "default", "own", "own beats default", "own none beats default", "inline"],
)
def test_a_backends_own_strategy_beats_the_default(
    configs: Configs, outgoing: str, auth: AuthSpec
) -> None:
    backend = configs.one(f"backends: [{{name: web, url: 'https://h'}}]\noutgoingAuth: {outgoing}")

    assert backend.auth == auth


def test_the_default_strategy_does_not_concern_stdio_backends(configs: Configs) -> None:
    text = (
        f"backends: [{{name: box, stdio: {{command: x}}}}]\noutgoingAuth: {{default: {BEARER_A}}}"
    )

    assert configs.one(text).auth == NoAuth()


def test_secret_headers_stand_before_plaintext_ones(configs: Configs) -> None:
    text = """
    backends:
      - name: web
        url: https://h
        headerForward:
          addPlaintextHeaders: {X-2: plain, X-1: plain}
          addHeadersFromSecret:
            - {headerName: X-4, valueEnv: A}
            - {headerName: X-3, valueEnv: B}
    """

    assert configs.one(text).headers == (
        ("X-4", Secret("env-a")),
        ("X-3", Secret("env-b")),
        ("X-1", Secret("plain")),
        ("X-2", Secret("plain")),
    )


def test_passed_headers_give_way_to_configured_ones(configs: Configs) -> None:
    text = f"""
    backends:
      - {{name: a, url: 'https://h', headerForward: {{addPlaintextHeaders: {{x-one: v}}}}}}
      - {{name: b, url: 'https://h'}}
      - {{name: c, stdio: {{command: x}}}}
    outgoingAuth: {{backends: {{b: {INJECT_B}}}}}
    passthroughHeaders: [X-One, X-B, X-Two]
    """

    backends = configs(text).backends

    assert [backend.passthrough for backend in backends] == [
        ("x-b", "x-two"),
        ("x-one", "x-two"),
        (),
    ]


def test_a_backends_own_timeout_beats_the_default(configs: Configs) -> None:
    text = """
    backends: [{name: a, url: 'https://h'}, {name: b, url: 'https://h'}]
    operational: {timeouts: {default: 1m, perWorkload: {a: 45s}}}
    """

    assert [backend.timeout_seconds for backend in configs(text).backends] == [45.0, 60.0]


def test_a_shared_session_is_asked_for_by_name(configs: Configs) -> None:
    text = "backends: [{name: a, url: 'https://h', sessionScope: shared}]"

    assert configs.one(text).session_scope == "shared"


def test_backends_are_sorted_and_the_order_in_the_file_does_not_count(configs: Configs) -> None:
    a, b = "{name: a, url: 'https://a'}", "{name: b, stdio: {command: b}}"

    forward, backward = configs(f"backends: [{a}, {b}]"), configs(f"backends: [{b}, {a}]")

    assert forward == backward
    assert [backend.name for backend in forward.backends] == ["a", "b"]


def test_the_same_file_gives_an_equal_contribution(configs: Configs) -> None:
    text = f"backends: [{{name: a, url: 'https://a'}}]\noutgoingAuth: {{default: {BEARER_A}}}"

    assert configs(text) == configs(text)


@pytest.mark.parametrize(
    ("server", "url"),
    [
        ("{}", "http://127.0.0.1:4483/mcp"),
        ("{}", "http://localhost:4483/mcp/"),
        ("{host: 0.0.0.0, port: 80}", "http://[::1]/mcp"),
        ("{host: 10.0.0.1, path: /x}", "http://10.0.0.1:4483/x?a=b"),
        ("{path: /}", "http://127.0.0.1:4483"),
        ("{}", "http://127.0.0.1:4483/mcp/ok"),
        ("{}", "http://127.0.0.1:4483/mcp/v/part/"),
        ("{path: /}", "http://127.0.0.1:4483/ok"),
    ],
)
def test_the_gateway_itself_is_no_backend(configs: Configs, server: str, url: str) -> None:
    found = configs(
        f"backends: [{{name: me, url: '{url}'}}, {{name: ok, url: 'https://h'}}]\nserver: {server}"
    )

    assert [backend.name for backend in found.backends] == ["ok"]
    assert found.problems == (
        Problem(
            ObjectKey("Backend", "me"),
            "SelfReference",
            "The url of backend 'me' is the endpoint of this gateway, so it is left out.",
        ),
    )


@pytest.mark.parametrize(
    ("server", "url"),
    [
        ("{}", "http://127.0.0.1:4484/mcp"),
        ("{}", "http://127.0.0.1:4483/other"),
        ("{}", "https://h:4483/mcp"),
        ("{host: 10.0.0.1}", "http://127.0.0.1:4483/mcp"),
        ("{port: 0}", "http://127.0.0.1/mcp"),
    ],
)
def test_a_server_beside_the_gateway_is_a_backend(configs: Configs, server: str, url: str) -> None:
    found = configs(f"backends: [{{name: a, url: '{url}'}}]\nserver: {server}")

    assert len(found.backends) == 1
    assert found.problems == ()


def test_the_rules_have_the_defaults_of_the_file(configs: Configs) -> None:
    assert rules(configs, "") == Rules()


@pytest.mark.parametrize(
    ("aggregation", "conflict"),
    [
        ("conflictResolution: prefix", Conflict.PREFIX),
        ("conflictResolutionConfig: {prefixOnConflict: true}", Conflict.PREFIX_ON_CONFLICT),
        (
            "conflictResolution: priority, conflictResolutionConfig: {priorityOrder: [a]}",
            Conflict.PRIORITY,
        ),
        ("conflictResolution: manual", Conflict.MANUAL),
    ],
)
def test_each_resolution_is_a_rule(configs: Configs, aggregation: str, conflict: Conflict) -> None:
    assert rules(configs, aggregation).conflict == conflict


def test_every_rule_comes_from_the_file(configs: Configs) -> None:
    text = """
      conflictResolutionConfig: {prefixFormat: "{workload}-", priorityOrder: [b, a]},
      excludeAllTools: true, defaultToolVisibility: deny, maxNameLength: 32, allowDots: false,
      tools: [
        {workload: a, filter: [x, y], overrides: {
          x: {name: y, description: "", annotations: {title: "Ü", readOnlyHint: false}}, z: {}}},
        {workload: b, excludeAll: true}]
    """

    assert rules(configs, text) == Rules(
        prefix_format="{workload}-",
        priority_order=("b", "a"),
        tools={
            "a": ToolRules(
                filter=frozenset({"x", "y"}),
                overrides={
                    "x": ToolOverride(
                        name="y",
                        description="",
                        annotations={"title": '"Ü"'.encode(), "readOnlyHint": b"false"},
                    ),
                    "z": ToolOverride(),
                },
            ),
            "b": ToolRules(exclude_all=True),
        },
        exclude_all_tools=True,
        show_unnamed=False,
        max_name_length=32,
        allow_dots=False,
    )


async def test_a_static_source_follows_the_config_in_force(tmp_path: Path) -> None:
    path = tmp_path / "vmcp.yaml"
    path.write_text("backends: [{name: a, url: 'https://h'}]")
    first = load(path, {})
    path.write_text("backends: [{name: b, url: 'https://h'}]")
    second = load(path, {})
    cell = Latest(first)
    source: Source = StaticSource(cell)
    assert source.contribution.value == contribution(first)

    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(source.run())
        cell.set(second)
        await until(lambda: source.contribution.value == contribution(second))
        running.cancel()


def test_a_key_whose_change_waits_for_a_restart_is_a_problem(configs: Configs) -> None:
    loaded = replace(configs.loaded("backends: []"), waiting=("server.port",))

    assert contribution(loaded).problems == (
        Problem(
            ObjectKey("Config", "server.port"),
            "RestartNeeded",
            "The key server.port cannot change while the gateway runs: restart it to apply the new value.",
        ),
    )
