import json
from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

from tests.config.refusals import BOTH, HTTP
from vmcp.config.schema import Config, json_schema
from vmcp.config.section import Section
from vmcp.config.starter import starter

SCHEMA = json_schema()
VALIDATOR = Draft202012Validator(SCHEMA)


def _sections() -> Iterator[tuple[str, dict[str, Any]]]:
    yield "Config", SCHEMA
    yield from SCHEMA["$defs"].items()


def test_the_schema_is_one_of_2020_12() -> None:
    assert SCHEMA["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    Draft202012Validator.check_schema(SCHEMA)
    assert json.loads(json.dumps(SCHEMA)) == SCHEMA


@pytest.mark.parametrize(("name", "section"), list(_sections()), ids=lambda value: str(value)[:20])
def test_every_section_is_closed_and_every_key_described(
    name: str, section: dict[str, Any]
) -> None:
    assert section["additionalProperties"] is False, name
    assert section["description"]
    for key, value in section["properties"].items():
        assert value.get("description"), f"{name}.{key}"


def test_null_is_no_value_of_any_key() -> None:
    assert '"null"' not in json.dumps(SCHEMA)


def test_keys_have_the_same_names_in_the_schema_and_in_the_file() -> None:
    models = {"Config": Config} | {one.__name__: one for one in Section.__subclasses__()}

    for name, section in _sections():
        assert list(section["properties"]) == models[name].keys()


@pytest.mark.parametrize(
    "text",
    [
        starter(),
        "backends: []",
        BOTH,
        f"backends: [{HTTP}]\noperational: {{timeouts: {{default: 1m30s}}}}",
        "backends: [{name: a, stdio: {command: x, env: {A: b, C: {valueEnv: D}}}}]",
        f"{BOTH}server: {{host: '::', port: 0, path: /}}",
        f"{BOTH}outgoingAuth: {{default: {{type: bearer_token, bearerToken: {{tokenEnv: A}}}}}}",
    ],
    ids=lambda text: text[:20],
)
def test_the_schema_takes_what_the_gateway_takes(text: str) -> None:
    assert list(VALIDATOR.iter_errors(yaml.safe_load(text))) == []


@pytest.mark.parametrize(
    "text",
    [
        "{}",
        "backends: [{name: a}]",
        "backends: [{name: a, url: 'http://h', stdio: {command: x}}]",
        "backends: [{name: a b, url: 'http://h'}]",
        "backends: [{name: a, url: 'ftp://h'}]",
        "backends: [{name: a, url: 'http://u:p@h'}]",
        f"backends: [{HTTP}]\naudit: {{}}",
        f"backends: [{HTTP}]\noperational: {{timeouts: {{default: 30}}}}",
        f"backends: [{HTTP}]\naggregation: {{conflictResolutionConfig: {{prefixFormat: x}}}}",
        f"backends: [{HTTP}]\naggregation: {{tools: [{{workload: web, filter: []}}]}}",
    ],
)
def test_an_editor_sees_what_the_gateway_refuses(text: str) -> None:
    assert list(VALIDATOR.iter_errors(yaml.safe_load(text)))


def test_the_schema_states_the_defaults() -> None:
    definitions = SCHEMA["$defs"]

    assert definitions["ServerSettings"]["properties"]["port"]["default"] == 4483
    assert definitions["TimeoutSettings"]["properties"]["default"]["default"] == "30s"
    assert definitions["ConflictSettings"]["properties"]["prefixFormat"]["default"] == "{workload}_"
    assert SCHEMA["required"] == ["backends"]
