"""Where a request comes from: the word of proxies counts where they are trusted, and only as far."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from vmcp.transport.incoming.arrival import Arrival, proxies

PROXY, INNER, CLIENT, LIAR = "10.0.0.1", "10.0.0.2", "203.0.113.7", "198.51.100.66"
TRUSTED = proxies(["10.0.0.0/8", "fd00::/8"])


def arrive(
    headers: Mapping[str, str], peer: str = PROXY, trusted: list[str] | None = None
) -> Arrival:
    scope = {"client": (peer, 50_000), "scheme": "http"}
    believed = TRUSTED if trusted is None else proxies(trusted)
    return believed.arrival(scope, {"host": "inner:4483", **headers})


ALL = {
    "x-forwarded-for": CLIENT,
    "x-forwarded-proto": "https",
    "x-forwarded-host": "mcp.example.test",
    "x-forwarded-prefix": "/gw/",
}


def test_a_trusted_proxy_is_believed() -> None:
    assert arrive(ALL) == Arrival(CLIENT, "https", "mcp.example.test", "/gw")


@pytest.mark.parametrize("trusted", [[], ["192.0.2.0/24"], ["10.0.0.2"]])
def test_nobody_else_is(trusted: list[str]) -> None:
    said = {**ALL, "forwarded": f"for={LIAR};proto=https;host=x"}

    assert arrive(said, trusted=trusted) == Arrival(PROXY, "http", "inner:4483")


@pytest.mark.parametrize(
    ("peer", "listed", "client"),
    [
        (PROXY, CLIENT, CLIENT),
        (PROXY, f"{LIAR}, {CLIENT}", CLIENT),
        (PROXY, f"{LIAR}, {CLIENT}, {INNER}", CLIENT),
        (PROXY, f"{INNER}, {INNER}", INNER),
        (PROXY, f"{CLIENT}, nonsense", PROXY),
        (PROXY, f"{CLIENT}, unknown, {INNER}", INNER),
        (PROXY, "", PROXY),
        (PROXY, f"{CLIENT}:4711", CLIENT),
        (PROXY, "[2001:db8::1]:4711", "2001:db8::1"),
        (PROXY, "2001:DB8::1", "2001:db8::1"),
        (PROXY, f"::ffff:{CLIENT}", CLIENT),
        ("fd00::1", CLIENT, CLIENT),
        ("::ffff:10.0.0.1", CLIENT, CLIENT),
        (CLIENT, LIAR, CLIENT),
    ],
)
def test_the_client_is_the_nearest_address_that_is_no_proxy(
    peer: str, listed: str, client: str
) -> None:
    assert arrive({"x-forwarded-for": listed}, peer).address == client


def test_where_every_address_is_trusted_the_farthest_one_is_the_client() -> None:
    assert arrive({"x-forwarded-for": f"{CLIENT}, {LIAR}"}, LIAR, ["*"]).address == CLIENT


@pytest.mark.parametrize(
    ("header", "arrival"),
    [
        (
            f"for={CLIENT};proto=https;host=mcp.example.test",
            Arrival(CLIENT, "https", "mcp.example.test"),
        ),
        (f'For="{CLIENT}:80"; Proto=HTTPS', Arrival(CLIENT, "https", "inner:4483")),
        (
            'for="[2001:db8::1]:80";host="a.test:8443"',
            Arrival("2001:db8::1", "http", "a.test:8443"),
        ),
        (
            f"for={LIAR};proto=https, for={CLIENT}, for={INNER}",
            Arrival(CLIENT, "http", "inner:4483"),
        ),
        (f'for="_hidden, {LIAR}"', Arrival(PROXY, "http", "inner:4483")),
        ("for=unknown;proto=https", Arrival(PROXY, "http", "inner:4483")),
        ('for="unterminated', Arrival(PROXY, "http", "inner:4483")),
        (";;,=,", Arrival(PROXY, "http", "inner:4483")),
    ],
)
def test_forwarded_is_read_as_the_standard_writes_it(header: str, arrival: Arrival) -> None:
    assert arrive({"forwarded": header}) == arrival


def test_forwarded_of_a_client_does_not_pass_a_proxy_that_writes_the_other_headers() -> None:
    assert arrive({"forwarded": f"for={LIAR}", "x-forwarded-for": CLIENT}).address == CLIENT


@pytest.mark.parametrize(
    ("said", "arrival"),
    [
        ({"x-forwarded-proto": "gopher"}, Arrival(CLIENT, "http", "inner:4483")),
        ({"x-forwarded-host": "a b"}, Arrival(CLIENT, "http", "inner:4483")),
        ({"x-forwarded-host": "a.test/x"}, Arrival(CLIENT, "http", "inner:4483")),
        ({"x-forwarded-proto": "http, https"}, Arrival(CLIENT, "https", "inner:4483")),
        ({"x-forwarded-prefix": "//evil.test"}, Arrival(CLIENT, "http", "inner:4483")),
        ({"x-forwarded-prefix": "/a\n"}, Arrival(CLIENT, "http", "inner:4483")),
        ({"x-forwarded-prefix": "/"}, Arrival(CLIENT, "http", "inner:4483")),
    ],
)
def test_what_is_no_scheme_host_or_path_is_passed_over(
    said: Mapping[str, str], arrival: Arrival
) -> None:
    assert arrive({"x-forwarded-for": CLIENT, **said}) == arrival


def test_each_hop_has_its_own_word_where_there_are_as_many() -> None:
    said = {
        "x-forwarded-for": f"{CLIENT}, {INNER}",
        "x-forwarded-proto": "https, http",
        "x-forwarded-host": "a.test, b.test",
    }

    assert arrive(said) == Arrival(CLIENT, "https", "a.test")


def test_a_header_without_end_costs_little() -> None:
    assert arrive({"x-forwarded-for": ", ".join([PROXY] * 4000)}).address == PROXY
    assert arrive({"forwarded": "a" * 60_000}).address == PROXY
    assert arrive({"forwarded": 'a="' + "a" * 60_000}).address == PROXY
    assert arrive({"forwarded": "a=," * 20_000}).address == PROXY


def test_what_comes_by_no_network_has_no_address() -> None:
    assert TRUSTED.arrival({"client": None, "scheme": "http"}, {}) == Arrival("", "http", "")
