"""Which addresses a guard refuses."""

from __future__ import annotations

import pytest

from vmcp.model.guard import Guard

STRICT = Guard(allow_private=False, allow_loopback=False)
WIDE = Guard(allow_private=True, allow_loopback=True)


@pytest.mark.parametrize(
    "text",
    [
        "169.254.169.254",
        "169.254.0.1",
        "100.100.100.200",
        "168.63.129.16",
        "fe80::1",
        "fe80::1%eth0",
        "fd00:ec2::254",
        "::ffff:169.254.169.254",
        "64:ff9b::a9fe:a9fe",
        "2002:a9fe:a9fe::1",
        "::169.254.169.254",
        "224.0.0.1",
        "ff02::1",
    ],
)
def test_metadata_link_local_and_multicast_addresses_are_never_dialled(text: str) -> None:
    assert WIDE.refusal(text) is not None


@pytest.mark.parametrize(
    "text",
    ["127.0.0.1", "127.9.9.9", "::1", "0.0.0.0", "::", "::ffff:127.0.0.1", "64:ff9b::7f00:1"],
)
def test_loopback_is_refused_unless_it_is_allowed(text: str) -> None:
    private = Guard(allow_private=True, allow_loopback=False)
    loopback = Guard(allow_private=False, allow_loopback=True)

    assert private.refusal(text) == "a loopback address"
    assert loopback.refusal(text) is None


@pytest.mark.parametrize(
    "text", ["10.0.0.1", "172.16.5.5", "192.168.1.1", "100.64.0.1", "fd12::1", "::ffff:10.0.0.1"]
)
def test_private_ranges_are_refused_unless_they_are_allowed(text: str) -> None:
    private = Guard(allow_private=True, allow_loopback=False)

    assert STRICT.refusal(text) == "a private address"
    assert private.refusal(text) is None


@pytest.mark.parametrize("text", ["8.8.8.8", "2606:4700::1111", "64:ff9b::808:808", "example.com"])
def test_public_addresses_and_names_are_left_alone(text: str) -> None:
    assert STRICT.refusal(text) is None


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST.", "api.localhost"])
def test_names_of_this_machine_count_as_its_address(host: str) -> None:
    assert STRICT.refusal_of_host(host) == "a loopback address"
    assert WIDE.refusal_of_host(host) is None
