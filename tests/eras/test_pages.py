"""Pages that a client must visit first: the error of sessioned backends, in all pairs of eras."""

from __future__ import annotations

from typing import Any

from tests.eras.pairs import ABLE, STATELESS, Pair, Question
from tests.support.shelf import Fault, Invocation, Json, text

PAGES = [
    {"mode": "url", "url": "https://page.test/1", "elicitationId": "one", "message": "Sign in"},
    {"mode": "url", "url": "https://page.test/2", "elicitationId": "two", "message": "Pay"},
]


def visit(_: Question) -> Json:
    return {"action": "accept"}


class Guarded:
    """A tool that wants pages visited before its first call."""

    def __init__(self, data: Any) -> None:
        self.data = data
        self.seen: list[Json] = []

    async def __call__(self, invocation: Invocation) -> Json:
        self.seen.append(invocation.params)
        if len(self.seen) > 1:
            return text('"in"')
        raise Fault(-32042, "Visit these first", self.data)


async def test_pages_to_visit_are_a_question_to_a_stateless_client(pair: Pair) -> None:
    tool = Guarded({"elicitations": PAGES})
    fake = pair.fake(asks=tool)
    async with pair.gateway(fake) as served, pair.client(served, **ABLE) as caller:
        call = pair.dialogue(caller)
        found = await call.next()
        if isinstance(found, dict):
            # The pair, or the era, in which the error passes as it came.
            assert (pair.front, pair.back) != (STATELESS, "sessioned")
            assert found["error"]["code"] == -32042
            assert found["error"]["data"] == {"elicitations": PAGES}
            return
        await call.say(found, visit)

        assert await call.said() == "in"

        kept = [{key: page[key] for key in page if key != "elicitationId"} for page in PAGES]
        assert [each.params for each in found] == kept
        assert [set(params) - {"_meta"} for params in tool.seen] == [{"name"}] * 2


async def test_a_stateless_client_that_opens_no_pages_hears_what_it_lacks(pair: Pair) -> None:
    fake = pair.fake(asks=Guarded({"elicitations": PAGES}))
    declared = {"elicitation": {"form": {}}}
    async with pair.gateway(fake) as served, pair.client(served, **declared) as caller:
        call = pair.dialogue(caller)
        error = (await call.end())["error"]

        if not pair.parks:
            assert error["code"] == -32042
            return
        assert error["code"] == -32021
        assert error["data"] == {"requiredCapabilities": {"elicitation": {"url": {}}}}
        assert call.answer is not None
        assert call.answer.status == 400


async def test_an_error_that_names_no_page_is_told_in_a_code_of_the_clients_era(pair: Pair) -> None:
    fake = pair.fake(asks=Guarded({"elicitations": []}))
    async with pair.gateway(fake) as served, pair.client(served, **ABLE) as caller:
        error = (await pair.dialogue(caller).end())["error"]

        assert error["message"] == "Visit these first"
        assert error["code"] == (-32603 if pair.parks else -32042)
