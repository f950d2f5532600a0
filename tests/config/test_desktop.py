"""JSON files of desktop clients: what becomes of their servers, and what is wrong with them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from vmcp.config.errors import ConfigError, ConfigInvalid
from vmcp.config.load import Loaded, Sources, load_all
from vmcp.discovery.static import contribution
from vmcp.model.backend import Backend, HttpEndpoint, StdioEndpoint
from vmcp.model.secret import Secret

ENVIRONMENT = {"KEY": "s3cret-canary", "EMPTY": "", "HOME": "/home/ada"}


class Desk:
    """A folder with files of desktop clients."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def write(self, value: Any, name: str = "mcp.json") -> Path:
        file = self.path / name
        file.write_text(value if isinstance(value, str) else json.dumps(value))
        return file

    def load(self, *files: Path, config: str | None = None) -> Loaded:
        own = None if config is None else self.write(config, "vmcp.yaml")
        return load_all(Sources(own, files), ENVIRONMENT)

    def backends(self, servers: Any, **more: Any) -> dict[str, Backend]:
        loaded = self.load(self.write({"mcpServers": servers}), **more)
        return {backend.name: backend for backend in contribution(loaded).backends}

    def one(self, **server: Any) -> Backend:
        return self.backends({"a": server})["a"]

    def wrong(self, value: Any, config: str | None = None) -> list[ConfigError]:
        with pytest.raises(ConfigInvalid) as caught:
            self.load(self.write(value), config=config)
        return list(caught.value.errors)

    def wrong_one(self, **server: Any) -> ConfigError:
        (error,) = self.wrong({"mcpServers": {"a": server}})
        return error


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def test_a_command_is_a_stdio_backend_and_its_variables_are_secrets(desk: Desk) -> None:
    made = desk.one(command="npx", args=["-y", "server"], env={"TOKEN": "t", "A": "b"})

    assert made.endpoint == StdioEndpoint(
        "npx", ("-y", "server"), (("A", Secret("b")), ("TOKEN", Secret("t")))
    )


@pytest.mark.parametrize("key", ["url", "serverUrl", "httpUrl"])
def test_a_url_is_an_http_backend_and_its_headers_are_secrets(desk: Desk, key: str) -> None:
    made = desk.one(**{key: "https://h/mcp"}, headers={"Authorization": "Bearer t"})

    assert made.endpoint == HttpEndpoint("https://h/mcp")
    assert made.headers == (("Authorization", Secret("Bearer t")),)


@pytest.mark.parametrize(
    ("word", "transport"),
    [
        ("http", "streamable-http"),
        ("streamable-http", "streamable-http"),
        ("streamableHttp", "streamable-http"),
        ("sse", "sse"),
    ],
)
@pytest.mark.parametrize("key", ["type", "transport"])
def test_the_transport_may_be_named(desk: Desk, key: str, word: str, transport: str) -> None:
    endpoint = desk.one(url="https://h/mcp", **{key: word}).endpoint

    assert isinstance(endpoint, HttpEndpoint)
    assert endpoint.transport == transport


def test_a_relative_folder_starts_at_the_folder_of_the_file(desk: Desk) -> None:
    (desk.path / "work").mkdir()

    endpoint = desk.one(type="stdio", command="x", cwd="work").endpoint

    assert isinstance(endpoint, StdioEndpoint)
    assert endpoint.cwd == str(desk.path / "work")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("${env:KEY}", "s3cret-canary"),
        ("x-${KEY}-y", "x-s3cret-canary-y"),
        ("${NONE:-default}", "default"),
        ("${NONE:-}z", "z"),
        ("${KEY:-default}", "s3cret-canary"),
        ("${env:EMPTY}z", "z"),
        ("${userHome}/x", "/home/ada/x"),
        ("$KEY", "$KEY"),
        ("$${KEY", "$${KEY"),
    ],
)
def test_placeholders_stand_for_variables(desk: Desk, text: str, value: str) -> None:
    made = desk.one(command="c" + text, args=["a" + text], env={"V": text})

    assert made.endpoint == StdioEndpoint("c" + value, ("a" + value,), (("V", Secret(value)),))


