import pytest

from vmcp.config.headers import is_reserved, is_token, token_complaint, value_complaint


@pytest.mark.parametrize("name", ["X-Api-Key", "Authorization", "a", "x_y", "!#$%&'*+.^_`|~-0"])
def test_a_token_of_rfc_9110_may_name_a_header(name: str) -> None:
    assert is_token(name)


@pytest.mark.parametrize("name", ["", "X Y", "X:Y", "X\n", "X-ü", "(x)", "a/b", 'a"b'])
def test_what_is_no_token_names_no_header(name: str) -> None:
    assert not is_token(name)


@pytest.mark.parametrize(
    "name",
    [
        "Host",
        "COOKIE",
        "Connection",
        "Keep-Alive",
        "Proxy-Authorization",
        "TE",
        "Trailer",
        "Transfer-Encoding",
        "Upgrade",
        "Content-Length",
        "Accept-Encoding",
        "Content-Type",
        "Accept",
        "Mcp-Session-Id",
        "MCP-Protocol-Version",
        "mcp-param-x",
        "X-Forwarded-For",
        "Last-Event-ID",
    ],
)
def test_what_the_gateway_writes_is_reserved_in_any_case(name: str) -> None:
    assert is_reserved(name)
    assert is_reserved(name.lower())


@pytest.mark.parametrize("name", ["Authorization", "X-Api-Key", "X-Mcp", "User-Agent", "Forward"])
def test_other_headers_are_free(name: str) -> None:
    assert not is_reserved(name)


@pytest.mark.parametrize("value", ["a", "a b", "a\tb", "ü", "Bearer x.y-z="])
def test_a_value_may_hold_inner_white_space_and_any_letter(value: str) -> None:
    assert value_complaint(value) is None


@pytest.mark.parametrize("value", ["", "a\nb", "a\r", "\0", "\x7f", " a", "a ", "\ta", "a\x1bb"])
def test_a_value_that_would_not_arrive_as_it_is_gets_a_complaint(value: str) -> None:
    assert value_complaint(value) is not None


@pytest.mark.parametrize("value", ["", "a b", "a\n", "\u00a0a"])
def test_a_token_holds_no_white_space(value: str) -> None:
    assert token_complaint(value) is not None
