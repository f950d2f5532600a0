import pytest

from tests.config.refusals import BOTH, HTTP, backend, refused, stdio

LATER = "Is known, but not implemented in this version."
LATER_VALUE = "This value is known, but not implemented in this version."

LATER_KEYS = [
    "audit",
    "codeMode",
    "compositeToolRefs",
    "compositeTools",
    "groupRef",
    "metadata",
    "optimizer",
    "rateLimiting",
    "sessionStorage",
]


@pytest.mark.parametrize(
    ("text", "path"),
    [
        *((f"{BOTH}{key}: {{}}", key) for key in LATER_KEYS),
        (backend("type: entry"), "backends[0].type"),
        (f"{BOTH}incomingAuth: {{type: anonymous, oidc: {{}}}}", "incomingAuth.oidc"),
        (f"{BOTH}incomingAuth: {{type: anonymous, authz: {{}}}}", "incomingAuth.authz"),
        (
            f"{BOTH}operational: {{failureHandling: {{statusReportingInterval: 1m}}}}",
            "operational.failureHandling.statusReportingInterval",
        ),
        (
            f"{BOTH}aggregation: {{tools: [{{workload: web, toolConfigRef: {{name: x}}}}]}}",
            "aggregation.tools[0].toolConfigRef",
        ),
        (
            f"{BOTH}outgoingAuth: {{default: {{type: unauthenticated, tokenExchange: {{}}}}}}",
            "outgoingAuth.default.tokenExchange",
        ),
    ],
    ids=lambda value: str(value)[-40:],
)
def test_a_key_that_is_known_and_not_implemented_is_refused(text: str, path: str) -> None:
    [error] = refused(text)

    assert (error.path, error.message) == (path, LATER)


@pytest.mark.parametrize(
    ("text", "path", "found", "allowed"),
    [
        (
            f"{BOTH}incomingAuth: {{type: oidc}}",
            "incomingAuth.type",
            "'oidc'",
            "anonymous, api_key",
        ),
        *(
            (
                f"{BOTH}outgoingAuth: {{default: {{type: {kind}}}}}",
                "outgoingAuth.default.type",
                repr(kind),
                "unauthenticated, header_injection, bearer_token",
            )
            for kind in ("token_exchange", "upstream_inject", "aws_sts", "xaa", "obo")
        ),
    ],
    ids=lambda value: str(value)[-30:],
)
def test_a_value_that_is_known_and_not_implemented_is_refused(
    text: str, path: str, found: str, allowed: str
) -> None:
    [error] = refused(text)

    assert (error.path, error.message) == (path, LATER_VALUE)
    assert (error.found, error.allowed) == (found, allowed)


@pytest.mark.parametrize(
    ("text", "path", "suggestion"),
    [
        (f"{BOTH}agregation: {{}}", "agregation", "Did you mean 'aggregation'?"),
        (
            f"{BOTH}passthrough_headers: []",
            "passthrough_headers",
            "Did you mean 'passthroughHeaders'?",
        ),
        (f"{BOTH}zzz: 1", "zzz", None),
        (backend("caBundel: x"), "backends[0].caBundel", "Did you mean 'caBundle'?"),
        (backend("Metadata: {}"), "backends[0].Metadata", "Did you mean 'metadata'?"),
        (stdio("arguments: []"), "backends[0].stdio.arguments", "Did you mean 'args'?"),
        (f"{BOTH}server: {{prot: 1}}", "server.prot", "Did you mean 'port'?"),
        (
            f"{BOTH}operational: {{timeouts: {{perBackend: {{}}}}}}",
            "operational.timeouts.perBackend",
            None,
        ),
        (
            f"{BOTH}aggregation: {{conflictResolutionConfig: {{prefixFmt: x}}}}",
            "aggregation.conflictResolutionConfig.prefixFmt",
            "Did you mean 'prefixFormat'?",
        ),
    ],
    ids=lambda value: str(value)[-40:],
)
def test_an_unknown_key_is_refused_with_what_is_allowed(
    text: str, path: str, suggestion: str | None
) -> None:
    [error] = refused(text)

    assert (error.path, error.message) == (path, "Is no key that is known here.")
    assert error.allowed
    assert error.suggestion == suggestion


