import ssl

import pytest

from tests.config.certificates import certificate, private_key
from vmcp.config.pem import BundleInvalid, normalised

A, B = certificate("a"), certificate("b")


def test_a_bundle_is_its_certificates_in_order() -> None:
    assert normalised(A + B) == A + B


@pytest.mark.parametrize(
    "text",
    [f"# Kök sertifika, ™\n{A}", f"{A}\n\n\n", A.replace("\n", "\r\n"), f"junk\n{A}junk"],
    ids=["comment", "blank lines", "windows", "text around"],
)
def test_bundles_with_the_same_certificates_are_equal(text: str) -> None:
    assert normalised(text) == A


def test_the_ssl_module_takes_a_bundle() -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)

    context.load_verify_locations(cadata=normalised(f"# ™\n{A}{B}"))

    assert context.cert_store_stats()["x509"] == 2


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "no PEM certificate"),
        ("no certificate", "no PEM certificate"),
        (private_key(), "no PEM certificate"),
        (A + private_key(), "private key"),
        (A.replace("MII", "!!!", 1), "cannot be read"),
        (A + "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", "cannot be read"),
        (A + A.replace("-----END CERTIFICATE-----\n", ""), "cannot be read"),
    ],
    ids=["empty", "text", "key alone", "key beside", "broken", "one of two", "cut off"],
)
def test_a_text_that_is_no_bundle_is_refused(text: str, complaint: str) -> None:
    with pytest.raises(BundleInvalid, match=complaint):
        normalised(text)
