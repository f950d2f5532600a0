import json

import pytest

from tests.config.certificates import certificate
from tests.config.refusals import backend, refused, stdio
from vmcp.config.backends import EnvReference
from vmcp.config.parse import parse
from vmcp.config.references import FromEnv, FromFile
from vmcp.model.secret import Secret


def headers(keys: str) -> str:
    return backend(f"headerForward: {{{keys}}}")


URL = "an absolute http or https URL without credentials and fragment"
SHOWN_NAME = "at most 63 letters, digits, '-', '_' and '.', with a letter or a digit first"
FORWARD = "backends[0].headerForward"
ENV = "backends[0].stdio.env"


@pytest.mark.parametrize("name", ["a", "weather.v2", "A-b_c.9", "0", "x" * 63])
def test_a_name_of_letters_digits_and_a_few_signs_is_taken(name: str) -> None:
    assert parse(f"backends: [{{name: '{name}', url: 'http://x'}}]").backends[0].name == name


@pytest.mark.parametrize("name", ["", "-a", ".a", "_a", "a b", "a/b", "ü", "x" * 64, "a\\n"])
def test_another_name_is_refused(name: str) -> None:
    [error] = refused(f'backends: [{{name: "{name}", url: "http://x"}}]')

    assert (error.path, error.allowed) == ("backends[0].name", SHOWN_NAME)


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:8080/mcp",
        "https://h",
        "HTTPS://H.example/a/@b/c?x=1&y=%20",
        "http://[::1]:1/",
    ],
)
def test_an_http_url_is_taken_as_it_is(url: str) -> None:
    assert parse(f"backends: [{{name: a, url: '{url}'}}]").backends[0].url == url


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("ftp://h/x", "Does not begin with http:// or https://."),
        ("localhost:8080/mcp", "Does not begin with http:// or https://."),
        ("/mcp", "Does not begin with http:// or https://."),
        ("https:/h", "Does not begin with http:// or https://."),
        ("", "Does not begin with http:// or https://."),
        ("https://user:s3cret@h/mcp", "Holds credentials; they belong in outgoingAuth."),
        ("https://s3cret@h/mcp", "Holds credentials; they belong in outgoingAuth."),
        ("https://h/mcp#s3cret", "Holds a fragment."),
        ("https://h/mcp#", "Holds a fragment."),
        ("https://", "Has no host, or the port 0."),
        ("https://:80/s3cret", "Has no host, or the port 0."),
        ("https://h:0/", "Has no host, or the port 0."),
        ("https://h:99999/s3cret", "Is not a URL."),
        ("https://h:s3cret/", "Is not a URL."),
        ("https://[h/", "Is not a URL."),
        ("https://h/a b", "Holds characters that must be percent-encoded."),
        ("https://bücher.example/", "Holds characters that must be percent-encoded."),
        ("https://h/\\t", "Holds characters that must be percent-encoded."),
        (" https://h/", "Holds characters that must be percent-encoded."),
    ],
)
def test_another_url_is_refused_and_never_shown(url: str, message: str) -> None:
    [error] = refused(f'backends: [{{name: a, url: "{url}"}}]')

    assert (error.path, error.message, error.allowed) == ("backends[0].url", message, URL)
    assert "s3cret" not in str(error)


