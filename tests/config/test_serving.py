import pytest

from tests.config.refusals import BOTH, refused
from vmcp.config.parse import parse
from vmcp.config.references import FromEnv, FromFile, SecretOrigin


def server(keys: str) -> str:
    return f"{BOTH}server: {{{keys}}}"


def operational(keys: str) -> str:
    return f"{BOTH}operational: {{{keys}}}"


def test_the_defaults_listen_on_the_loopback_alone() -> None:
    config = parse(BOTH)

    assert (config.server.host, config.server.port, config.server.path) == (
        "127.0.0.1",
        4483,
        "/mcp",
    )
    assert (config.server.ops_host, config.server.ops_port) == ("127.0.0.1", 9464)
    assert (config.server.allowed_hosts, config.server.allowed_origins) == (None, None)
    assert config.server.seal_key_origin is None
    assert config.incoming_auth.type == "anonymous"
    assert config.operational.timeouts.default == 30.0
    assert config.operational.log_level == "info"


@pytest.mark.parametrize(
    "host", ["0.0.0.0", "::1", "::", "localhost", "gw.example.test", "10.0.0.1"]
)
def test_any_address_or_name_may_be_listened_on(host: str) -> None:
    assert parse(server(f"host: '{host}'")).server.host == host


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("gw.example.test", "gw.example.test"),
        ("GW.example.test:8443", "gw.example.test:8443"),
        ("[::1]:4483", "[::1]:4483"),
        ("[::1]", "[::1]"),
        ("127.0.0.1:80", "127.0.0.1:80"),
    ],
)
def test_an_allowed_host_is_a_host_header(given: str, kept: str) -> None:
    assert parse(server(f"allowedHosts: ['{given}']")).server.allowed_hosts == (kept,)


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("https://App.example", "https://app.example"),
        ("https://app.example:443", "https://app.example"),
        ("http://app.example:443", "http://app.example:443"),
        ("http://[::1]:3000", "http://[::1]:3000"),
        ("vscode-webview://abc", "vscode-webview://abc"),
    ],
)
def test_an_allowed_origin_is_kept_as_browsers_write_it(given: str, kept: str) -> None:
    assert parse(server(f"allowedOrigins: ['{given}']")).server.allowed_origins == (kept,)


def test_no_origin_at_all_may_be_allowed() -> None:
    assert parse(server("allowedOrigins: []")).server.allowed_origins == ()


@pytest.mark.parametrize(
    ("keys", "origin"),
    [("sealKeyEnv: SEAL", FromEnv("SEAL")), ("sealKeyFile: seal", FromFile("seal"))],
)
def test_the_key_for_seals_has_one_origin(keys: str, origin: SecretOrigin) -> None:
    assert parse(server(keys)).server.seal_key_origin == origin


def test_timeouts_are_seconds() -> None:
    text = operational("timeouts: {default: 1m30s, perWorkload: {web: 500ms}}")

    timeouts = parse(text).operational.timeouts

    assert timeouts.default == 90.0
    assert timeouts.per_workload == {"web": 0.5}


