import pytest

from tests.config.refusals import BOTH, HTTP, STDIO, refused
from vmcp.config.parse import parse

BEARER = "{type: bearer_token, bearerToken: {tokenEnv: A}}"
INJECT = "{type: header_injection, headerInjection: {headerName: X-Key, headerValueEnv: A}}"


def forwarding(name: str, auth: str) -> str:
    """Return a config whose backend `web` forwards a header beside some outgoing auth."""
    return (
        "backends: [{name: web, url: 'https://h', "
        f"headerForward: {{addPlaintextHeaders: {{{name}: x}}}}}}]\noutgoingAuth: {auth}"
    )


@pytest.mark.parametrize(
    ("text", "path", "message", "suggestion"),
    [
        (f"backends: [{HTTP}, {STDIO}, {HTTP}]", "backends[2].name", "Is there twice.", None),
        (
            f"{BOTH}outgoingAuth: {{backends: {{wbe: {BEARER}}}}}",
            "outgoingAuth.backends.wbe",
            "Names no backend of this file.",
            "Did you mean 'web'?",
        ),
        (
            f"backends: []\noutgoingAuth: {{backends: {{web: {BEARER}}}}}",
            "outgoingAuth.backends.web",
            "Names no backend of this file.",
            None,
        ),
        (
            f"{BOTH}operational: {{timeouts: {{perWorkload: {{Web: 1s}}}}}}",
            "operational.timeouts.perWorkload.Web",
            "Names no backend of this file.",
            "Did you mean 'web'?",
        ),
        (
            f"{BOTH}outgoingAuth: {{backends: {{box: {BEARER}}}}}",
            "outgoingAuth.backends.box",
            "Has no effect on a stdio backend.",
            "Hand the credential to the command in stdio.env.",
        ),
        (
            forwarding("authorization", f"{{default: {BEARER}}}"),
            "backends[0].headerForward.addPlaintextHeaders.authorization",
            "This header is the one that outgoingAuth sets for the backend.",
            None,
        ),
        (
            forwarding("x-key", f"{{backends: {{web: {INJECT}}}}}"),
            "backends[0].headerForward.addPlaintextHeaders.x-key",
            "This header is the one that outgoingAuth sets for the backend.",
            None,
        ),
        (
            (
                "backends: [{name: web, url: 'https://h', headerForward: {addHeadersFromSecret: "
                f"[{{headerName: X-KEY, valueEnv: A}}]}}}}]\noutgoingAuth: {{default: {INJECT}}}"
            ),
            "backends[0].headerForward.addHeadersFromSecret[0].headerName",
            "This header is the one that outgoingAuth sets for the backend.",
            None,
        ),
        (
            f"backends: [{STDIO}]\npassthroughHeaders: [X-A]",
            "passthroughHeaders",
            "Has no effect: there are only stdio backends.",
            None,
        ),
        (
            f"{BOTH}passthroughHeaders: [X-A, x-b, x-a]",
            "passthroughHeaders[2]",
            "Is there twice.",
            None,
        ),
        (
            f"{BOTH}passthroughHeaders: [authorization]",
            "passthroughHeaders[0]",
            "Is a credential of the caller for this gateway and never passed on.",
            "Give the backend a credential of its own in outgoingAuth.",
        ),
        (
            f"{BOTH}passthroughHeaders: [Cookie]",
            "passthroughHeaders[0]",
            "Is a header that the gateway writes itself or never sends.",
            None,
        ),
    ],
    ids=lambda value: str(value)[-50:],
)
def test_sections_that_do_not_agree_are_refused(
    text: str, path: str, message: str, suggestion: str | None
) -> None:
    [error] = refused(text)

    assert (error.path, error.message, error.suggestion) == (path, message, suggestion)


@pytest.mark.parametrize(
    "text",
    [
        forwarding("authorization", f"{{default: {INJECT}}}"),
        forwarding(
            "authorization",
            f"{{default: {BEARER}, backends: {{web: {{type: unauthenticated}}}}}}",
        ),
        f"{BOTH}outgoingAuth: {{default: {BEARER}, backends: {{box: {{type: unauthenticated}}}}}}",
        f"{BOTH}passthroughHeaders: [X-A]",
        "backends: []\npassthroughHeaders: [X-A]",
    ],
    ids=["other header", "own strategy", "stdio without credential", "mixed", "no backends"],
)
def test_sections_that_agree_are_taken(text: str) -> None:
    assert parse(text)


def test_a_backend_that_is_wrong_itself_still_counts_as_named() -> None:
    text = f"""
    backends: [{{name: web, url: 'ftp://h'}}]
    outgoingAuth: {{backends: {{web: {BEARER}}}}}
    """

    assert [error.path for error in refused(text)] == ["backends[0].url"]