def test_a_key_that_may_hold_a_secret_is_not_shown() -> None:
    [error] = refused(
        f"{BOTH}outgoingAuth: {{default: {{type: unauthenticated, token:s3cret: x}}}}"
    )

    assert (error.path, error.message) == ("outgoingAuth.default", "Holds a key that is no name.")
    assert "s3cret" not in str(error)


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("backends:", "backends"),
        (f"{BOTH}server:", "server"),
        (f"{BOTH}name: ~", "name"),
        (backend("caBundle: null"), "backends[0].caBundle"),
        (f"{BOTH}aggregation: {{tools: [{{workload: }}]}}", "aggregation.tools[0].workload"),
    ],
    ids=lambda value: str(value)[-40:],
)
def test_a_key_without_a_value_is_refused(text: str, path: str) -> None:
    [error] = refused(text)

    assert (error.path, error.message) == (path, "Has no value.")


@pytest.mark.parametrize(
    ("text", "path", "message", "found"),
    [
        ("[]", "", "Must be a mapping.", "a list"),
        ("just text", "", "Must be a mapping.", "text (not shown)"),
        ("name: x", "backends", "Is required.", None),
        ("backends: {a: b}", "backends", "Must be a list.", "a mapping"),
        ("backends: [5]", "backends[0]", "Must be a mapping.", "a number"),
        (f"backends: [{HTTP}, ~]", "backends[1]", "Must be a mapping.", "nothing"),
        (f"{BOTH}name: 5", "name", "Must be text.", "the number 5"),
        (f"{BOTH}name: [x]", "name", "Must be text.", "a list"),
        (f"{BOTH}name: ''", "name", "Is empty.", "an empty text"),
        (f"{BOTH}server: {{port: '80'}}", "server.port", "Must be a whole number.", "'80'"),
        (
            f"{BOTH}server: {{port: 1.5}}",
            "server.port",
            "Must be a whole number.",
            "the number 1.5",
        ),
        (f"{BOTH}server: {{port: true}}", "server.port", "Must be a whole number.", "true"),
        (f"{BOTH}server: {{port: -1}}", "server.port", "Is out of range.", "the number -1"),
        (f"{BOTH}server: {{port: 65536}}", "server.port", "Is out of range.", "the number 65536"),
        (f"{BOTH}server: no", "server", "Must be a mapping.", "text (not shown)"),
        (
            f"{BOTH}aggregation: {{excludeAllTools: yes}}",
            "aggregation.excludeAllTools",
            "Must be true or false.",
            "'yes'",
        ),
        (
            f"{BOTH}aggregation: {{excludeAllTools: 1}}",
            "aggregation.excludeAllTools",
            "Must be true or false.",
            "the number 1",
        ),
        (stdio("args: -x"), "backends[0].stdio.args", "Must be a list.", "text (not shown)"),
        (stdio("args: [8080]"), "backends[0].stdio.args[0]", "Must be text.", "the number 8080"),
        (backend("metadata: {a: 1}"), "backends[0].metadata.a", "Must be text.", "the number 1"),
        (backend("metadata: x"), "backends[0].metadata", "Must be a mapping.", "text (not shown)"),
        (
            backend('metadata: {a: "x\\0"}'),
            "backends[0].metadata.a",
            "Holds a NUL character.",
            None,
        ),
        (
            backend('metadata: {a: "\\ud800"}'),
            "backends[0].metadata.a",
            "Holds half of a surrogate pair.",
            None,
        ),
    ],
    ids=lambda value: str(value)[-40:],
)
def test_a_value_of_another_kind_is_refused(
    text: str, path: str, message: str, found: str | None
) -> None:
    [error] = refused(text)

    assert (error.path, error.message, error.found) == (path, message, found)


def test_a_number_where_text_belongs_gets_the_advice_to_quote_it() -> None:
    [error] = refused(backend("metadata: {version: 1.0}"))

    assert error.suggestion == "Put it in quotes."
