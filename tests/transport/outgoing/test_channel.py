from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from contextlib import AsyncExitStack

import pytest

from tests.support.stdio_servers.harness import sessioned_client
from vmcp.model.identity import Caller
from vmcp.protocol import jsonrpc
from vmcp.protocol.call import Call, Client
from vmcp.protocol.document import EMPTY
from vmcp.protocol.failures import BackendFailed
from vmcp.protocol.lines import Overlong
from vmcp.transport.outgoing.channel import Channel, Exchange
from vmcp.transport.outgoing.identity import Ids

ELICIT = b'{"jsonrpc":"2.0","id":"a","method":"elicitation/create","params":{"message":"?"}}'
CAN_ELICIT = b'{"elicitation":{}}'


class KeptPipe:
    """A pipe that takes all and keeps it."""

    def __init__(self) -> None:
        self.lines: list[dict[str, object]] = []

    async def writable(self) -> None:
        return

    def write(self, line: bytes) -> None:
        self.lines.append(json.loads(line))

    def offer(self, line: bytes) -> None:
        self.write(line)


@pytest.fixture
def channel() -> Channel:
    made = Channel("fake", Ids())
    made.pipe = KeptPipe()
    made.answers_requests = True
    return made


def sent(channel: Channel) -> list[dict[str, object]]:
    assert isinstance(channel.pipe, KeptPipe)
    return channel.pipe.lines


def request(identity: bytes) -> bytes:
    return jsonrpc.request(identity, b'"tools/call"', None)


def call_of(client: Client) -> Call:
    return Call(client, "tools/call", EMPTY)


async def in_flight(
    channel: Channel, stack: AsyncExitStack, client: Client | None = None
) -> Exchange:
    call = call_of(client) if client is not None else None
    return await stack.enter_async_context(channel.exchange(request, call))


def waiting(exchange: Exchange) -> list[jsonrpc.Message]:
    return [message for message, _ in exchange._messages]


async def test_answers_find_their_requests_in_whatever_order_they_come(channel: Channel) -> None:
    async with channel.exchange(request) as first, channel.exchange(request) as second:
        for exchange in (second, first):
            channel.heard(jsonrpc.response(exchange.identity, exchange.identity, is_error=False))

        assert (await first.response()).payload == first.identity
        assert (await second.response()).payload == second.identity


async def test_an_answer_to_nothing_in_flight_is_dropped(channel: Channel) -> None:
    async with channel.exchange(request) as exchange:
        channel.heard(b'{"jsonrpc":"2.0","id":99,"result":{}}')
        channel.heard(b'{"jsonrpc":"2.0","id":null,"result":{}}')

        assert waiting(exchange) == []


async def test_an_error_without_an_id_ends_the_only_request(channel: Channel) -> None:
    error = b'{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"?"}}'
    async with channel.exchange(request) as exchange:
        channel.heard(error)

        assert (await exchange.response()).is_error


async def test_an_error_without_an_id_ends_none_of_two_requests(channel: Channel) -> None:
    async with channel.exchange(request) as first, channel.exchange(request) as second:
        channel.heard(b'{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"?"}}')

        assert (waiting(first), waiting(second)) == ([], [])


@pytest.mark.parametrize(
    "line",
    [
        "✓ listening".encode(),
        b"\x1b[31mred\x1b[0m",
        b"\xff\xfe{",
        b"[1,2]",
        b"42",
        b'{"level":"error","error":"the database is away"}',
        b'{"level":"info","method":"GET","id":7}',
        b'{"level":"info","result":"ok"}',
    ],
    ids=[
        "banner",
        "colours",
        "no UTF-8",
        "array",
        "number",
        "log of an error",
        "log of a request",
        "log",
    ],
)
async def test_noise_reaches_no_request(channel: Channel, line: bytes) -> None:
    async with channel.exchange(request, call_of(sessioned_client())) as exchange:
        channel.heard(line)

        assert waiting(exchange) == []
        assert len(sent(channel)) == 1


async def test_an_answer_without_the_envelope_member_is_taken_where_it_is_awaited(
    channel: Channel,
) -> None:
    async with channel.exchange(request) as exchange:
        channel.heard(b'{"id":%b,"result":{}}' % exchange.identity)

        assert (await exchange.response()).payload == b"{}"


@pytest.mark.parametrize("result", [b'{"a":"\xff"}', b'{"a":}'], ids=["no UTF-8", "no JSON"])
async def test_a_malformed_answer_fails_its_request_at_once(
    channel: Channel, result: bytes
) -> None:
    async with channel.exchange(request) as exchange:
        channel.heard(b'{"jsonrpc":"2.0","id":%b,"result":%b}' % (exchange.identity, result))

        with pytest.raises(BackendFailed) as failed:
            await exchange.response()
    assert failed.value.reason == "InvalidAnswer"


