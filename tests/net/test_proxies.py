"""Which URLs go by which proxy, as the environment says."""

from __future__ import annotations

import pytest

from vmcp.net.proxies import Proxy, Unusable, proxies
from vmcp.net.url import parse

PROXY = "http://proxy.test:3128"


def proxy_of(url: str, **environment: str) -> str | None:
    found = proxies(environment).of(parse(url))
    return found.variable if found is not None else None


@pytest.mark.parametrize(
    ("url", "environment", "variable"),
    [
        ("http://a.test/", {"HTTP_PROXY": PROXY}, "HTTP_PROXY"),
        ("https://a.test/", {"HTTP_PROXY": PROXY}, None),
        ("https://a.test/", {"HTTPS_PROXY": PROXY}, "HTTPS_PROXY"),
        ("https://a.test/", {"https_proxy": PROXY, "HTTPS_PROXY": "http://b"}, "https_proxy"),
        ("http://a.test/", {"ALL_PROXY": PROXY}, "ALL_PROXY"),
        ("http://a.test/", {"all_proxy": PROXY, "HTTP_PROXY": PROXY}, "HTTP_PROXY"),
        ("http://a.test/", {"HTTP_PROXY": ""}, None),
        ("http://a.test/", {"http_proxy": "", "HTTP_PROXY": PROXY, "ALL_PROXY": PROXY}, None),
        ("http://a.test/", {"HTTP_PROXY": " "}, None),
        ("http://a.test/", {}, None),
    ],
)
def test_the_first_variable_that_is_set_decides(
    url: str, environment: dict[str, str], variable: str | None
) -> None:
    assert proxy_of(url, **environment) == variable


@pytest.mark.parametrize(
    "url",
    [
        "http://localhost:9/",
        "http://a.LOCALHOST/",
        "http://127.0.0.1/",
        "http://[::1]/",
        "http://127.9.9.9/",
    ],
)
def test_what_is_on_loopback_is_reached_directly(url: str) -> None:
    assert proxy_of(url, HTTP_PROXY=PROXY) is None


@pytest.mark.parametrize(
    ("listed", "url", "is_direct"),
    [
        ("a.test", "http://a.test/", True),
        ("a.test", "http://A.Test./", True),
        ("a.test", "http://b.a.test/", True),
        ("a.test", "http://ba.test/", False),
        (".a.test", "http://a.test/", True),
        (".a.test", "http://b.a.test/", True),
        ("*.a.test", "http://b.a.test/", True),
        ("A.TEST", "http://a.test/", True),
        ("b.test, a.test", "http://a.test/", True),
        ("b.test a.test", "http://a.test/", True),
        ("a.test:8080", "http://a.test:8080/", True),
        ("a.test:8080", "http://a.test/", False),
        ("a.test:80", "http://a.test/", True),
        ("*", "http://a.test/", True),
        ("", "http://a.test/", False),
        (" , ,", "http://a.test/", False),
        ("bücher.test", "http://xn--bcher-kva.test/", True),
        ("10.0.0.1", "http://10.0.0.1/", True),
        ("10.0.0.1", "http://10.0.0.11/", False),
        ("0.0.1", "http://10.0.0.1/", False),
        ("10.0.0.1:80", "http://10.0.0.1/", True),
        ("10.0.0.1:81", "http://10.0.0.1/", False),
        ("10.0.0.0/8", "http://10.1.2.3/", True),
        ("10.0.0.7/8", "http://10.1.2.3/", True),
        ("10.0.0.0/8", "http://11.1.2.3/", False),
        ("10.0.0.0/8", "http://a10.test/", False),
        ("10.0.0.0/8", "http://[::ffff:10.1.2.3]/", True),
        ("fd00::/8", "http://[fd00::1]/", True),
        ("fd00::1", "http://[fd00:0::1]/", True),
        ("[fd00::1]:81", "http://[fd00::1]:81/", True),
        ("[fd00::1]:81", "http://[fd00::1]/", False),
        ("[fd00::1]", "http://[fd00::1]/", True),
    ],
)
def test_no_proxy_names_hosts_suffixes_ports_and_networks(
    listed: str, url: str, *, is_direct: bool
) -> None:
    found = proxy_of(url, HTTP_PROXY=PROXY, NO_PROXY=listed)

    assert (found is None) is is_direct


@pytest.mark.parametrize(
    ("value", "url"),
    [
        ("http://proxy.test:3128", "http://proxy.test:3128/"),
        ("proxy.test:3128", "http://proxy.test:3128/"),
        ("https://proxy.test", "https://proxy.test/"),
        ("http://[fd00::1]:3128/", "http://[fd00::1]:3128/"),
    ],
)
def test_where_a_proxy_is(value: str, url: str) -> None:
    found = proxies({"HTTP_PROXY": value}).of(parse("http://a.test"))

    assert found == Proxy("HTTP_PROXY", parse(url))


def test_credentials_of_a_proxy_are_decoded_and_never_shown() -> None:
    read = proxies({"HTTP_PROXY": "http://us%40er:p%3Aw%25@proxy.test"})

    found = read.of(parse("http://a.test"))

    assert isinstance(found, Proxy)
    assert found.authorization is not None
    assert found.authorization.reveal() == "Basic dXNAZXI6cDp3JQ=="
    for shown in ("us@er", "p:w", "p%3Aw", "dXNAZXI6"):
        assert shown not in repr(read) + repr(found) + str(found)


def test_a_user_without_a_password_has_an_empty_one() -> None:
    found = proxies({"HTTP_PROXY": "http://user@proxy.test"}).of(parse("http://a.test"))

    assert isinstance(found, Proxy)
    assert found.authorization is not None
    assert found.authorization.reveal() == "Basic dXNlcjo="


@pytest.mark.parametrize(
    "value", ["socks5://proxy.test", "http://", "http://proxy.test:x", "ftp://a"]
)
def test_what_is_no_proxy_of_ours_is_not_passed_by(value: str) -> None:
    read = proxies({"ALL_PROXY": value, "NO_PROXY": "b.test"})

    assert read.of(parse("https://a.test")) == Unusable("ALL_PROXY")
    assert read.of(parse("https://b.test")) is None
