"""The raw backend as a child process: `python -m tests.support.raw_stdio ERA TOOLS RESULTS ERRORS`.

The last three are golden files. A call whose
arguments are `{"answer": NAME, "how": "result" | "error"}` gets that answer; each other call gets
its own params back as a member of the result. A progress notification goes before every answer.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path

from tests.support.raw_json import cases, items
from tests.support.raw_server import TOKEN, Era, Sent, standing, token

PROGRESS = (
    b'{"jsonrpc":"2.0","method":"notifications/progress",'
    b'"params":{"progress":1.0,"caf\\u00e9":1E+5,"progressToken":"@token@"}}'
)


def one_line(raw: bytes) -> bytes:
    """Return JSON without line breaks: they can only stand between its tokens."""
    return raw.replace(b"\n", b" ")


def write(message: bytes) -> None:
    """Send a message."""
    sys.stdout.buffer.write(one_line(message) + b"\n")
    sys.stdout.buffer.flush()


def outcome(params: bytes, answers: Mapping[str, bytes]) -> bytes:
    """Return the member with which a call is answered."""
    wanted = cases(cases(params).get("arguments", b"{}"))
    if "answer" not in wanted:
        return b'"result":{"content":[],"params":' + params + b"}"
    how = json.loads(wanted["how"])
    return wanted["how"] + b":" + cases(answers[how])[json.loads(wanted["answer"])]


def answer(era: Era, sent: Sent, identity: bytes, answers: Mapping[str, bytes]) -> None:
    """Answer a request."""
    prepared = standing(era, {"tools/list": items(answers["tools"])}, sent)
    if prepared is None:
        write(PROGRESS.replace(TOKEN, token(sent)))
        member = outcome(sent.params, answers)
    else:
        member = (b'"error":' if prepared.is_error else b'"result":') + prepared.payload
    write(b'{ "jsonrpc" : "2.0" , "id":' + identity + b" , " + member + b"}")


def main() -> None:
    """Serve until stdin ends."""
    era, *files = sys.argv[1:]
    contents = (Path(each).read_bytes() for each in files)
    answers = dict(zip(("tools", "result", "error"), contents, strict=True))
    for line in sys.stdin.buffer:
        envelope = cases(line)
        sent = Sent(json.loads(envelope.get("method", b'""')), {}, line)
        if "id" in envelope and sent.method and sent.method != "subscriptions/listen":
            answer(Era(era), sent, envelope["id"], answers)


if __name__ == "__main__":
    main()
