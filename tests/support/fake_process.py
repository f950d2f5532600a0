"""A fake backend in a process of its own: `python -m tests.support.fake_process --era ERA --port PORT`.

It prints its URL once it serves. Its tools are those that long runs need: `echo`, `steps`, `asks`, `waits`.
Its one resource changes all the time.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys

from tests.support.backends import Fake
from tests.support.sessioned_backend import SessionedFake
from tests.support.shelf import Invocation, Json, text
from tests.support.stateless_backend import StatelessFake

FORM = {"message": "Go on?", "requestedSchema": {"type": "object", "properties": {}}}
_CHANGE_SECONDS = 0.5


async def steps(invocation: Invocation) -> Json:
    """Tell of progress, a moment apart, then say what was given."""
    for step in range(1, int(invocation.arguments["steps"]) + 1):
        await asyncio.sleep(float(invocation.arguments.get("pause", 0.005)))
        invocation.progress(step)
    return text(json.dumps(invocation.arguments))


async def waits(invocation: Invocation) -> Json:
    """Tell that it has begun, to whoever wants progress, and never end."""
    if "progressToken" in invocation.params.get("_meta", {}):
        invocation.progress(1)
    return await asyncio.get_running_loop().create_future()


async def slow(invocation: Invocation) -> Json:
    """Say what was given after a while."""
    await asyncio.sleep(float(invocation.arguments["seconds"]))
    return text(json.dumps(invocation.arguments))


async def asks(invocation: Invocation) -> Json:
    """Ask the client before saying what was given, and what it answered."""
    answer = await invocation.ask("elicitation/create", FORM)
    return text(json.dumps({**invocation.arguments, "answer": answer.get("result")}))


async def asks_again(invocation: Invocation) -> Json:
    """Do the same where questions go with the result."""
    answers = invocation.params.get("inputResponses")
    if answers is None:
        wanted = {"go": {"method": "elicitation/create", "params": FORM}}
        state = {"requestState": json.dumps(invocation.arguments)}
        return {"resultType": "input_required", "inputRequests": wanted, **state}
    return text(json.dumps({**invocation.arguments, "answer": answers["go"]}))


def fake(era: str) -> Fake:
    """Return the backend of an era."""
    tools = {"steps": steps, "waits": waits, "slow": slow}
    made = SessionedFake(**tools) if era == "sessioned" else StatelessFake(**tools)
    made.shelf.tools["asks"] = asks if era == "sessioned" else asks_again
    # A long run must not be remembered request by request.
    made.heard.add = made.cancelled.add = made.finished.add = lambda _: None  # type: ignore[assignment]
    return made


async def serve(era: str, port: int) -> None:
    """Serve until the process is ended; tell of changes from time to time."""
    made = await fake(era).start(port)
    uri = f"note://{port}/one"
    made.shelf.resources[uri] = uri
    sys.stdout.write(made.url + "\n")
    sys.stdout.flush()
    while True:
        await asyncio.sleep(_CHANGE_SECONDS)
        made.tell("notifications/resources/updated", uri=uri)


def main() -> None:
    """Read the command line and serve."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--era", choices=("sessioned", "stateless"), required=True)
    parser.add_argument("--port", type=int, required=True)
    given = parser.parse_args()
    asyncio.run(serve(given.era, given.port))


if __name__ == "__main__":
    main()
