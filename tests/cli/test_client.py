"""The usual mistakes: each ends with one line that says what is wrong and what to do."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Ended, Vmcp
from tests.cli.servers import certificate, closing, running, workshop


def says(ended: Ended, code: int, *parts: str) -> None:
    assert ended.code == code
    assert ended.out == ""
    assert ended.err.count("\n") == 1
    for part in parts:
        assert part in ended.err


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("127.0.0.1:4483/mcp", "lacks its scheme: try http://127.0.0.1:4483/mcp"),
        ("localhost", "lacks its scheme: try http://localhost"),
        ("ftp://127.0.0.1/mcp", "is no HTTP URL: write http://HOST:PORT/mcp"),
        ("http://", "is no HTTP URL"),
        ("http://127.0.0.1:port/mcp", "is no URL"),
        ("http://[::1/mcp", "is no URL"),
    ],
)
def test_a_url_that_cannot_work_is_wrong_usage(vmcp: Vmcp, url: str, message: str) -> None:
    says(vmcp("tools", "--url", url), 2, message)


def test_a_port_where_nobody_listens(vmcp: Vmcp, free_port: int) -> None:
    ended = vmcp("tools", "--url", f"http://127.0.0.1:{free_port}/mcp")

    says(ended, 3, f"No server listens at http://127.0.0.1:{free_port}.", "'vmcp serve'")


def test_a_host_that_does_not_exist(vmcp: Vmcp) -> None:
    says(vmcp("tools", "--url", "http://nowhere.invalid/mcp"), 3, "host", "is not known")


@pytest.mark.parametrize("era", ["auto", "sessioned", "stateless"])
@pytest.mark.parametrize("path", ["", "/", "/wrong"])
def test_another_path_proposes_the_usual_one(
    vmcp: Vmcp, workshop_url: str, path: str, era: str
) -> None:
    origin = workshop_url.removesuffix("/mcp")

    ended = vmcp("tools", "--url", f"{origin}{path}", "--era", era)

    says(ended, 3, "(HTTP 404)", f"usually served at {origin}/mcp")


@pytest.mark.parametrize(
    ("path", "parts"),
    [
        ("/page/mcp", ["is no MCP server: it answers a web page (HTTP 200)"]),
        ("/api/mcp", ["it answers JSON that is not JSON-RPC (HTTP 200)"]),
        ("/empty", ["it answers nothing that has a type (HTTP 200)", "usually served at"]),
        ("/401/mcp", ["wants a credential", "--header 'Authorization: Bearer ...'", "HTTP 401"]),
        ("/403/mcp", ["refuses this caller", "HTTP 403"]),
        ("/404/mcp", ["There is nothing at", "Check the host, the port and the path."]),
        ("/405/mcp", ["takes no POST", "HTTP 405"]),
        ("/421/mcp", ["host name", "HTTP 421"]),
        ("/429/mcp", ["too many requests", "HTTP 429"]),
        ("/500/mcp", ["failed (HTTP 500)", "log"]),
        ("/503/mcp", ["not ready or overloaded", "HTTP 503"]),
        ("/moved/mcp", ["redirects to http://elsewhere.test/mcp: use that URL."]),
        ("/refusing/mcp", ["The server answered with an error: the moon is wrong (-32603)"]),
        ("/invalid/mcp", ["The server's answer is not valid MCP: ", "tools.0"]),
    ],
)
def test_what_answers_otherwise_is_told(
    vmcp: Vmcp, strange_url: str, path: str, parts: list[str]
) -> None:
    says(vmcp("tools", "--url", f"{strange_url}{path}"), 3, *parts)


def test_a_server_that_never_answers(vmcp: Vmcp, strange_url: str) -> None:
    ended = vmcp("tools", "--url", f"{strange_url}/hang/mcp", "--timeout", "0.5")

    says(ended, 3, "Not done within 0.5 s. No answer from", "/hang/mcp")


def test_a_server_that_closes_the_connection(vmcp: Vmcp) -> None:
    with closing() as port:
        ended = vmcp("tools", "--url", f"http://127.0.0.1:{port}/mcp")

    says(ended, 3, "broke off without an answer. Does it want https?")


def test_tls_where_there_is_none(vmcp: Vmcp, workshop_url: str) -> None:
    ended = vmcp("tools", "--url", workshop_url.replace("http:", "https:"))

    says(ended, 3, "No TLS at https://127.0.0.1:", f"plain HTTP: {workshop_url}")


def test_a_certificate_that_nobody_vouches_for(vmcp: Vmcp, tmp_path: Path) -> None:
    keys = certificate(tmp_path)
    with running(workshop().streamable_http_app(), **keys) as port:
        ended = vmcp("tools", "--url", f"https://127.0.0.1:{port}/mcp")

    says(ended, 3, "certificate", "is not trusted", "--ca-file")


def test_a_certificate_is_trusted_by_the_file_that_the_environment_names(
    vmcp: Vmcp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys = certificate(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", keys["ssl_certfile"])
    with running(workshop().streamable_http_app(), **keys) as port:
        ended = vmcp("prompts", "--url", f"https://127.0.0.1:{port}/mcp")

    assert ended.code == 0


def test_a_certificate_is_trusted_by_the_file_that_an_option_names(
    vmcp: Vmcp, tmp_path: Path
) -> None:
    keys = certificate(tmp_path)
    trusted = ("--ca-file", keys["ssl_certfile"])
    with running(workshop().streamable_http_app(), **keys) as port:
        url = f"https://127.0.0.1:{port}/mcp"
        listed = vmcp("tools", "--url", url, *trusted)
        called = vmcp("call", "add", "a=1", "b=2", "--url", url, *trusted)

    assert (listed.code, called.out) == (0, "3\n")


@pytest.mark.parametrize(
    ("content", "message"),
    [(None, "No such file or directory."), ("nothing", "It holds no certificate.")],
)
def test_a_file_without_certificates_is_wrong_usage(
    vmcp: Vmcp, tmp_path: Path, content: str | None, message: str
) -> None:
    file = tmp_path / "ca.pem"
    if content is not None:
        file.write_text(content)

    says(vmcp("tools", "--ca-file", str(file)), 2, f"--ca-file {file}: {message}")


def test_a_password_in_the_url_is_not_repeated(vmcp: Vmcp, strange_url: str) -> None:
    url = strange_url.replace("http://", "http://user:hunter2@")

    ended = vmcp("tools", "--url", f"{url}/403/mcp")

    says(ended, 3, f"{strange_url}/403/mcp refuses this caller")
    assert "hunter2" not in ended.err


def test_a_proxy_of_the_environment_is_not_asked_for_loopback(
    vmcp: Vmcp, paged_url: str, free_port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{free_port}")

    assert vmcp("tools", "--url", paged_url).code == 0


def test_headers_are_sent(vmcp: Vmcp) -> None:
    seen = []

    async def app(scope, _receive, send) -> None:
        seen.append(dict(scope["headers"]).get(b"authorization"))
        await send({"type": "http.response.start", "status": 403, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    with running(app, lifespan="off") as port:
        url = f"http://127.0.0.1:{port}/mcp"
        vmcp("tools", "--url", url, "-H", "Authorization: Bearer t", "-H", "X-Team: a")

    assert set(seen) == {b"Bearer t"}
