"""The client of the operations port: what it returns, and its words for what is in the way."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from vmcp.cli import operations
from vmcp.cli.operations import Answer
from vmcp.cli.stop import ExitCode, Stop


@contextmanager
def answering(status: int, body: bytes) -> Iterator[tuple[str, list[str]]]:
    """Answer every request alike for the block; yield the URL and what was asked."""
    asked: list[str] = []

    class Port(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(f"{self.command} {self.path}")
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_POST = do_GET  # noqa: N815

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    with HTTPServer(("127.0.0.1", 0), Port) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}", asked
        finally:
            server.shutdown()
            thread.join()


def refused(url: str) -> Stop:
    with pytest.raises(Stop) as caught:
        operations.get(url, "/status")
    return caught.value


def test_the_json_of_a_path_is_returned() -> None:
    with answering(200, b'{"ready": true}') as (url, asked):
        assert operations.get(url, "/explain", {"name": "a b&c"}) == {"ready": True}
        assert operations.get(f"{url}/", "/status") == {"ready": True}

    assert asked == ["GET /explain?name=a+b%26c", "GET /status"]


def test_a_url_with_a_path_is_the_base_of_all_paths() -> None:
    with answering(200, b"{}") as (url, asked):
        operations.get(f"{url}/below/", "/status")

    assert asked == ["GET /below/status"]


def test_a_post_returns_the_statuses_that_its_caller_knows() -> None:
    with answering(422, b"[1]") as (url, asked):
        assert operations.post(url, "/reload", frozenset((200, 422))) == Answer(422, [1])

    assert asked == ["POST /reload"]


@pytest.mark.parametrize(
    ("status", "body", "words"),
    [
        (403, b"Only this machine.\n", "answered with HTTP 403: Only this machine."),
        (421, b"Call it localhost.\n", "answered with HTTP 421: Call it localhost."),
        (500, b"Internal Server Error", "answered with HTTP 500: Internal Server Error"),
        (404, b"Not Found", "is no operations port of this version of vmcp (HTTP 404)."),
        (404, b"<html>\n", "is no operations port of this version of vmcp (HTTP 404)."),
        (405, b"", "is no operations port of this version of vmcp (HTTP 405)."),
        (502, b"<html>", "answered with HTTP 502."),
        (200, b"<html>", "is no operations port of vmcp."),
    ],
)
def test_another_answer_is_told(status: int, body: bytes, words: str) -> None:
    with answering(status, body) as (url, _):
        stop = refused(url)

        assert stop.message.endswith(words)
        assert url in stop.message
    assert stop.code == ExitCode.TROUBLE


def test_where_nothing_listens_the_option_is_named() -> None:
    with answering(200, b"") as (url, _):
        pass

    stop = refused(url)

    assert stop.message.startswith(f"Nothing listens at {url}: is the gateway running? --ops-url")
    assert stop.code == ExitCode.TROUBLE


@pytest.mark.parametrize(
    "url", ["127.0.0.1:9464", "ftp://h", "http://", "http://u:p@h", "http://[", "http://h:x", ""]
)
def test_what_is_no_url_is_refused(url: str) -> None:
    stop = refused(url)

    assert stop.message == "--ops-url must be an http or https URL such as http://127.0.0.1:9464."
    assert stop.code == ExitCode.USAGE
