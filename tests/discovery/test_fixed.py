"""What a reload keeps as it runs, so that nothing is opened or broken by an edit."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.authority import certificate, ec_key, plain, put
from vmcp.config.load import Loaded, load
from vmcp.discovery.fixed import held

OUTSIDE = {"host": "0.0.0.0"}


@pytest.fixture
def keyed(tmp_path: Path) -> dict[str, Any]:
    (tmp_path / "keys").write_text(f"ada: {'a' * 40}\n")
    return {"incomingAuth": {"type": "api_key", "keysFile": str(tmp_path / "keys")}}


def read(folder: Path, **sections: Any) -> Loaded:
    file = folder / "vmcp.yaml"
    file.write_text(json.dumps({"backends": [], **sections}))
    return load(file, {})


def test_an_address_that_stays_is_not_opened_by_a_config_for_another_one(
    tmp_path: Path, keyed: dict[str, Any]
) -> None:
    running = read(tmp_path, server=OUTSIDE, **keyed)

    now = held(read(tmp_path), running)

    assert now.config.server.host == "0.0.0.0"
    assert now.config.incoming_auth.type == "api_key"
    assert now.api_keys == running.api_keys
    assert now.waiting == ("server.host", "incomingAuth")


def test_on_loopback_keys_come_and_go(tmp_path: Path, keyed: dict[str, Any]) -> None:
    open_, closed = read(tmp_path), read(tmp_path, **keyed)

    assert held(closed, open_) == closed
    assert held(open_, closed) == open_


def test_tls_is_neither_begun_nor_given_up_while_it_runs(tmp_path: Path) -> None:
    tls = put(tmp_path, certificate("own", ec_key()), plain(ec_key()))
    secure, plain_ = read(tmp_path, server={"tls": tls}), read(tmp_path)

    given_up, begun = held(plain_, secure), held(secure, plain_)

    assert (given_up.tls, given_up.config.server.tls) == (secure.tls, secure.config.server.tls)
    assert (begun.tls, begun.config.server.tls) == (None, None)
    assert given_up.waiting == begun.waiting == ("server.tls",)


def test_another_certificate_is_taken(tmp_path: Path) -> None:
    running = read(
        tmp_path, server={"tls": put(tmp_path, certificate("a", ec_key()), plain(ec_key()))}
    )
    tls = put(tmp_path, certificate("b", ec_key()), plain(ec_key()))

    now = held(read(tmp_path, server={"tls": tls}), running)

    assert now.tls != running.tls
    assert now.waiting == ()