@pytest.mark.parametrize(
    ("text", "path", "message"),
    [
        *(
            (server(f"host: '{host}'"), "server.host", "Is not an address or a host name.")
            for host in ("", "a b", "h:80", "[::1]", "http://h", "*", "h/", "-x")
        ),
        *(
            (server(f"path: '{path}'"), "server.path", "Is not a path for the endpoint.")
            for path in (
                "",
                "mcp",
                "/mcp/",
                "//",
                "/a//b",
                "/a?b",
                "/a#b",
                "/a b",
                "/ü",
                "/health",
                "/readyz",
                "/.well-known/x",
            )
        ),
        *(
            (
                server(f"allowedHosts: ['{host}']"),
                "server.allowedHosts[0]",
                "Is not the value of a Host header.",
            )
            for host in ("", "*", "http://h", "h:", "h:x", "::1", "h/x", "[h]", "a b")
        ),
        *(
            (server(f"allowedOrigins: ['{one}']"), "server.allowedOrigins[0]", "Is not an origin.")
            for one in (
                "",
                "*",
                "null",
                "h",
                "https://",
                "https://h/",
                "https://h/x",
                "https://*.h",
            )
        ),
        (
            server("allowedHosts: []"),
            "server.allowedHosts",
            "Names no host, so that nobody is served.",
        ),
        (
            server("sealKeyEnv: A, sealKeyFile: b"),
            "server",
            "Takes only one of several keys.",
        ),
        (
            server("port: 9464"),
            "server.opsPort",
            "Is taken by clients: host and port are the same.",
        ),
        (
            server("port: 70000"),
            "server.port",
            "Is out of range.",
        ),
        (operational("logLevel: trace"), "operational.logLevel", "Is none of the allowed values."),
        *(
            (
                operational(f"timeouts: {{default: {value}}}"),
                "operational.timeouts.default",
                "Is not a duration.",
            )
            for value in ("30", "1.5", "true", "[1s]", "thirty", "-1s", "1d", "''")
        ),
        (
            operational("timeouts: {default: 0s}"),
            "operational.timeouts.default",
            "Is out of range.",
        ),
        (
            operational("timeouts: {perWorkload: {web: 24h1ns}}"),
            "operational.timeouts.perWorkload.web",
            "Is out of range.",
        ),
        (
            operational("timeouts: {perWorkload: {web: }}"),
            "operational.timeouts.perWorkload.web",
            "Is not a duration.",
        ),
        (f"{BOTH}incomingAuth: {{}}", "incomingAuth.type", "Is required."),
        (f"{BOTH}incomingAuth: anonymous", "incomingAuth", "Must be a mapping."),
    ],
    ids=lambda value: str(value)[-50:],
)
def test_bad_settings_of_the_server_are_refused(text: str, path: str, message: str) -> None:
    [error] = refused(text)

    assert (error.path, error.message) == (path, message)


def test_two_listeners_may_take_any_free_port() -> None:
    config = parse(server("port: 0, opsPort: 0"))

    assert (config.server.port, config.server.ops_port) == (0, 0)


def test_the_older_transport_is_off_unless_it_is_turned_on() -> None:
    assert not parse(BOTH).server.sse
    assert parse(server("sse: true")).server.sse


@pytest.mark.parametrize("path", ["/sse", "/messages"])
def test_the_endpoint_does_not_lie_on_the_paths_of_the_older_transport(path: str) -> None:
    assert parse(server(f"path: {path}"))

    [error] = refused(server(f"path: {path}, sse: true"))

    assert error.path == "server.path"


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("10.0.0.0/8", "10.0.0.0/8"),
        ("10.0.0.1", "10.0.0.1/32"),
        ("FD00::/8", "fd00::/8"),
        ("::1", "::1/128"),
        ("*", "*"),
    ],
)
def test_a_trusted_proxy_is_an_address_a_network_or_every_one(given: str, kept: str) -> None:
    assert parse(server(f"trustedProxies: ['{given}']")).server.trusted_proxies == (kept,)


@pytest.mark.parametrize(
    ("given", "suggestion"),
    [
        ("10.0.0.1/8", "Did you mean '10.0.0.0/8'?"),
        ("proxy.example.test", None),
        ("10.0.0", None),
        ("", None),
    ],
)
def test_anything_else_is_no_proxy(given: str, suggestion: str | None) -> None:
    (error,) = refused(server(f"trustedProxies: ['{given}']"))

    assert error.path == "server.trustedProxies[0]"
    assert error.message == "Is not an address of proxies."
    assert error.suggestion == suggestion


def test_a_certificate_comes_with_its_key() -> None:
    (error,) = refused(server("tls: {certFile: a}"))

    assert (error.path, error.message) == ("server.tls.keyFile", "Is required.")


@pytest.mark.parametrize("path", ["/sse", "/messages", "/gw/sse", "/gw/messages"])
def test_the_paths_of_the_older_transport_beside_the_endpoint_are_taken(path: str) -> None:
    (error,) = refused(server(f"sse: true, path: {path}"))

    assert error.message == "Is taken by the older transport: sse is on."
