"""`vmcp serve` as a process."""

from __future__ import annotations

import http.client
import json
import os
import pty
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import yaml

from tests.cli.conftest import Vmcp, drain, spawn
from tests.support.authority import certificate, ec_key, plain, put

FREE_PORTS = ("--port", "0", "--ops-port", "0")


@pytest.fixture
def file(tmp_path: Path, workshop_url: str) -> Path:
    file = tmp_path / "vmcp.yaml"
    file.write_text(f"backends: [{{name: shop, url: '{workshop_url}'}}]\n")
    return file


@contextmanager
def serving(*words: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Run a gateway; yield it and the URL that its log names."""
    process = spawn("serve", *FREE_PORTS, *words)
    try:
        yield process, json.loads(process.stderr.readline())["url"]
    finally:
        process.terminate()
        process.communicate(timeout=30)


def wait_for(process: subprocess.Popen[str], message: str) -> None:
    while json.loads(process.stderr.readline())["message"] != message:
        pass


def test_what_it_serves_can_be_listed_and_called(vmcp: Vmcp, file: Path) -> None:
    with serving("-c", str(file)) as (process, url):
        wait_for(process, "backend is ready")

        listed = vmcp("tools", "--url", url)
        called = vmcp("call", "shop_add", "a=1", "b=2", "--url", url)

    assert "shop_add" in listed.out
    assert called.out == "3\n"


VIEWS = "views: [{name: sums, tools: [shop_add]}]\n"


def test_each_part_is_listed_and_called_at_its_path(vmcp: Vmcp, file: Path) -> None:
    file.write_text(file.read_text() + VIEWS)
    with serving("-c", str(file)) as (process, url):
        wait_for(process, "backend is ready")

        alone = vmcp("tools", "--url", f"{url}/shop")
        part = vmcp("tools", "--url", f"{url}/v/sums")
        called = vmcp("call", "add", "a=1", "b=2", "--url", f"{url}/shop")
        missing = vmcp("tools", "--url", f"{url}/shap")

    assert "\nadd " in alone.out
    assert "shop_add" not in alone.out
    assert "shop_add" in part.out
    assert "describe" not in part.out
    assert called.out == "3\n"
    assert missing.code == 3
    assert "No backend or view has the name in this path" in missing.err


@pytest.mark.parametrize(
    ("option", "names"),
    [
        (("--backend", "shop"), {"add"}),
        (("--view", "sums"), {"shop_add"}),
    ],
)
def test_a_client_that_launches_it_can_have_a_part(
    file: Path, option: tuple[str, str], names: set[str]
) -> None:
    file.write_text(file.read_text() + VIEWS)
    process = spawn("serve", "--stdio", "-c", str(file), *option, stdin=subprocess.PIPE)
    info = {"protocolVersion": "2025-11-25", "capabilities": {}}
    info["clientInfo"] = {"name": "c", "version": "1"}
    for identity, (method, params) in enumerate([("initialize", info), ("tools/list", {})]):
        message = {"jsonrpc": "2.0", "id": identity, "method": method, "params": params}
        process.stdin.write(json.dumps(message) + "\n")
        process.stdin.flush()
    welcome, listed = (json.loads(process.stdout.readline()) for _ in range(2))
    process.communicate(timeout=30)

    assert welcome["result"]["serverInfo"]["title"] == f"{option[1]} (vmcp gateway)"
    found = {tool["name"] for tool in listed["result"]["tools"]}
    assert names <= found
    assert option[0] == "--backend" or found == names


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--stdio", "--backend", "shap"), "no backend 'shap'. Did you mean 'shop'?"),
        (("--stdio", "--view", "shop"), "The config has no view 'shop'."),
        (("--stdio", "--view", "a", "--backend", "shop"), "goes with --stdio"),
        (("--backend", "shop"), "goes with --stdio"),
        (("--view", "shop"), "goes with --stdio"),
    ],
)
def test_a_part_that_there_is_not_is_told_at_once(
    vmcp: Vmcp, file: Path, words: tuple[str, ...], said: str
) -> None:
    found = vmcp("serve", "-c", str(file), *words)

    assert found.code == 2
    assert said in found.err


def test_sigterm_ends_it_with_0(file: Path) -> None:
    with serving("-c", str(file)) as (process, _):
        wait_for(process, "backend is ready")

        process.send_signal(signal.SIGTERM)

        _, rest = process.communicate(timeout=30)

    assert process.returncode == 0
    assert [line["level"] for line in map(json.loads, rest.splitlines())].count("error") == 0


def test_a_terminal_is_told_the_url_and_gets_text(file: Path) -> None:
    terminal, child = pty.openpty()
    process = spawn("serve", "-c", str(file), *FREE_PORTS, stdout=child, stderr=child)
    os.close(child)
    shown = b""
    while b"backend is ready" not in shown:
        shown += os.read(terminal, 4096)

    process.send_signal(signal.SIGINT)

    assert process.wait(timeout=30) == 0
    shown += drain(terminal)
    assert b"vmcp serves http://127.0.0.1:" in shown
    assert b"INFO    listening url=http://127.0.0.1:" in shown
    assert b"Traceback" not in shown


def test_the_format_and_the_level_of_the_log_can_be_chosen(file: Path) -> None:
    file.write_text("backends: [{name: gone, url: 'http://127.0.0.1:1/mcp'}]\n")
    options = ("--log-format", "text", "--log-level", "warning")
    process = spawn("serve", "-c", str(file), *FREE_PORTS, *options)

    first = process.stderr.readline()

    process.terminate()
    process.communicate(timeout=30)
    assert "WARNING backend is lost backend=gone" in first


def test_errors_in_the_file_are_told_at_once(vmcp: Vmcp, file: Path) -> None:
    file.write_text("backends: [{}]\nserver: {port: many}\n")

    ended = vmcp("serve", "-c", str(file))

    assert ended.code == 2
    assert "backends[0].name" in ended.err
    assert "server.port" in ended.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["--host", "not a host"],
            "server.host (command line): Is not an address or a host name.\n",
        ),
        (
            ["--port", "5", "--ops-port", "5"],
            "server.opsPort (command line): Is taken by clients: host and port are",
        ),
    ],
)
def test_options_are_checked_like_the_file(
    vmcp: Vmcp, file: Path, words: list[str], message: str
) -> None:
    ended = vmcp("serve", "-c", str(file), *words)

    assert (ended.code, ended.out) == (2, "")
    assert message in ended.err


def test_a_port_that_is_taken_is_told_in_one_line(file: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        process = spawn("serve", "-c", str(file), "--port", str(port), "--ops-port", "0")
        _, said = process.communicate(timeout=30)

    assert process.returncode == 1
    assert said == (
        f"Cannot listen on 127.0.0.1 port {port}: Address already in use. Is it running already?\n"
    )


@pytest.mark.parametrize(
    ("host", "words", "status"),
    [("127.0.0.1", [], 200), ("127.1", [], 404), ("127.1", ["--ui"], 200)],
    ids=["on loopback", "elsewhere", "elsewhere with --ui"],
)
def test_the_page_is_shown_on_loopback_or_where_it_is_asked_for(
    file: Path, host: str, words: list[str], status: int
) -> None:
    # Written so it is not taken for the loopback, and still nobody else can reach it.
    file.write_text(f"{file.read_text()}server: {{opsHost: '{host}'}}\n")
    process = spawn("serve", *FREE_PORTS, "-c", str(file), *words)
    try:
        port = int(json.loads(process.stderr.readline())["operations"].rpartition(":")[2])
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        connection.request("GET", "/")
        answer = connection.getresponse()
        answer.read()
        connection.close()
    finally:
        process.terminate()
        process.communicate(timeout=30)

    assert answer.status == status


def test_nobody_listens_for_the_network_and_lets_everybody_in(vmcp: Vmcp, file: Path) -> None:
    ended = vmcp("serve", "-c", str(file), *FREE_PORTS, "--host", "0.0.0.0")

    assert (ended.code, ended.out) == (2, "")
    assert "- server.host (command line): Other machines reach this address" in ended.err
    assert "--insecure-anonymous" in ended.err


@pytest.mark.parametrize(
    ("auth", "words"),
    [("", ["--insecure-anonymous"]), ("incomingAuth: {type: api_key, keysFile: keys}\n", [])],
    ids=["by the flag", "with keys"],
)
def test_the_network_is_listened_to_where_that_is_meant(
    file: Path, auth: str, words: list[str]
) -> None:
    (file.parent / "keys").write_text(f"ada: {'a' * 40}\n")
    # Written so it is not taken for the loopback, and still nobody else can reach it.
    file.write_text(f"{file.read_text()}{auth}server: {{host: '127.1', opsHost: '127.1'}}\n")

    with serving("-c", str(file), *words) as (process, url):
        warned = json.loads(process.stderr.readline())["message"]

    assert url.startswith("http://127.1:")
    who = "use the gateway" if words else "read the operations port"
    assert warned == f"everybody who reaches this address may {who}"


def test_keys_and_certificates_are_exchanged_while_it_serves(
    vmcp: Vmcp, file: Path, tmp_path: Path
) -> None:
    keys, ada, bob = tmp_path / "keys", "a" * 40, "b" * 40
    keys.write_text(f"ada: {ada}\n")
    old, new = (certificate(name, ec_key(name)) for name in ("old", "new"))
    sections = {
        "server": {"tls": put(tmp_path, old, plain(ec_key("old")))},
        "incomingAuth": {"type": "api_key", "keysFile": "keys"},
    }
    file.write_text(f"{file.read_text()}{yaml.safe_dump(sections)}")
    both = tmp_path / "both.pem"
    both.write_text(old + new)

    def listing(url: str, key: str) -> int:
        trusted = ("--ca-file", str(both), "-H", f"Authorization: Bearer {key}")
        return vmcp("tools", "--url", url, *trusted).code

    with serving("-c", str(file)) as (process, url):
        wait_for(process, "backend is ready")
        keys.write_text("ada\n")
        wait_for(process, "the config is broken; the one before stays in force")
        before = listing(url, ada), listing(url, bob)
        keys.write_text(f"bob: {bob}\n")
        wait_for(process, "callers lost their credentials")
        after = listing(url, ada), listing(url, bob)
        put(tmp_path, new, plain(ec_key("new")))
        wait_for(process, "the certificate is another one")
        both.write_text(new)
        last = listing(url, bob)

    assert url.startswith("https://127.0.0.1:")
    assert (before, after, last) == ((0, 3), (3, 0), 0)


@pytest.mark.parametrize("era", ["sessioned", "stateless"])
def test_the_key_in_the_environment_opens_unless_a_header_names_another(
    vmcp: Vmcp, file: Path, tmp_path: Path, era: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = "a" * 40
    (tmp_path / "keys").write_text(f"ada: {key}\n")
    auth = {"incomingAuth": {"type": "api_key", "keysFile": "keys"}}
    file.write_text(f"{file.read_text()}{yaml.safe_dump(auth)}")

    with serving("-c", str(file)) as (process, url):
        wait_for(process, "backend is ready")
        without = vmcp("tools", "--url", url, "--era", era)
        monkeypatch.setenv("VMCP_API_KEY", f"{key}\n")
        opened = vmcp("tools", "--url", url, "--era", era)
        other = vmcp("tools", "--url", url, "--era", era, "-H", "x-api-key: b")
        monkeypatch.setenv("VMCP_API_KEY", f"{key} b")
        broken = vmcp("tools", "--url", url, "--era", era)

    assert (without.code, opened.code, other.code, broken.code) == (3, 0, 3, 2)
    assert "VMCP_API_KEY" in without.err
    assert "VMCP_API_KEY holds no key" in broken.err
    assert key not in broken.err + other.err + without.err
