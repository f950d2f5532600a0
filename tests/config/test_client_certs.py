"""The certificates that are shown to backends: read, checked, and told of by file and remedy."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.authority import certificate, ec_key, plain
from vmcp.config.errors import ConfigInvalid
from vmcp.config.load import Loaded, load
from vmcp.discovery.static import contribution
from vmcp.model.backend import ClientCert, HttpEndpoint
from vmcp.model.secret import Secret

OWN, OTHER = certificate("own", ec_key()), certificate("other", ec_key("other"))
KEY = plain(ec_key())


def read(folder: Path, chain: str, key: str, *, more: str = "") -> Loaded:
    (folder / "own.crt").write_text(chain + more)
    (folder / "own.key").write_text(key)
    shown = {"certFile": "own.crt", "keyFile": "own.key"}
    config = {"backends": [{"name": "a", "url": "https://a.test/mcp", "clientCert": shown}]}
    (folder / "vmcp.yaml").write_text(json.dumps(config))
    return load(folder / "vmcp.yaml", {})


def shown(loaded: Loaded) -> ClientCert | None:
    (backend,) = contribution(loaded).backends
    assert isinstance(backend.endpoint, HttpEndpoint)
    return backend.endpoint.client_cert


def test_a_backend_has_the_certificate_that_the_files_hold(tmp_path: Path) -> None:
    loaded = read(tmp_path, OWN, KEY, more=OTHER)

    assert shown(loaded) == ClientCert(OWN + OTHER, Secret(KEY))
    assert {tmp_path / "own.crt", tmp_path / "own.key"} <= set(loaded.files)
    assert "PRIVATE" not in repr(loaded) + repr(contribution(loaded))


def test_a_renewed_certificate_makes_another_backend(tmp_path: Path) -> None:
    before = contribution(read(tmp_path, OWN, KEY))

    assert contribution(read(tmp_path, certificate("own", ec_key(), days=31), KEY)) != before


@pytest.mark.parametrize(
    ("chain", "key", "place", "said"),
    [
        pytest.param("", KEY, "certFile", "own.crt holds no PEM certificate", id="none"),
        pytest.param(
            certificate("own", ec_key(), days=-1), KEY, "certFile", "renew it", id="expired"
        ),
        pytest.param(OWN + KEY, KEY, "certFile", "own.crt holds a private key", id="key in it"),
        pytest.param(OWN, "", "keyFile", "own.key holds no PEM private key", id="no key"),
        pytest.param(OWN, plain(ec_key("other")), "keyFile", "does not belong", id="mismatch"),
        pytest.param(
            OWN, plain(ec_key(), "sesame"), "keyFile", "without a passphrase", id="passphrase"
        ),
    ],
)
def test_what_cannot_be_shown_is_told_with_its_file(
    tmp_path: Path, chain: str, key: str, place: str, said: str
) -> None:
    with pytest.raises(ConfigInvalid) as invalid:
        read(tmp_path, chain, key)

    (error,) = invalid.value.errors
    assert error.path == f"backends[0].clientCert.{place}"
    assert said in error.message
    assert "sesame" not in str(invalid.value)