async def test_a_line_that_is_too_long_fails_the_request_that_it_answers(channel: Channel) -> None:
    async with channel.exchange(request) as first, channel.exchange(request) as second:
        channel.heard_overlong(
            Overlong(b'{"result":{', b'},"jsonrpc":"2.0","id":%b}' % second.identity)
        )

        with pytest.raises(BackendFailed, match="16777216") as failed:
            await second.response()
        assert failed.value.reason == "TooLarge"
        assert waiting(first) == []


async def test_progress_goes_to_the_call_that_its_token_names(channel: Channel) -> None:
    async with channel.exchange(request) as first, channel.exchange(request) as second:
        note = b'{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%b}}'
        channel.heard(note % second.identity)
        channel.heard(note % b'"unknown"')

        assert (len(waiting(first)), len(waiting(second))) == (0, 1)


LOGGED = b'{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}'


async def test_a_log_message_goes_to_the_only_call_whatever_else_is_in_flight(
    channel: Channel,
) -> None:
    async with (
        channel.exchange(request, call_of(sessioned_client())) as call,
        channel.exchange(request),
    ):
        channel.heard(LOGGED)

        assert len(waiting(call)) == 1


async def test_a_log_message_goes_to_none_of_two_calls(channel: Channel) -> None:
    async with AsyncExitStack() as stack:
        calls = [await in_flight(channel, stack, sessioned_client()) for _ in range(2)]
        channel.heard(LOGGED)

        assert [waiting(call) for call in calls] == [[], []]


async def test_a_log_message_below_what_the_client_asked_for_is_kept_from_it(
    channel: Channel,
) -> None:
    async with AsyncExitStack() as stack:
        call = await in_flight(channel, stack, sessioned_client(log_level="error"))
        channel.heard(LOGGED)

        assert waiting(call) == []


async def test_what_is_no_notification_of_the_protocol_reaches_no_call(channel: Channel) -> None:
    async with AsyncExitStack() as stack:
        call = await in_flight(channel, stack, sessioned_client())
        channel.heard(b'{"jsonrpc":"2.0","method":"tools/call","params":{}}')

        assert waiting(call) == []


@pytest.mark.parametrize(
    "params",
    [b"{}", b'{"_meta":{"io.modelcontextprotocol/subscriptionId":1}}', b'{"_meta":[]}'],
    ids=["no tag", "tagged with a call", "malformed tag"],
)
async def test_changes_are_heard_by_the_listener_and_not_by_calls(
    channel: Channel, params: bytes
) -> None:
    heard: list[str] = []
    channel.hear = lambda message: heard.append(message.method)
    async with AsyncExitStack() as stack:
        call = await in_flight(channel, stack, sessioned_client())
        method = b"notifications/tools/list_changed"
        channel.heard(b'{"jsonrpc":"2.0","method":"%b","params":%b}' % (method, params))

        assert heard == ["notifications/tools/list_changed"]
        assert waiting(call) == []


async def test_a_ping_is_answered(channel: Channel) -> None:
    channel.heard(b'{"jsonrpc":"2.0","id":"p","method":"ping"}')

    assert sent(channel) == [{"jsonrpc": "2.0", "id": "p", "result": {}}]


async def test_roots_are_none_where_no_call_is_in_flight(channel: Channel) -> None:
    channel.heard(b'{"jsonrpc":"2.0","id":1,"method":"roots/list"}')

    assert sent(channel) == [{"jsonrpc": "2.0", "id": 1, "result": {"roots": []}}]


async def test_nothing_is_answered_in_the_era_that_knows_no_answers(channel: Channel) -> None:
    channel.answers_requests = False

    channel.heard(b'{"jsonrpc":"2.0","id":"p","method":"ping"}')

    assert sent(channel) == []


async def test_a_question_goes_to_the_only_call_whose_client_can_be_asked(channel: Channel) -> None:
    async with AsyncExitStack() as stack:
        able = await in_flight(channel, stack, sessioned_client(CAN_ELICIT))
        unable = await in_flight(channel, stack, sessioned_client())
        channel.heard(ELICIT)

        assert [type(message) for message in waiting(able)] == [jsonrpc.Request]
        assert waiting(unable) == []


def _stranger() -> Client:
    client = sessioned_client()
    client.caller = Caller("issuer", "somebody else")
    return client


@pytest.mark.parametrize(
    "clients",
    [
        list,
        lambda: [sessioned_client()],
        lambda: [sessioned_client(b'{"elicitation":null,"sampling":{}}')],
        lambda: [sessioned_client(CAN_ELICIT), sessioned_client(CAN_ELICIT)],
        lambda: [sessioned_client(CAN_ELICIT), _stranger()],
    ],
    ids=["nobody", "unable", "other capability", "two", "another caller beside"],
)
async def test_a_question_that_nobody_can_surely_be_asked_is_refused(
    channel: Channel, clients: Callable[[], list[Client]]
) -> None:
    async with AsyncExitStack() as stack:
        calls = [await in_flight(channel, stack, client) for client in clients()]
        channel.heard(ELICIT)

        answer = sent(channel)[-1]
        assert answer["id"] == "a"
        assert "error" in answer
        assert all(waiting(call) == [] for call in calls)


