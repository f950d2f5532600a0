"""A stateless request passes its checks in the order of the specification; the first that fails answers."""

from __future__ import annotations

import json
from collections.abc import Mapping

import pytest

from vmcp.protocol import ladder
from vmcp.protocol.document import EMPTY, split
from vmcp.protocol.failures import Failure, HeaderMismatch, IncompleteMeta, UnsupportedVersion

VERSION = "io.modelcontextprotocol/protocolVersion"
CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
META = {VERSION: "2026-07-28", CAPABILITIES: {}}
HEADERS = {"mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": "add"}
WRONG = {"mcp-protocol-version": "2025-11-25", "mcp-method": "ping", "mcp-name": "other"}


def check(
    headers: Mapping[str, str],
    meta: object = META,
    method: str = "tools/call",
    params: str = '{"name":"add"}',
) -> None:
    members = None if meta is None else split(json.dumps(meta).encode())
    ladder.check(headers, method, split(params.encode()), members)


def code(headers: Mapping[str, str], meta: object = META) -> int:
    with pytest.raises(Failure) as caught:
        check(headers, meta)
    return caught.value.code


def without(given: Mapping[str, object], *names: str) -> dict[str, object]:
    return {name: value for name, value in given.items() if name not in names}


@pytest.mark.parametrize(
    ("method", "params", "name"),
    [
        pytest.param("tools/call", '{"name":"add"}', "add", id="tool"),
        pytest.param("prompts/get", '{"name":"p q"}', "p q", id="prompt"),
        pytest.param("resources/read", '{"uri":"file:///a"}', "file:///a", id="resource"),
        pytest.param("tasks/get", '{"taskId":"7"}', "7", id="task"),
        pytest.param("tools/list", "{}", None, id="a list has no name"),
        pytest.param("tools/call", '{"name":"a\\u0064d"}', "add", id="escaped in the body"),
        pytest.param("tools/call", '{"name":"add"}', " \tadd ", id="white space around"),
        pytest.param("tools/call", '{"name":"日本"}', "=?base64?5pel5pys?=", id="base64"),
        pytest.param("tools/call", '{"name":"add"}', "=?base64?YWRk?=", id="base64 of ASCII"),
        pytest.param("tools/call", '{"name":""}', "", id="empty"),
        pytest.param("tools/call", '{"name":7}', None, id="the method itself refuses a number"),
        pytest.param("tools/call", "{}", "x", id="the method itself misses the name"),
    ],
)
def test_headers_that_repeat_the_body_pass(method: str, params: str, name: str | None) -> None:
    headers = {"mcp-protocol-version": "2026-07-28", "mcp-method": method}

    check(headers if name is None else {**headers, "mcp-name": name}, META, method, params)


@pytest.mark.parametrize(
    "meta",
    [
        pytest.param(None, id="no _meta"),
        pytest.param({}, id="empty"),
        pytest.param(without(META, VERSION), id="no version"),
        pytest.param(without(META, CAPABILITIES), id="no capabilities"),
        pytest.param({**META, CAPABILITIES: []}, id="capabilities are no object"),
        pytest.param({**META, CAPABILITIES: None}, id="capabilities are null"),
        pytest.param({**META, VERSION: 20260728}, id="version is a number"),
        pytest.param({**META, VERSION: None}, id="version is null"),
    ],
)
def test_required_fields_of_meta_come_first(meta: object) -> None:
    assert code(WRONG, meta) == IncompleteMeta.code


@pytest.mark.parametrize("name", HEADERS)
@pytest.mark.parametrize("version", ["2026-07-28", "2027-01-01"])
def test_missing_or_unequal_headers_come_before_the_version(name: str, version: str) -> None:
    headers = {**HEADERS, "mcp-protocol-version": version}
    meta = {**META, VERSION: version}

    for given in ({**headers, name: WRONG[name]}, without(headers, name)):
        assert code(given, meta) == HeaderMismatch.code


@pytest.mark.parametrize(
    "value", ["ADD", "=?base64?QUREXw?=", "=?base64?%%?=", "=?base64?/w==?=", "=?base64?YWRk", "=?"]
)
def test_a_name_that_is_another_or_badly_encoded_is_a_mismatch(value: str) -> None:
    assert code({**HEADERS, "mcp-name": value}) == HeaderMismatch.code


def test_values_are_compared_with_their_case() -> None:
    assert code({**HEADERS, "mcp-method": "Tools/Call"}) == HeaderMismatch.code


@pytest.mark.parametrize("version", ["2027-01-01", "2025-11-25", ""])
def test_a_version_that_is_not_served_comes_last(version: str) -> None:
    with pytest.raises(UnsupportedVersion) as caught:
        check({**HEADERS, "mcp-protocol-version": version}, {**META, VERSION: version})

    assert caught.value.data == {"supported": ["2026-07-28"], "requested": version}


def test_client_info_is_not_required() -> None:
    check(HEADERS, {**META, "io.modelcontextprotocol/clientInfo": 7})


SERVED = {"mcp-protocol-version": "2026-07-28"}


@pytest.mark.parametrize("more", [{}, {"mcp-method": "notifications/x"}])
def test_a_notification_may_leave_its_method_header_out(more: Mapping[str, str]) -> None:
    ladder.check_notification({**SERVED, **more}, "notifications/x")


@pytest.mark.parametrize("given", [{}, {**SERVED, "mcp-method": "notifications/y"}])
def test_a_notification_without_a_version_or_of_another_method_is_a_mismatch(
    given: Mapping[str, str],
) -> None:
    with pytest.raises(HeaderMismatch):
        ladder.check_notification(given, "notifications/x")


def test_a_notification_in_a_version_that_is_not_served_is_told_which_are() -> None:
    with pytest.raises(UnsupportedVersion) as caught:
        ladder.check_notification({"mcp-protocol-version": "2027-01-01"}, "notifications/x")

    assert caught.value.data == {"supported": ["2026-07-28"], "requested": "2027-01-01"}


def test_no_params_lack_meta() -> None:
    with pytest.raises(IncompleteMeta):
        ladder.check(HEADERS, "tools/list", EMPTY, None)


def test_a_request_without_headers_is_checked_by_what_it_says_itself() -> None:
    ladder.check_bare(split(json.dumps(META).encode()))

    with pytest.raises(IncompleteMeta):
        ladder.check_bare(split(json.dumps(without(META, CAPABILITIES)).encode()))
    with pytest.raises(UnsupportedVersion):
        ladder.check_bare(split(json.dumps({**META, VERSION: "2027-01-01"}).encode()))