def test_placeholders_stand_in_urls_and_headers_too(desk: Desk) -> None:
    made = desk.one(url="https://${HOST:-h}/mcp", headers={"X-Key": "${env:KEY}"})

    assert made.endpoint == HttpEndpoint("https://h/mcp")
    assert made.headers == (("X-Key", Secret("s3cret-canary")),)
    assert "canary" not in repr(made)


@pytest.mark.parametrize(
    "form",
    [
        {"mcpServers": {"a": {"command": "x"}}, "globalShortcut": "", "other": {}},
        {"servers": {"a": {"command": "x", "type": "stdio"}}, "inputs": []},
        {"mcp": {"servers": {"a": {"command": "x"}}}, "editor.fontSize": 12},
    ],
    ids=["mcpServers", "servers", "settings"],
)
def test_each_clients_form_is_read(desk: Desk, form: Any) -> None:
    loaded = desk.load(desk.write(form))

    assert [backend.name for backend in loaded.config.backends] == ["a"]


def test_comments_tabs_and_last_commas_are_taken(desk: Desk) -> None:
    text = '{\n\t// local\n\t"servers": {\n\t\t"a": {"command": "//x", /* y\n */ "args": ["a\\tb",],},\n\t},\n}'

    (made,) = contribution(desk.load(desk.write(text))).backends

    assert made.endpoint == StdioEndpoint("//x", ("a\tb",))


def test_a_character_beyond_the_first_plane_may_be_escaped(desk: Desk) -> None:
    assert desk.one(command="x", args=["\U0001f600"]).endpoint == StdioEndpoint(
        "x", ("\U0001f600",)
    )


def test_a_disabled_server_is_left_out(desk: Desk) -> None:
    assert list(
        desk.backends({"a": {"command": "x"}, "b": {"disabled": True, "what": "ever"}})
    ) == ["a"]


def test_what_is_for_the_client_alone_is_passed_over(desk: Desk) -> None:
    assert desk.one(command="x", autoApprove=["y"], alwaysAllow=[], timeout=60).name == "a"


def test_it_stands_beside_a_config_file_which_rules_over_it(desk: Desk) -> None:
    config = (
        "backends: [{name: b, url: 'https://h'}]\noperational: {timeouts: {perWorkload: {a: 5s}}}"
    )

    found = desk.backends({"a": {"command": "x"}}, config=config)

    assert list(found) == ["a", "b"]
    assert found["a"].timeout_seconds == 5.0


def test_all_files_are_watched_and_named(desk: Desk) -> None:
    one = desk.write({"mcpServers": {"a": {"command": "x"}}}, "one.json")
    two = desk.write({"servers": {"b": {"command": "x"}}}, "two.json")

    loaded = desk.load(one, two, config="backends: []")

    assert set(loaded.files) == {desk.path / "vmcp.yaml", one, two}
    assert loaded.sources == (str(desk.path / "vmcp.yaml"), str(one), str(two))
    assert [backend.name for backend in loaded.config.backends] == ["a", "b"]


@pytest.mark.parametrize(
    ("server", "path", "message"),
    [
        ({}, "mcpServers.a", "Needs exactly one of several members."),
        ({"command": "x", "url": "https://h"}, "mcpServers.a", "Needs exactly one of several"),
        ({"command": 1}, "mcpServers.a.command", "Must be text."),
        ({"command": " "}, "mcpServers.a.command", "Is empty."),
        ({"command": "x", "args": "y"}, "mcpServers.a.args", "Must be a list."),
        ({"command": "x", "args": ["y", 1]}, "mcpServers.a.args[1]", "Must be text."),
        ({"command": "x", "env": {"A": 1}}, "mcpServers.a.env.A", "Must be text."),
        ({"command": "x", "env": {"A B": "s"}}, "mcpServers.a.env", "Holds keys that are no"),
        ({"command": "x", "cwd": "none"}, "mcpServers.a.cwd", "The folder "),
        ({"command": "x", "headers": {"A": "b"}}, "mcpServers.a.headers", "Has no effect"),
        ({"command": "x", "type": "http"}, "mcpServers.a.type", "Is none of the allowed values."),
        ({"url": "https://h", "env": {"A": "b"}}, "mcpServers.a.env", "Has no effect with a URL."),
        ({"url": "https://h", "type": "ws"}, "mcpServers.a.type", "Is none of the allowed values."),
        ({"url": "h"}, "mcpServers.a.url", "Does not begin with http:// or https://."),
        ({"url": "https://h", "headers": {"Host": "x"}}, "mcpServers.a.headers", "Holds headers"),
        ({"command": "x", "disabled": "no"}, "mcpServers.a.disabled", "Must be true or false."),
        ({"command": "x", "comand": "y"}, "mcpServers.a.comand", "Is no member that is known"),
        ({"command": "${env:NONE}"}, "mcpServers.a.command", "The environment variable NONE is"),
        ({"command": "x", "args": ["${input:key}"]}, "mcpServers.a.args[0]", "Holds a placeholder"),
        ({"command": "x", "args": ["${workspaceFolder}/x", 1]}, "mcpServers.a.args[0]", "Holds a"),
    ],
)
def test_a_fault_names_its_file_and_its_field(
    desk: Desk, server: Any, path: str, message: str
) -> None:
    error = desk.wrong_one(**server)

    assert error.file == str(desk.path / "mcp.json")
    assert error.path == path
    assert error.message.startswith(message)
    assert (error.line or 0) > 0
    assert str(error).startswith(f"{error.file}: {path} (line 1, column ")


