"""Logins are found as kubectl and pods find them, and what is wrong with one is told without what is in it."""

from __future__ import annotations

import json
import logging.config
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.authority import certificate, ec_key
from tests.support.kube_api import FakeApi, kubeconfig
from vmcp.clock import SystemClock
from vmcp.kube import library
from vmcp.kube.access import Access
from vmcp.kube.client import ApiServer
from vmcp.kube.errors import CannotLogIn
from vmcp.kube.login import ByKubeconfig, InCluster
from vmcp.kube.resource import CONFIG_MAPS

CLOCK = SystemClock()
HIDDEN = "hidden-4711"


def pod_files(folder: Path, token: str = "good") -> Path:
    (folder / "token").write_text(f"{token}\n")
    (folder / "ca.crt").write_text(certificate("ca", ec_key()))
    (folder / "namespace").write_text("apps\n")
    return folder


async def by(files: Path | str, context: str | None = None) -> Access:
    return await ByKubeconfig(str(files), context, CLOCK).renew()


def bearer(access: Access) -> str | None:
    return access.authorization.reveal() if access.authorization is not None else None


async def test_a_pod_logs_in_by_the_files_of_its_service_account(tmp_path: Path) -> None:
    login = InCluster("10.0.0.1", "443", pod_files(tmp_path))
    first = await login.renew()
    (tmp_path / "token").write_text("second")
    second = await login.renew()

    assert (bearer(first), first.namespace) == ("Bearer good", "apps")
    assert bearer(second) == "Bearer second"
    assert first.fingerprint == second.fingerprint
    assert first.good_seconds == 60.0


def test_a_file_that_goes_while_it_is_read_is_told_by_its_path(tmp_path: Path) -> None:
    configuration = library._configuration()
    configuration.ssl_ca_cert = str(tmp_path / "ca.crt")

    with pytest.raises(CannotLogIn, match=r"ca\.crt cannot be read: No such file"):
        library._access(configuration, None, None)


async def test_another_ca_of_the_cluster_asks_for_other_connections(tmp_path: Path) -> None:
    login = InCluster("10.0.0.1", "443", pod_files(tmp_path))
    first = await login.renew()
    (tmp_path / "ca.crt").write_text(certificate("other", ec_key("other")))
    second = await login.renew()

    assert first.fingerprint != second.fingerprint


@pytest.mark.parametrize("name", ["token", "ca.crt"])
async def test_a_pod_without_a_file_cannot_log_in(tmp_path: Path, name: str) -> None:
    pod_files(tmp_path)
    (tmp_path / name).unlink()
    with pytest.raises(CannotLogIn, match=str(tmp_path)):
        await InCluster("10.0.0.1", "443", tmp_path).renew()


async def test_a_token_in_a_kubeconfig_is_taken(tmp_path: Path) -> None:
    access = await by(kubeconfig(tmp_path / "k", "http://127.0.0.1:1", {"token": HIDDEN}))

    assert bearer(access) == f"Bearer {HIDDEN}"
    assert access.namespace == "apps"
    assert HIDDEN not in repr(access)


async def test_a_token_file_is_read_anew(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("one\n")
    files = kubeconfig(tmp_path / "k", "http://127.0.0.1:1", {"tokenFile": "token"})
    first = await by(files)
    (tmp_path / "token").write_text("two\n")

    assert bearer(first) == "Bearer one"
    assert bearer(await by(files)) == "Bearer two"


def plugin(folder: Path, status: dict[str, Any], *, code: int = 0) -> dict[str, Any]:
    answer = {"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential"}
    text = json.dumps({**answer, "status": status})
    script = folder / "plugin.py"
    script.write_text(
        f"import sys; print({text!r}); print({HIDDEN!r}, file=sys.stderr); sys.exit({code})"
    )
    words = {"command": sys.executable, "args": [str(script)]}
    return {"exec": {"apiVersion": answer["apiVersion"], **words, "interactiveMode": "Never"}}


async def test_a_plugin_is_asked_for_a_token_that_is_good_until_it_expires(tmp_path: Path) -> None:
    status = {"token": "from-plugin", "expirationTimestamp": "2999-01-01T00:00:00Z"}
    access = await by(kubeconfig(tmp_path / "k", "http://127.0.0.1:1", plugin(tmp_path, status)))

    assert bearer(access) == "Bearer from-plugin"
    assert access.good_seconds is not None
    assert access.good_seconds > 10**6


async def test_a_plugin_that_fails_is_told_without_what_it_says(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    user = plugin(tmp_path, {"token": "x"}, code=1)
    # Whoever sets up logs later, as servers do, has loggers work again that were disabled.
    logging.config.dictConfig({"version": 1, "disable_existing_loggers": False})
    with pytest.raises(CannotLogIn, match="kubectl auth whoami") as told:
        await by(kubeconfig(tmp_path / "k", "http://127.0.0.1:1", user))

    assert HIDDEN not in str(told.value) + caplog.text + "".join(capfd.readouterr())


async def test_a_context_that_is_not_there_is_told_with_those_that_are(tmp_path: Path) -> None:
    files = kubeconfig(tmp_path / "k", "http://127.0.0.1:1", {"token": HIDDEN})
    with pytest.raises(CannotLogIn, match="no context 'other', but: x"):
        await by(files, "other")


async def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(CannotLogIn, match="no kubeconfig"):
        await by(tmp_path / "absent")


@pytest.mark.parametrize(
    "text",
    [
        f"users: [{HIDDEN}",
        HIDDEN,
        f"[{HIDDEN}]",
        f"current-context: x\ncontexts: [{{name: x, context: {{cluster: {HIDDEN}}}}}]",
        f"current-context: x\ncontexts: [{{name: x}}]\nusers: [{{token: {HIDDEN}}}]",
        f"contexts: [{{token: {HIDDEN}}}]",
        "",
    ],
)
async def test_a_broken_kubeconfig_is_told_without_what_is_in_it(tmp_path: Path, text: str) -> None:
    (tmp_path / "k").write_text(text)
    with pytest.raises(CannotLogIn) as told:
        await by(tmp_path / "k")

    assert HIDDEN not in str(told.value)
    assert str(tmp_path / "k") in str(told.value)


async def test_files_are_joined_as_kubectl_joins_them(tmp_path: Path) -> None:
    one = kubeconfig(tmp_path / "one", "http://127.0.0.1:1", {"token": "one"})
    two = kubeconfig(tmp_path / "two", "http://127.0.0.1:2", {"token": "two"})

    assert bearer(await by(f"{one}:{two}")) == "Bearer one"


async def test_requests_are_made_with_the_token(fake: FakeApi, tmp_path: Path) -> None:
    fake.install(CONFIG_MAPS)
    files = kubeconfig(tmp_path / "k", fake.url, {"token": "good"})
    server = ApiServer(ByKubeconfig(str(files), None, CLOCK), CLOCK)

    found = await server.get(CONFIG_MAPS.path("v1", "apps"), {})
    await server.close()

    assert found["items"] == []