@pytest.mark.parametrize(
    ("text", "path", "message"),
    [
        ("backends: [{name: a}]", "backends[0]", "Needs exactly one of several keys."),
        (
            "backends: [{name: a, url: 'http://h', stdio: {command: x}}]",
            "backends[0]",
            "Needs exactly one of several keys.",
        ),
        (
            backend("transport: stdio"),
            "backends[0].transport",
            "This transport needs the key stdio.",
        ),
        (
            "backends: [{name: a, transport: streamable-http, stdio: {command: x}}]",
            "backends[0].transport",
            "This transport needs the key url.",
        ),
        (backend("transport: http"), "backends[0].transport", "Is none of the allowed values."),
        (backend("transport: 5"), "backends[0].transport", "Is none of the allowed values."),
        (
            backend("sessionScope: session"),
            "backends[0].sessionScope",
            "Is none of the allowed values.",
        ),
        ("backends: [{name: a, stdio: {}}]", "backends[0].stdio.command", "Is required."),
        ("backends: [{name: a, stdio: {command: ' '}}]", "backends[0].stdio.command", "Is empty."),
        (stdio("cwd: ''"), "backends[0].stdio.cwd", "Is empty."),
        ("backends: [{name: a, stdio: python}]", "backends[0].stdio", "Must be a mapping."),
        (
            backend(f"caBundlePath: x, caBundle: {json.dumps(certificate('a'))}"),
            "backends[0]",
            "Takes only one of several keys.",
        ),
        (
            "backends: [{name: a, url: 'http://h', caBundlePath: x}]",
            "backends[0].caBundlePath",
            "Has no effect on an http URL: only https has certificates.",
        ),
        (
            "backends: [{name: a, url: 'http://h', clientCert: {certFile: a, keyFile: b}}]",
            "backends[0].clientCert",
            "Has no effect on an http URL: only https has certificates.",
        ),
        (
            backend("caBundle: nothing"),
            "backends[0].caBundle",
            "The inline data holds no PEM certificate.",
        ),
        *(
            (
                f"backends: [{{name: a, stdio: {{command: x}}, {key}}}]",
                f"backends[0].{key.partition(':')[0]}",
                "Has no effect on a stdio backend.",
            )
            for key in (
                "caBundlePath: x",
                "clientCert: {certFile: a, keyFile: b}",
                "headerForward: {}",
                "sessionScope: shared",
            )
        ),
    ],
    ids=lambda value: str(value)[-40:],
)
def test_keys_that_do_not_fit_together_are_refused(text: str, path: str, message: str) -> None:
    [error] = refused(text)

    assert (error.path, error.message) == (path, message)


def test_the_transport_may_be_said_where_it_fits() -> None:
    text = """
    backends:
      - {name: a, url: 'http://h', transport: streamable-http}
      - {name: b, transport: stdio, stdio: {command: x}}
      - {name: c, url: 'http://h', transport: sse}
    """

    assert [one.transport for one in parse(text).backends] == ["streamable-http", "stdio", "sse"]


