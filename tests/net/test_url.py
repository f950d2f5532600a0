"""The parts of URLs, and where a Location leads."""

from __future__ import annotations

import string
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vmcp.net.url import Url, parse


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("http://h", ("http", "h", 80, "h", "/")),
        ("https://h/mcp", ("https", "h", 443, "h", "/mcp")),
        (
            "HTTPS://H.Example.TEST:443/MCP",
            ("https", "h.example.test", 443, "h.example.test", "/MCP"),
        ),
        ("http://h:443/", ("http", "h", 443, "h:443", "/")),
        ("https://h:80/", ("https", "h", 80, "h:80", "/")),
        ("http://h:/x", ("http", "h", 80, "h", "/x")),
        ("http://h_1.local.:8/", ("http", "h_1.local.", 8, "h_1.local.:8", "/")),
        ("http://127.0.0.1:4483/mcp/", ("http", "127.0.0.1", 4483, "127.0.0.1:4483", "/mcp/")),
        ("http://[::1]/", ("http", "::1", 80, "[::1]", "/")),
        ("https://[2001:DB8::1]:8443/", ("https", "2001:db8::1", 8443, "[2001:db8::1]:8443", "/")),
        ("http://b\u00fccher.test/", ("http", "xn--bcher-kva.test", 80, "xn--bcher-kva.test", "/")),
        ("http://\u65e5\u672c.test:8/", ("http", "xn--wgv71a.test", 8, "xn--wgv71a.test:8", "/")),
        ("http://user:pass@h/", ("http", "h", 80, "h", "/")),
        ("http://u@ser@h:8/", ("http", "h", 8, "h:8", "/")),
        ("http://h?q", ("http", "h", 80, "h", "/?q")),
        ("http://h#f", ("http", "h", 80, "h", "/")),
        ("http://h/a?b=c&d#f?g", ("http", "h", 80, "h", "/a?b=c&d")),
        ("http://h/a b?c d", ("http", "h", 80, "h", "/a%20b?c%20d")),
        ("http://h/caf\u00e9?\u65e5", ("http", "h", 80, "h", "/caf%C3%A9?%E6%97%A5")),
        ("http://h/%7Ea%2fb%?%zz", ("http", "h", 80, "h", "/%7Ea%2fb%?%zz")),
        ("http://h/a/../b/./c//d", ("http", "h", 80, "h", "/a/../b/./c//d")),
        ("http://h/a;b=c/d", ("http", "h", 80, "h", "/a;b=c/d")),
        ('http://h/"<>\\^`{|}', ("http", "h", 80, "h", "/%22%3C%3E%5C%5E%60%7B%7C%7D")),
        ("http://h/\x00\x1f\x7f", ("http", "h", 80, "h", "/%00%1F%7F")),
        ("http://h/a\tb\r\nc", ("http", "h", 80, "h", "/abc")),
    ],
)
def test_a_url_has_parts(text: str, parts: tuple[str, str, int, str, str]) -> None:
    assert parse(text) == Url(*parts)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "h",
        "/mcp",
        "//h/mcp",
        "http:",
        "http:h",
        "http:/h",
        "http://",
        "http:///mcp",
        "http://:80/",
        "http://user@/",
        "ftp://h/",
        "ws://h/",
        "file:///etc/passwd",
        "javascript:alert(1)",
        "http://h:65536/",
        "http://h:-1/",
        "http://h:+80/",
        "http://h:x/",
        "http://[::1",
        "http://::1/",
        "http://a b/",
        "http://a\u00a0b/",
        "http://a\x00b/",
        "http://a\x7fb/",
        "http://\ud800/",
        "http://h/\ud800",
        "http://" + "\u00fc" * 64 + ".test/",
        "http://h\u2100/",
    ],
)
def test_what_is_no_url_to_dial_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse(text)


def test_the_port_zero_is_no_default() -> None:
    assert parse("http://h:0/").port == 0


BASE = parse("https://h:8443/a/b?c=d")


@pytest.mark.parametrize(
    ("location", "text"),
    [
        ("/mcp/", "https://h:8443/mcp/"),
        ("c", "https://h:8443/a/c"),
        ("./c", "https://h:8443/a/c"),
        ("../c", "https://h:8443/c"),
        ("../../../c", "https://h:8443/c"),
        ("c/..", "https://h:8443/a/"),
        ("?q", "https://h:8443/a/b?q"),
        ("", "https://h:8443/a/b?c=d"),
        ("#f", "https://h:8443/a/b?c=d"),
        ("/c#f", "https://h:8443/c"),
        ("https://h:8443", "https://h:8443/"),
        ("HTTPS://H:8443/c", "https://h:8443/c"),
        ("https:c", "https://h:8443/a/c"),
        ("//h:8443/c", "https://h:8443/c"),
        ("//other/c", "https://other/c"),
        ("///c", "https://h:8443/c"),
        ("////other/c", "https://h:8443//other/c"),
        ("/.//other/c", "https://h:8443//other/c"),
        ("/\\other/c", "https://h:8443/%5Cother/c"),
        ("\\\\other\\c", "https://h:8443/a/%5C%5Cother%5Cc"),
        ("/\t/other/c", "https://other/c"),
        ("http://h:8443/", "http://h:8443/"),
        ("https://h/", "https://h/"),
        ("https://user:pass@h:8443/c", "https://h:8443/c"),
        ("https://h:8443@other/c", "https://other/c"),
        ("https://other\\@h:8443/c", "https://h:8443/c"),
        ("/a%20b/%2e%2e/%C3%A9", "https://h:8443/a%20b/%2e%2e/%C3%A9"),
        ("/x:y", "https://h:8443/x:y"),
    ],
)
def test_a_location_leads_from_where_it_was_said(location: str, text: str) -> None:
    assert str(BASE.join(location)) == text


@pytest.mark.parametrize(
    ("raw", "target"),
    [("/caf\u00e9".encode(), "/caf%C3%A9"), (b"/caf\xe9", "/caf%C3%A9"), (b"/\xc3(", "/%C3%83(")],
)
def test_bytes_in_a_location_are_utf_8_if_they_can_be(raw: bytes, target: str) -> None:
    assert BASE.join(raw.decode("latin-1")).target == target


@pytest.mark.parametrize(
    "location", ["mailto:me", "x:y", "javascript:1", "https://[::1", "https://h:x/"]
)
def test_a_location_may_lead_nowhere(location: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        BASE.join(location)


def test_the_origin_is_what_a_credential_may_go_to() -> None:
    same = ["https://h:8443/", "https://H:8443/x?y", "https://me@h:8443/"]
    others = ["http://h:8443/", "https://h/", "https://h.:8443/", "https://g:8443/"]

    assert {parse(text).origin for text in same} == {BASE.origin}
    assert all(parse(text).origin != BASE.origin for text in others)


_ODD = st.text(alphabet=string.printable + "\u00e9\u65e5\u00a0\u2028\x00\x7f", max_size=20)


@given(st.one_of(_ODD, st.tuples(_ODD, _ODD).map(lambda two: f"http://{two[0]}/{two[1]}")))
def test_no_text_breaks_out_of_a_request(text: str) -> None:
    found = []
    with suppress(ValueError):
        found.append(parse(text))
    with suppress(ValueError):
        found.append(BASE.join(text))

    for url in found:
        line = f"{url.authority}{url.target}"
        assert url.target.startswith("/")
        assert line.isascii()
        assert line.isprintable()
        assert " " not in line
        assert parse(str(url)) == url
