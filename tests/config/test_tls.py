"""The certificate of the listener is checked with the config: each error names the file and the remedy."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.authority import certificate, ec_key, plain, put, rsa_key
from vmcp.config.errors import ConfigInvalid
from vmcp.config.load import Loaded, load

OWN = certificate("own", ec_key())
OTHER = certificate("other", ec_key("other"))


def read(folder: Path, chain: str, key: str) -> Loaded:
    tls = put(folder, chain, key)
    (folder / "vmcp.yaml").write_text(json.dumps({"backends": [], "server": {"tls": tls}}))
    return load(folder / "vmcp.yaml", {})


@pytest.mark.parametrize(
    ("chain", "key"),
    [
        (OWN, plain(ec_key())),
        (OWN + OTHER, plain(ec_key())),
        (certificate("rsa", rsa_key()), plain(rsa_key())),
    ],
    ids=["elliptic curve", "chain", "RSA"],
)
def test_a_certificate_and_its_key_are_taken(tmp_path: Path, chain: str, key: str) -> None:
    loaded = read(tmp_path, chain, key)

    assert loaded.tls is not None
    assert {loaded.tls.certificate, loaded.tls.key} <= set(loaded.files)
    assert "PRIVATE" not in repr(loaded)


def test_another_certificate_is_another_config(tmp_path: Path) -> None:
    before = read(tmp_path, OWN, plain(ec_key()))

    assert read(tmp_path, certificate("own", ec_key()), plain(ec_key())) != before


@pytest.mark.parametrize(
    ("chain", "key", "place", "said"),
    [
        ("", plain(ec_key()), "certFile", "tls.crt holds no PEM certificate."),
        (
            OWN[:200],
            plain(ec_key()),
            "certFile",
            "tls.crt holds a certificate that cannot be read.",
        ),
        (
            certificate("old", ec_key(), days=-1),
            plain(ec_key()),
            "certFile",
            "tls.crt holds a certificate that expired on ",
        ),
        (OWN, OWN, "keyFile", "tls.key holds no PEM private key that can be read."),
        (
            OWN,
            plain(ec_key(), "open sesame"),
            "keyFile",
            "tls.key holds an encrypted key: write it without a passphrase",
        ),
        (
            OWN,
            plain(ec_key("other")),
            "keyFile",
            "tls.key holds a key that does not belong to the certificate in certFile.",
        ),
        (
            OTHER + OWN,
            plain(ec_key()),
            "keyFile",
            "tls.key belongs to a certificate that is not the first one in certFile: put the server's own first",
        ),
        (
            certificate("weak", rsa_key(1024)),
            plain(rsa_key(1024)),
            "keyFile",
            "tls.key cannot be served with: ",
        ),
    ],
    ids=["empty", "cut", "expired", "no key", "encrypted", "of another", "wrong order", "weak"],
)
def test_what_cannot_be_served_with_is_an_error(
    tmp_path: Path, chain: str, key: str, place: str, said: str
) -> None:
    with pytest.raises(ConfigInvalid) as invalid:
        read(tmp_path, chain, key)

    (error,) = invalid.value.errors
    assert error.path == f"server.tls.{place}"
    assert said in error.message


def test_a_file_that_is_missing_is_named(tmp_path: Path) -> None:
    (tmp_path / "vmcp.yaml").write_text(
        "backends: []\nserver: {tls: {certFile: a.pem, keyFile: b.pem}}"
    )

    with pytest.raises(ConfigInvalid) as invalid:
        load(tmp_path / "vmcp.yaml", {})

    said = [(error.path, error.message) for error in invalid.value.errors]
    assert said == [
        ("server.tls.certFile", "The file a.pem does not exist."),
        ("server.tls.keyFile", "The file b.pem does not exist."),
    ]
