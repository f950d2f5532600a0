"""The era of a message follows from its version header, its method and its `_meta`."""

from __future__ import annotations

import pytest

from vmcp.model.document import Document
from vmcp.model.inventory import Era
from vmcp.protocol.document import split
from vmcp.protocol.era import era_of
from vmcp.protocol.methods import META_VERSION, SESSIONED_VERSIONS

CLAIM = Document(((META_VERSION, b'"2026-07-28"'),))
NO_CLAIM = split(b'{"progressToken":1}')


@pytest.mark.parametrize("method", ["tools/call", "initialize", None])
@pytest.mark.parametrize("version", [None, *SESSIONED_VERSIONS])
def test_without_a_claim_a_known_version_or_none_is_sessioned(
    version: str | None, method: str | None
) -> None:
    assert era_of(version, method, None) is Era.SESSIONED
    assert era_of(version, method, NO_CLAIM) is Era.SESSIONED


@pytest.mark.parametrize("version", ["2026-07-28", "2027-01-01", "1999-01-01", "", "2025-11-25 "])
@pytest.mark.parametrize("method", ["tools/call", "initialize", None])
def test_a_header_that_names_no_sessioned_version_is_stateless(
    version: str, method: str | None
) -> None:
    assert era_of(version, method, None) is Era.STATELESS


@pytest.mark.parametrize("version", [None, *SESSIONED_VERSIONS])
@pytest.mark.parametrize("claim", [b'"2026-07-28"', b'"2025-11-25"', b"null", b"7"])
def test_a_claim_in_meta_is_stateless_whatever_the_header_says(
    version: str | None, claim: bytes
) -> None:
    assert era_of(version, "tools/call", Document(((META_VERSION, claim),))) is Era.STATELESS


@pytest.mark.parametrize("version", [None, *SESSIONED_VERSIONS])
def test_initialize_with_a_claim_in_meta_is_sessioned(version: str | None) -> None:
    assert era_of(version, "initialize", CLAIM) is Era.SESSIONED
