import pytest

from tests.config.refusals import BOTH, refused
from vmcp.config.parse import parse
from vmcp.config.references import FromEnv, FromFile, SecretOrigin
from vmcp.model.secret import Secret

DEFAULT = "outgoingAuth.default"


def strategy(keys: str) -> str:
    return f"{BOTH}outgoingAuth: {{default: {{{keys}}}}}"


def injection(keys: str) -> str:
    return strategy(f"type: header_injection, headerInjection: {{{keys}}}")


def bearer(keys: str) -> str:
    return strategy(f"type: bearer_token, bearerToken: {{{keys}}}")


@pytest.mark.parametrize(
    ("keys", "origin"),
    [
        ("headerValue: s3cret", Secret("s3cret")),
        ("headerValueEnv: KEY", FromEnv("KEY")),
        ("headerValueFile: a/key", FromFile("a/key")),
    ],
)
def test_an_injected_header_has_one_origin(keys: str, origin: SecretOrigin) -> None:
    chosen = parse(injection(f"headerName: X-Key, {keys}")).outgoing_auth.default

    assert chosen is not None
    assert chosen.header_injection is not None
    assert chosen.header_injection.origin == origin
    assert "s3cret" not in repr(chosen)


@pytest.mark.parametrize(
    ("keys", "origin"), [("tokenEnv: KEY", FromEnv("KEY")), ("tokenFile: key", FromFile("key"))]
)
def test_a_bearer_token_has_one_origin(keys: str, origin: SecretOrigin) -> None:
    chosen = parse(bearer(keys)).outgoing_auth.default

    assert chosen is not None
    assert chosen.bearer_token is not None
    assert chosen.bearer_token.origin == origin


@pytest.mark.parametrize(
    ("text", "path", "message"),
    [
        (strategy(""), f"{DEFAULT}.type", "Is required."),
        (
            strategy("type: header_injection"),
            DEFAULT,
            "The type header_injection needs the key headerInjection.",
        ),
        (
            strategy("type: bearer_token"),
            DEFAULT,
            "The type bearer_token needs the key bearerToken.",
        ),
        (
            strategy("type: unauthenticated, bearerToken: {tokenEnv: A}"),
            f"{DEFAULT}.bearerToken",
            "Has no effect with the type unauthenticated.",
        ),
        (
            strategy(
                "type: bearer_token, bearerToken: {tokenEnv: A}, "
                "headerInjection: {headerName: X, headerValue: s3cret}"
            ),
            f"{DEFAULT}.headerInjection",
            "Has no effect with the type bearer_token.",
        ),
        (strategy("type: bearerToken"), f"{DEFAULT}.type", "Is none of the allowed values."),
        (
            strategy("type: bearer_token, bearerToken: s3cret"),
            f"{DEFAULT}.bearerToken",
            "Must be a mapping.",
        ),
        (
            strategy("type: bearer_token, bearerToken: {token: s3cret, tokenEnv: A}"),
            f"{DEFAULT}.bearerToken.token",
            "Is no key that is known here.",
        ),
        (bearer(""), f"{DEFAULT}.bearerToken", "Needs exactly one of several keys."),
        (
            bearer("tokenEnv: A, tokenFile: b"),
            f"{DEFAULT}.bearerToken",
            "Needs exactly one of several keys.",
        ),
        (
            bearer("tokenEnv: s3cret-token"),
            f"{DEFAULT}.bearerToken.tokenEnv",
            "Is not the name of an environment variable.",
        ),
        (
            injection("headerName: X"),
            f"{DEFAULT}.headerInjection",
            "Needs exactly one of several keys.",
        ),
        (
            injection("headerName: X, headerValue: s3cret, headerValueEnv: A"),
            f"{DEFAULT}.headerInjection",
            "Needs exactly one of several keys.",
        ),
        (injection("headerValueEnv: A"), f"{DEFAULT}.headerInjection.headerName", "Is required."),
        (
            injection("headerName: Host, headerValueEnv: A"),
            f"{DEFAULT}.headerInjection.headerName",
            "Is a header that the gateway writes itself or never sends.",
        ),
        (
            injection('headerName: X, headerValue: "s3cret\\r\\nX: y"'),
            f"{DEFAULT}.headerInjection.headerValue",
            "The value holds a line break or another control character.",
        ),
        (
            injection("headerName: X, headerValue: 12345"),
            f"{DEFAULT}.headerInjection.headerValue",
            "Must be text.",
        ),
        (
            injection("headerName: X, headerValue: [s3cret]"),
            f"{DEFAULT}.headerInjection.headerValue",
            "Must be text.",
        ),
    ],
    ids=lambda value: str(value)[-50:],
)
def test_a_bad_strategy_is_refused_and_secrets_are_not_shown(
    text: str, path: str, message: str
) -> None:
    [error] = refused(text)

    assert (error.path, error.message) == (path, message)
    assert "s3cret" not in str(error)
    assert "12345" not in str(error)


def test_the_type_in_camel_case_gets_the_right_spelling() -> None:
    error = refused(strategy("type: bearerToken"))[0]

    assert error.suggestion == "Did you mean 'bearer_token'?"