@pytest.mark.parametrize(
    ("text", "path", "message"),
    [
        (
            headers("addPlaintextHeaders: {Host: x}"),
            f"{FORWARD}.addPlaintextHeaders",
            "Holds headers",
        ),
        (
            headers("addPlaintextHeaders: {mcp-x: x}"),
            f"{FORWARD}.addPlaintextHeaders",
            "Holds headers",
        ),
        (headers("addPlaintextHeaders: {X Y: x}"), f"{FORWARD}.addPlaintextHeaders", "Holds keys"),
        (headers("addPlaintextHeaders: []"), f"{FORWARD}.addPlaintextHeaders", "Must be a mapping"),
        (
            headers('addPlaintextHeaders: {X: "s3cret\\n"}'),
            f"{FORWARD}.addPlaintextHeaders.X",
            "The value holds a line break",
        ),
        (
            headers("addPlaintextHeaders: {X: ''}"),
            f"{FORWARD}.addPlaintextHeaders.X",
            "The value is",
        ),
        (
            headers("addPlaintextHeaders: {X: 12345}"),
            f"{FORWARD}.addPlaintextHeaders.X",
            "Must be text",
        ),
        (headers("addPlaintextHeaders: {X: }"), f"{FORWARD}.addPlaintextHeaders.X", "Must be text"),
        (
            headers("addPlaintextHeaders: {X-A: a, x-a: b}"),
            f"{FORWARD}.addPlaintextHeaders.x-a",
            "This header is named twice",
        ),
        (
            headers(
                "addHeadersFromSecret: [{headerName: X, valueEnv: A}, {headerName: x, valueEnv: B}]"
            ),
            f"{FORWARD}.addHeadersFromSecret[1].headerName",
            "This header is named twice",
        ),
        (
            headers(
                "addHeadersFromSecret: [{headerName: X, valueEnv: A}], addPlaintextHeaders: {x: b}"
            ),
            f"{FORWARD}.addPlaintextHeaders.x",
            "This header is named twice",
        ),
        (
            headers("addHeadersFromSecret: [{headerName: X}]"),
            f"{FORWARD}.addHeadersFromSecret[0]",
            "Needs exactly one",
        ),
        (
            headers("addHeadersFromSecret: [{headerName: X, valueEnv: A, valueFile: b}]"),
            f"{FORWARD}.addHeadersFromSecret[0]",
            "Needs exactly one",
        ),
        (
            headers("addHeadersFromSecret: [{valueEnv: A}]"),
            f"{FORWARD}.addHeadersFromSecret[0].headerName",
            "Is required",
        ),
        (
            headers("addHeadersFromSecret: [{headerName: 'X Y', valueEnv: A}]"),
            f"{FORWARD}.addHeadersFromSecret[0].headerName",
            "Is not the name of a header",
        ),
        (
            headers("addHeadersFromSecret: [{headerName: Cookie, valueEnv: A}]"),
            f"{FORWARD}.addHeadersFromSecret[0].headerName",
            "Is a header that the gateway writes itself",
        ),
        (
            headers("addHeadersFromSecret: [{headerName: X, valueEnv: 's3cret!'}]"),
            f"{FORWARD}.addHeadersFromSecret[0].valueEnv",
            "Is not the name of an environment variable",
        ),
        (stdio("env: {A B: x}"), ENV, "Holds keys that are no names"),
        (stdio("env: {A=B: x}"), ENV, "Holds keys that are no names"),
        (stdio("env: [A=s3cret]"), ENV, "Must be a mapping of variable names"),
        (stdio("env: {A: 12345}"), f"{ENV}.A", "Must be text"),
        (stdio("env: {A: }"), f"{ENV}.A", "Must be text"),
        (stdio("env: {A: [s3cret]}"), f"{ENV}.A", "Must be text"),
        (stdio('env: {A: "s3cret\\0"}'), f"{ENV}.A", "Holds a NUL character"),
        (stdio("env: {A: {}}"), f"{ENV}.A", "Needs exactly one"),
        (stdio("env: {A: {valueEnv: A, valueFile: b}}"), f"{ENV}.A", "Needs exactly one"),
        (stdio("env: {A: {valueEnv: A, value: s3cret}}"), f"{ENV}.A.value", "Is no key"),
    ],
    ids=lambda value: str(value)[-50:],
)
def test_bad_headers_and_variables_are_refused_and_their_values_never_shown(
    text: str, path: str, message: str
) -> None:
    [error] = refused(text)

    assert error.path == path
    assert error.message.startswith(message)
    assert "s3cret" not in str(error)
    assert "12345" not in str(error)


def test_variables_of_a_child_are_texts_or_references() -> None:
    text = stdio("env: {A: plain, B: {valueEnv: X}, C: {valueFile: y}, D: ''}")

    [entry] = parse(text).backends

    assert entry.stdio is not None
    origins = {
        name: value.origin if isinstance(value, EnvReference) else value
        for name, value in entry.stdio.env.items()
    }
    assert origins == {"A": Secret("plain"), "B": FromEnv("X"), "C": FromFile("y"), "D": Secret("")}


def test_authorization_may_be_forwarded() -> None:
    text = headers("addPlaintextHeaders: {Authorization: Basic x}")

    forward = parse(text).backends[0].header_forward

    assert forward is not None
    assert forward.add_plaintext_headers == {"Authorization": Secret("Basic x")}


def test_an_inline_bundle_is_kept_as_its_certificates() -> None:
    pem = certificate("a")
    lines = "\n".join(f"      {line}" for line in f"# ours\n{pem}".splitlines())

    config = parse(f"backends:\n  - name: a\n    url: https://h\n    caBundle: |\n{lines}\n")

    assert config.backends[0].ca_bundle == pem
