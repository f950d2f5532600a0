from contextlib import suppress

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from tests.config.refusals import refused
from vmcp.config.errors import ConfigInvalid
from vmcp.config.faults import Place
from vmcp.config.parse import parse
from vmcp.config.schema import json_schema
from vmcp.config.yamltext import read

WHOLE = """\
name: all
backends:
  - name: web
    url: https://web.example.test/mcp
    transport: streamable-http
    sessionScope: shared
    metadata: {team: platform}
    headerForward:
      addPlaintextHeaders: {X-Team: s3cret}
      addHeadersFromSecret: [{headerName: X-Key, valueEnv: KEY}]
  - name: box
    stdio: {command: box, args: [-v], env: {A: s3cret, B: {valueFile: b}}, cwd: .}
incomingAuth: {type: anonymous}
outgoingAuth:
  source: inline
  default: {type: bearer_token, bearerToken: {tokenEnv: TOKEN}}
  backends:
    web: {type: header_injection, headerInjection: {headerName: X-Auth, headerValue: s3cret}}
aggregation:
  conflictResolution: priority
  conflictResolutionConfig: {prefixFormat: "{workload}.", priorityOrder: [web, box]}
  tools:
    - workload: web
      filter: [a]
      excludeAll: false
      overrides: {b: {name: a, description: d, annotations: {title: t, readOnlyHint: true}}}
  excludeAllTools: false
  defaultToolVisibility: deny
  maxNameLength: 128
  allowDots: false
operational: {timeouts: {default: 1m, perWorkload: {web: 5s}}, logLevel: debug}
passthroughHeaders: [X-Request-Id]
server:
  host: 0.0.0.0
  port: 8080
  path: /mcp
  allowedHosts: [gw.example.test]
  allowedOrigins: ["https://app.example.test"]
  opsHost: 127.0.0.1
  opsPort: 9000
  sealKeyFile: seal
"""


def test_a_file_with_every_key_is_taken() -> None:
    assert parse(WHOLE).name == "all"


def test_no_secret_shows_in_a_config() -> None:
    assert "s3cret" not in repr(parse(WHOLE))


def test_all_errors_are_told_at_once_in_the_order_of_the_file() -> None:
    text = """\
    nmae: x
    backends:
      - name: a
        url: ftp://h
        transport: carrier-pigeon
      - name: a
      - stdio: {command: x, env: {A: 1}}
        caBundlePath: y
    audit: {}
    audit: {}
    outgoingAuth:
      backends: {zzz: {type: bearer_token, bearerToken: {tokenEnv: A}}}
    operational: {timeouts: {default: 30}}
    server: {port: x}
    """

    assert [(error.path, error.line) for error in refused(text)] == [
        ("nmae", 1),
        ("backends[0].url", 4),
        ("backends[0].transport", 5),
        ("backends[1]", 6),
        ("backends[1].name", 6),
        ("backends[2].name", 7),
        ("backends[2].stdio.env.A", 7),
        ("backends[2].caBundlePath", 8),
        ("audit", 10),
        ("audit", 10),
        ("outgoingAuth.backends.zzz", 12),
        ("operational.timeouts.default", 13),
        ("server.port", 14),
    ]


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [("backends: [", 1, 12), ("backends: []\n  a: b", 2, 3), ("a: *b", 1, 4)],
)
def test_a_text_that_is_no_yaml_is_refused_with_its_place(
    text: str, line: int, column: int
) -> None:
    with pytest.raises(ConfigInvalid) as caught:
        parse(text, name="my.yaml")

    [error] = caught.value.errors
    assert (error.path, error.line, error.column) == ("", line, column)
    assert str(caught.value).startswith("my.yaml: 1 error\n")


def test_a_duplicate_key_is_refused_where_all_else_is_right() -> None:
    [error] = refused("backends: []\nserver: {port: 1, port: 2}")

    assert (error.path, error.message, error.line) == ("server.port", "Is there twice.", 2)


def _places(value: object, before: Place = ()) -> list[Place]:
    match value:
        case dict():
            inner = [_places(one, (*before, key)) for key, one in value.items()]
        case list():
            inner = [_places(one, (*before, index)) for index, one in enumerate(value)]
        case _:
            inner = []
    return [before, *(place for places in inner for place in places)]


def _replaced(tree: object, place: Place, value: object) -> object:
    if not place:
        return value
    first, *rest = place
    if isinstance(tree, dict):
        return {**tree, first: _replaced(tree[first], tuple(rest), value)}
    assert isinstance(tree, list)
    return [_replaced(one, tuple(rest), value) if i == first else one for i, one in enumerate(tree)]


EDITOR = Draft202012Validator(json_schema())
TREE = yaml.safe_load(WHOLE)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
VALUES = st.recursive(
    SCALARS | st.sampled_from(["web", "box", "stdio", "sse", "X-Key", "1s", "https://h", "a b"]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=6,
)


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(_places(TREE)), VALUES)
def test_whatever_stands_at_any_place_the_file_is_refused_or_right_for_editors_too(
    place: Place, value: object
) -> None:
    text = yaml.safe_dump(_replaced(TREE, place, value), allow_unicode=True)

    with suppress(ConfigInvalid):
        parse(text)
        assert list(EDITOR.iter_errors(read(text).value)) == []


@settings(max_examples=150, deadline=None)
@given(st.sampled_from([place for place in _places(TREE) if place]))
def test_a_secret_at_any_place_of_a_wrong_kind_is_never_shown(place: Place) -> None:
    text = yaml.safe_dump(_replaced(TREE, place, [{"s3cret": ["s3cret"]}]), allow_unicode=True)

    for error in refused(text):
        assert "s3cret" not in str(error).replace(".s3cret", "")