@pytest.mark.parametrize(
    ("value", "path", "message"),
    [
        ("{", "", "It is not JSON."),
        ("[]", "", "Names no servers."),
        ({"other": {}}, "", "Names no servers."),
        ({"mcpServers": []}, "mcpServers", "Must be an object."),
        ({"mcpServers": {"a": "x"}}, "mcpServers.a", "Must be an object."),
        ({"mcpServers": {"a b": {"command": "x"}}}, 'mcpServers["a b"]', "Is not a name."),
    ],
)
def test_what_is_no_such_file_is_told(desk: Desk, value: Any, path: str, message: str) -> None:
    (error,) = desk.wrong(value)

    assert (error.path, error.message, error.file) == (path, message, str(desk.path / "mcp.json"))


def test_a_file_that_is_not_there_is_told_and_watched(desk: Desk) -> None:
    with pytest.raises(ConfigInvalid) as caught:
        desk.load(desk.path / "none.json")

    assert [str(error) for error in caught.value.errors] == [
        f"{desk.path / 'none.json'}: the file: It does not exist."
    ]
    assert caught.value.files == (desk.path / "none.json",)


def test_a_name_that_two_files_give_is_refused(desk: Desk) -> None:
    one = desk.write({"mcpServers": {"a": {"command": "x"}, "b": {"command": "x"}}}, "one.json")
    two = desk.write({"mcpServers": {"a": {"command": "x"}}}, "two.json")

    with pytest.raises(ConfigInvalid) as caught:
        desk.load(one, two, config="backends: [{name: b, url: 'https://h'}]")

    assert [(error.file, error.path, error.message) for error in caught.value.errors] == [
        (
            str(one),
            "mcpServers.b",
            f"The name is taken: {desk.path / 'vmcp.yaml'} has a server of this name.",
        ),
        (str(two), "mcpServers.a", f"The name is taken: {one} has a server of this name."),
    ]


def test_everything_that_is_wrong_in_all_files_is_told_at_once(desk: Desk) -> None:
    errors = desk.wrong(
        {"mcpServers": {"a": {"command": 1}, "b": {"comand": "x"}}},
        config="backends: [{name: c}]\nserver: {port: many}",
    )

    assert {error.file for error in errors} == {None, str(desk.path / "mcp.json")}
    assert {error.path for error in errors} == {
        "backends[0]",
        "server.port",
        "mcpServers.a.command",
        "mcpServers.b",
        "mcpServers.b.comand",
    }


def test_no_value_is_shown_in_an_error(desk: Desk) -> None:
    errors = desk.wrong(
        {
            "mcpServers": {
                "a": {"command": "x", "env": {"A": "canary\u0000"}},
                "b": {"url": "canary", "headers": {"X": "canary\n"}},
                "c": {"command": "x", "canary:value": "y", "args": ["canary${no!}"]},
                "d": {"command": "x", "env": ["canary"], "type": "canary"},
            }
        }
    )

    assert len(errors) >= 5
    assert "canary" not in "\n".join(map(str, errors)).replace(str(desk.path), "")
