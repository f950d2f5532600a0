"""The event stream of a call at a sessioned backend, gone on with where its connection ends too early."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

from vmcp.gateway.ports import Reply, Resting
from vmcp.net.http1 import Response
from vmcp.protocol import jsonrpc
from vmcp.protocol.failures import BackendFailed
from vmcp.transport.outgoing.answers import Progress
from vmcp.transport.outgoing.handshake import BackendSession
from vmcp.transport.outgoing.pipe import EVENTS, HttpPipe

# How often in a row a connection may break, or end with nothing new on it.
_MOST_BREAKS = 3
_MOST_ENDS = 300
_RETRY_MILLISECONDS = 1000
_LEAST_MILLISECONDS, _MOST_MILLISECONDS = 50, 60_000
_BUSY = (429, 502, 503, 504)
_LONGEST_ID = 1024


async def resumed(
    pipe: HttpPipe, session: BackendSession, response: Response, reply: Reply
) -> AsyncGenerator[jsonrpc.Message, None]:
    """Yield the messages of a call's stream, over as many connections as it takes; raise BackendFailed.

    It ends when the backend gives nothing to come back with; the call's own time bounds all of it.
    """
    progress = Progress()
    breaks = ends = 0
    found: Response | None = response
    while True:
        last = progress.last_id
        lost: BackendFailed | None = None
        try:
            if found is None:
                found = await _again(pipe, session, progress)
            async with pipe.messages(found, progress) as messages:
                async for message in messages:
                    yield message
        except BackendFailed as error:
            lost = error
        if progress.last_id != last:
            breaks = ends = 0
        breaks, ends = (breaks, ends + 1) if lost is None else (breaks + 1, ends)
        if not _may_go_on(progress, lost, breaks, ends):
            if lost is not None:
                raise lost
            return
        if lost is None and isinstance(reply, Resting):
            await reply.rest(progress.retry_milliseconds)
        found = None
        await asyncio.sleep(_pause(progress))


def _may_go_on(progress: Progress, lost: BackendFailed | None, breaks: int, ends: int) -> bool:
    if not progress.last_id or len(progress.last_id) > _LONGEST_ID:
        return False
    if lost is not None and lost.reason not in ("ConnectionLost", "Unreachable"):
        return False
    return breaks <= _MOST_BREAKS and ends <= _MOST_ENDS


def _pause(progress: Progress) -> float:
    told = progress.retry_milliseconds
    wanted = _RETRY_MILLISECONDS if told is None else told
    return max(_LEAST_MILLISECONDS, min(wanted, _MOST_MILLISECONDS)) / 1000


async def _again(pipe: HttpPipe, session: BackendSession, progress: Progress) -> Response:
    last = (progress.last_id or b"").decode("latin-1")
    response = await pipe.get({**session.headers, "Last-Event-ID": last})
    if response.status == 200 and response.content_type == EVENTS:
        return response
    response.close()
    reason = "Unreachable" if response.status in _BUSY else "Rejected"
    told = f"its stream broke, and it answered with status {response.status} when asked to go on."
    raise BackendFailed(pipe.name, reason, told)