async def test_a_question_taken_back_is_told_to_the_call_that_it_was_put_to(
    channel: Channel,
) -> None:
    async with AsyncExitStack() as stack:
        able = await in_flight(channel, stack, sessioned_client(CAN_ELICIT))
        other = await in_flight(channel, stack, sessioned_client())
        channel.heard(ELICIT)
        channel.heard(
            b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"a"}}'
        )

        assert len(waiting(able)) == 2
        assert waiting(other) == []


async def test_a_server_cannot_cancel_a_call(channel: Channel) -> None:
    async with AsyncExitStack() as stack:
        call = await in_flight(channel, stack, sessioned_client())
        params = b'{"requestId":%b}' % call.identity
        channel.heard(b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":%b}' % params)

        assert waiting(call) == []


async def test_a_call_that_is_cancelled_is_cancelled_at_the_process(channel: Channel) -> None:
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0), channel.exchange(request) as exchange:
            await exchange.response()

    assert sent(channel)[-1]["method"] == "notifications/cancelled"
    assert sent(channel)[-1]["params"] == {"requestId": 1}


async def test_a_loss_fails_what_is_in_flight_after_what_came_before_it(channel: Channel) -> None:
    async with channel.exchange(request) as exchange:
        channel.heard(
            b'{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1}}'
        )
        channel.lost("its process exited with status 1")

        assert isinstance(await anext(exchange), jsonrpc.Notification)
        with pytest.raises(BackendFailed, match="status 1") as failed:
            await anext(exchange)
    assert failed.value.reason == "ConnectionLost"


async def test_nothing_is_sent_after_a_loss(channel: Channel) -> None:
    channel.lost("its process exited with status 1")

    with pytest.raises(BackendFailed, match="status 1"):
        await channel.send(b"{}")
    assert sent(channel) == []


async def test_a_call_whose_client_takes_nothing_keeps_a_bounded_number_of_notes(
    channel: Channel,
) -> None:
    note = b'{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1}}'
    async with channel.exchange(request) as exchange:
        for _ in range(1000):
            channel.heard(note)
        channel.heard(b'{"jsonrpc":"2.0","id":1,"result":{}}')

        assert len(waiting(exchange)) == 257
        assert (await exchange.response()).payload == b"{}"


async def test_large_notes_are_bounded_by_their_bytes(channel: Channel) -> None:
    text = b"x" * 2**20
    note = b'{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"message":"%b"}}'
    async with channel.exchange(request) as exchange:
        for _ in range(40):
            channel.heard(note % text)

        assert len(waiting(exchange)) == 15


def subscription(client: Client) -> Call:
    return Call(client, "subscriptions/listen", EMPTY)


def told(method: bytes, identity: bytes) -> bytes:
    meta = b'{"io.modelcontextprotocol/subscriptionId":' + identity + b"}"
    return jsonrpc.notification(method, b'{"taskId":"t","_meta":' + meta + b"}")


async def test_what_is_told_of_a_task_comes_to_the_subscription_that_listens(
    channel: Channel,
) -> None:
    client = sessioned_client()
    async with (
        channel.exchange(request, subscription(client)) as listening,
        channel.exchange(request, call_of(client)) as call,
    ):
        acknowledged = b'"notifications/subscriptions/acknowledged"'
        for method in (acknowledged, b'"notifications/tasks"'):
            channel.heard(told(method, listening.identity))
            channel.heard(told(method, call.identity))

        assert len(waiting(listening)) == 2
        assert waiting(call) == []


async def test_the_status_of_a_task_is_no_news_for_whoever_calls_meanwhile(
    channel: Channel,
) -> None:
    async with channel.exchange(request, call_of(sessioned_client())) as call:
        channel.heard(told(b'"notifications/tasks/status"', b"1"))

        assert waiting(call) == []


async def test_a_subscription_does_not_hide_the_only_call(channel: Channel) -> None:
    client = sessioned_client()
    async with (
        channel.exchange(request, subscription(client)),
        channel.exchange(request, call_of(client)) as call,
    ):
        channel.heard(jsonrpc.notification(b'"notifications/vendor"', None))

        assert len(waiting(call)) == 1


async def test_the_messages_of_an_array_go_each_to_their_request(channel: Channel) -> None:
    async with channel.exchange(request) as one, channel.exchange(request) as two:
        answers = [
            jsonrpc.response(each.identity, b'{"n":%b}' % each.identity, is_error=False)
            for each in (two, one)
        ]

        channel.heard(b" [" + b",".join(answers) + b"]")

        for each in (one, two):
            assert (await each.response()).payload == b'{"n":%b}' % each.identity
