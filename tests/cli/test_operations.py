"""The operations port as commands ask it, and what a person is told where it does not answer."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.cli.servers import closing, running
from vmcp.cli.operations import get, post
from vmcp.cli.stop import ExitCode, Stop


async def mirror(scope: dict[str, object], _receive: object, send: object) -> None:
    """Answer with the method and the target as JSON, but for /text."""
    target = f"{scope['path']}?{bytes(scope['query_string']).decode()}"  # type: ignore[arg-type]
    said = "hello" if scope["path"] == "/text" else f'{{"asked": "{scope["method"]} {target}"}}'
    await send({"type": "http.response.start", "status": 200, "headers": []})  # type: ignore[operator]
    await send({"type": "http.response.body", "body": said.encode()})  # type: ignore[operator]


@pytest.fixture(scope="module")
def mirror_url() -> Iterator[str]:
    with running(mirror, lifespan="off") as port:
        yield f"http://127.0.0.1:{port}"


def test_what_is_asked_arrives_with_its_query_encoded(mirror_url: str) -> None:
    told = get(mirror_url, "/explain", 5.0, name="a b&c")

    assert told.facts() == {"asked": "GET /explain?name=a+b%26c"}
    assert post(f"{mirror_url}/", "/reload", 5.0).facts() == {"asked": "POST /reload?"}


def test_what_is_no_json_is_no_operations_port(mirror_url: str) -> None:
    with pytest.raises(Stop, match="no gateway's operations port") as stop:
        get(mirror_url, "/text", 5.0).facts()

    assert stop.value.code is ExitCode.TROUBLE


def test_where_nobody_listens_a_person_is_told_what_to_look_at(free_port: int) -> None:
    with pytest.raises(Stop, match=r"refused\. Is it running\?") as stop:
        get(f"http://127.0.0.1:{free_port}", "/status", 5.0)

    assert stop.value.code is ExitCode.TROUBLE


def test_who_closes_without_an_answer_is_told_apart() -> None:
    with closing() as port, pytest.raises(Stop, match="No gateway answers"):
        get(f"http://127.0.0.1:{port}", "/status", 5.0)


@pytest.mark.parametrize("url", ["127.0.0.1:9464", "http://[", "ftp://here", "http://:1"])
def test_what_is_no_url_is_wrong_usage(url: str) -> None:
    with pytest.raises(Stop, match="is no URL of an operations port") as stop:
        get(url, "/status", 5.0)

    assert stop.value.code is ExitCode.USAGE
