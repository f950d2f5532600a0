"""`vmcp doctor`: the steps of each kind of backend, what it says of each failure, and this machine."""

from __future__ import annotations

import json
import socket
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Ended, Vmcp
from tests.cli.servers import certificate, closing, running, workshop
from tests.support.ports import lasting_port
from vmcp.cli.checkups.hints import HINTS
from vmcp.config.keysfile import line

CRASH = "import sys; sys.stderr.write('no licence\\n'); sys.exit(3)"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "vmcp.yaml"


def write(file: Path, *backends: dict[str, Any], **more: Any) -> None:
    server = {"port": lasting_port(), "opsPort": lasting_port()}
    file.write_text(json.dumps({"backends": backends, "server": server, **more}))


def diagnosed(vmcp: Vmcp, file: Path, *words: str) -> tuple[Ended, dict[str, Any]]:
    """Run the command; return how it ended and each checkup by its name."""
    ended = vmcp("doctor", "-c", str(file), "-o", "json", *words)
    return ended, {one["name"]: one for one in json.loads(ended.out)["checkups"]}


def outcomes(checkup: dict[str, Any]) -> list[tuple[str, str]]:
    return [(step["step"], step["outcome"]) for step in checkup["steps"]]


def last(checkup: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = checkup["steps"][-1]
    return found


def test_a_good_server_passes_each_step_with_its_time(
    vmcp: Vmcp, file: Path, workshop_url: str
) -> None:
    write(file, {"name": "shop", "url": workshop_url})

    ended, found = diagnosed(vmcp, file, "shop")

    assert (ended.code, ended.err, list(found)) == (0, "", ["shop"])
    steps = ("dns", "tcp", "http", "protocol", "list", "ping")
    assert outcomes(found["shop"]) == [(step, "ok") for step in steps]
    assert all(step["milliseconds"] >= 0 for step in found["shop"]["steps"])
    assert "7 tools, 1 prompts, 1 resources, 1 templates" in found["shop"]["steps"][4]["detail"]


def test_a_good_command_passes_each_step(vmcp: Vmcp, file: Path) -> None:
    stdio = {"command": sys.executable, "args": ["-m", "mcp_server_time"]}
    write(file, {"name": "time", "stdio": stdio})

    _, found = diagnosed(vmcp, file, "time")

    steps = ("command", "protocol", "list", "ping")
    assert outcomes(found["time"]) == [(step, "ok") for step in steps]


def test_failures_name_the_step_the_cause_and_what_to_do(
    vmcp: Vmcp, file: Path, strange_url: str, free_port: int
) -> None:
    causes = {
        "nobody": ("tcp", "Unreachable"),
        "wants": ("http", "Unauthorized"),
        "busy": ("http", "Overloaded"),
        "broken": ("http", "ServerFailed"),
        "page": ("protocol", "InvalidAnswer"),
        "lost": ("protocol", "NothingThere"),
        "nowhere": ("dns", "HostUnknown"),
    }
    paths = {
        "wants": "401/mcp",
        "busy": "503/mcp",
        "broken": "500/mcp",
        "page": "page/mcp",
        "lost": "404",
    }
    urls = {name: f"{strange_url}/{path}" for name, path in paths.items()}
    urls["nobody"] = f"http://127.0.0.1:{free_port}/mcp"
    urls["nowhere"] = "http://no-such-host.invalid/mcp"
    write(file, *({"name": name, "url": url} for name, url in urls.items()))

    ended, found = diagnosed(vmcp, file)

    assert ended.code == 1
    assert list(found) == ["this machine", *sorted(causes)]
    ends = {name: (last(found[name])["step"], last(found[name])["cause"]) for name in causes}
    assert ends == causes
    assert all(last(found[name])["hint"] == HINTS[cause] for name, (_, cause) in causes.items())


def test_who_breaks_off_is_told_apart_from_who_is_not_there(vmcp: Vmcp, file: Path) -> None:
    with closing() as port:
        write(file, {"name": "shy", "url": f"http://127.0.0.1:{port}/mcp"})

        _, found = diagnosed(vmcp, file, "shy")

    assert (last(found["shy"])["step"], last(found["shy"])["cause"]) == ("http", "ConnectionLost")


def test_a_silent_backend_is_given_up_on_and_keeps_nobody(
    vmcp: Vmcp, file: Path, strange_url: str, workshop_url: str
) -> None:
    silent = {"name": "silent", "url": f"{strange_url}/hang/mcp"}
    write(file, silent, {"name": "shop", "url": workshop_url})

    ended, found = diagnosed(vmcp, file, "silent", "shop", "--timeout", "3")

    assert list(found) == ["shop", "silent"]
    assert found["shop"]["ok"] is True
    assert last(found["silent"])["cause"] == "TimedOut"
    assert ended.err == "1 of 2 checkups failed.\n"


def test_a_certificate_that_is_not_trusted_is_described(
    vmcp: Vmcp, file: Path, tmp_path: Path
) -> None:
    with running(workshop().streamable_http_app(), **certificate(tmp_path)) as port:
        url = f"https://127.0.0.1:{port}/mcp"
        trusting = {"name": "b", "url": url, "caBundlePath": str(tmp_path / "cert.pem")}
        write(file, {"name": "a", "url": url}, trusting)

        _, found = diagnosed(vmcp, file, "a", "b")

    assert last(found["a"])["cause"] == "CertificateUntrusted"
    about = "Certificate for 127.0.0.1, issued by 127.0.0.1, valid until 2126-01-01."
    assert last(found["a"])["detail"].endswith(about)
    steps = {step["step"]: step["detail"] for step in found["b"]["steps"]}
    assert (steps["tls"], found["b"]["ok"]) == (about, True)


def test_plain_http_where_tls_is_wanted_is_told(vmcp: Vmcp, file: Path, strange_url: str) -> None:
    write(file, {"name": "plain", "url": strange_url.replace("http://", "https://")})

    _, found = diagnosed(vmcp, file, "plain")

    assert (last(found["plain"])["step"], last(found["plain"])["cause"]) == ("tls", "NoTls")


def test_of_a_command_that_ends_the_last_words_are_shown(vmcp: Vmcp, file: Path) -> None:
    crash = {"command": sys.executable, "args": ["-c", CRASH]}
    write(
        file, {"name": "crash", "stdio": crash}, {"name": "none", "stdio": {"command": "no-such"}}
    )

    _, found = diagnosed(vmcp, file, "crash", "none")

    assert last(found["crash"])["cause"] == "ProcessEnded"
    assert found["crash"]["stderr"] == ["no licence"]
    assert outcomes(found["none"]) == [("command", "failed")]
    assert last(found["none"])["cause"] == "CommandNotFound"


def test_a_person_reads_marks_times_and_hints(vmcp: Vmcp, file: Path) -> None:
    write(file, {"name": "none", "stdio": {"command": "no-such"}})

    ended = vmcp("doctor", "none", "-c", str(file))

    first, step, hint = ended.out.splitlines()
    assert first == "none  no-such"
    assert step.split()[:2] == ["FAIL", "command"]
    assert hint.strip() == f"-> {HINTS['CommandNotFound']}"


def test_a_name_that_the_file_does_not_have_is_wrong_usage(vmcp: Vmcp, file: Path) -> None:
    write(file, {"name": "shop", "url": "http://127.0.0.1:1/mcp"})

    ended = vmcp("doctor", "shp", "-c", str(file))

    assert (ended.code, ended.err) == (
        2,
        "The config has no backend 'shp'. Did you mean 'shop'?\n",
    )


def test_no_secret_of_the_config_is_shown(
    vmcp: Vmcp, file: Path, monkeypatch: pytest.MonkeyPatch, strange_url: str
) -> None:
    monkeypatch.setenv("TOKEN", "canary-1")
    strategy = {"type": "bearer_token", "bearerToken": {"tokenEnv": "TOKEN"}}
    web = {"name": "web", "url": f"{strange_url}/401/mcp?key=canary-2"}
    command = {
        "command": sys.executable,
        "args": ["-c", CRASH, "canary-3"],
        "env": {"A": "canary-4"},
    }
    write(file, web, {"name": "own", "stdio": command}, outgoingAuth={"default": strategy})

    ended = vmcp("doctor", "-c", str(file))

    assert "401" in ended.out
    assert "canary" not in ended.out + ended.err


def test_files_that_others_may_read_or_write_are_warned_of(vmcp: Vmcp, file: Path) -> None:
    secret = file.parent / "token"
    secret.write_text("canary")
    strategy = {"type": "bearer_token", "bearerToken": {"tokenFile": "token"}}
    write(file, outgoingAuth={"default": strategy})
    secret.chmod(0o644)
    file.chmod(0o666)

    ended, found = diagnosed(vmcp, file)

    causes = {step["cause"] for step in found["this machine"]["steps"] if "cause" in step}
    assert causes == {"OthersMayRead", "OthersMayWrite"}
    assert ended.code == 0


def test_a_file_of_api_keys_is_a_secret_where_it_holds_more_than_hashes(
    vmcp: Vmcp, file: Path
) -> None:
    keys = file.parent / "keys.txt"
    write(file, incomingAuth={"type": "api_key", "keysFile": "keys.txt"})
    warned = []
    for text in (line("ada", "k" * 32), f"ada: {'k' * 32}"):
        keys.write_text(f"{text}\n")
        keys.chmod(0o644)
        _, found = diagnosed(vmcp, file)
        steps = found["this machine"]["steps"]
        warned.append([step["detail"] for step in steps if step.get("cause") == "OthersMayRead"])

    assert warned == [[], [f"Everybody may read {keys}, which holds a secret."]]


def test_a_port_that_another_program_has_fails(vmcp: Vmcp, file: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        file.write_text(f"backends: []\nserver: {{port: {taken.getsockname()[1]}, opsPort: 0}}\n")

        ended, found = diagnosed(vmcp, file)

    assert ended.code == 1
    assert [step["cause"] for step in found["this machine"]["steps"] if "cause" in step] == [
        "CannotListen"
    ]


def test_who_listens_for_everybody_and_asks_nobody_is_warned(vmcp: Vmcp, file: Path) -> None:
    # An address of nobody: that it cannot be listened on is told as well.
    file.write_text("backends: []\nserver: {host: 192.0.2.1, port: 4483, opsPort: 0}\n")

    _, found = diagnosed(vmcp, file)

    causes = [step["cause"] for step in found["this machine"]["steps"] if "cause" in step]
    assert causes == ["LetsEverybodyIn", "CannotListen"]


def test_our_own_certificate_and_its_key_are_looked_at(
    vmcp: Vmcp, file: Path, tmp_path: Path
) -> None:
    certificate(tmp_path)
    (tmp_path / "key.pem").chmod(0o644)
    tls = {"certFile": "cert.pem", "keyFile": "key.pem"}
    write(file)
    config = json.loads(file.read_text())
    config["server"]["tls"] = tls
    file.write_text(json.dumps(config))

    _, found = diagnosed(vmcp, file)

    steps = found["this machine"]["steps"]
    assert any("valid until 2126-01-01" in step["detail"] for step in steps)
    warned = [step["detail"] for step in steps if step.get("cause") == "OthersMayRead"]
    assert warned == [f"Everybody may read {tmp_path / 'key.pem'}, which holds a secret."]


def test_servers_of_a_desktop_client_are_looked_at(
    vmcp: Vmcp, tmp_path: Path, workshop_url: str
) -> None:
    file = tmp_path / "desktop.json"
    file.write_text(json.dumps({"mcpServers": {"shop": {"url": workshop_url}}}))

    ended = vmcp("doctor", "shop", "--mcp-json", str(file))
    explained = vmcp("explain", "shop_add", "--mcp-json", str(file))

    assert (ended.code, explained.code) == (0, 0)
