"""Who the gateway says that it is: the instructions of its backends, and a name of its own."""

from __future__ import annotations

from tests.journeys.pairs import at_both_backs, backend
from tests.support.backends import serving
from tests.support.clients import sessioned, stateless
from tests.support.gateways import config, gateway_of


@at_both_backs
async def test_clients_of_both_eras_get_the_instructions_of_the_backends(back: str) -> None:
    a, b = backend(back), backend(back)
    a.instructions = "Ask “once”."
    async with (
        serving(a, b),
        gateway_of(config(a, b)) as served,
        sessioned(served.url) as old,
        stateless(served.url) as new,
    ):
        welcome, discovered = old.welcome, await new.ask("server/discover")
        shown = served.status()["backends"]

    text = "# a\n\nIts tools are listed with the prefix `a_`.\n\nAsk “once”."
    assert welcome["instructions"] == discovered["instructions"] == text
    assert welcome["serverInfo"]["name"] == "vmcp"
    assert discovered["_meta"]["io.modelcontextprotocol/serverInfo"] == welcome["serverInfo"]
    assert [each["serverInfo"]["name"] for each in shown] == ["fake", "fake"]


async def test_where_no_backend_gives_instructions_there_is_no_such_member() -> None:
    fake = backend("sessioned")
    async with (
        serving(fake),
        gateway_of(config(fake)) as served,
        sessioned(served.url) as old,
        stateless(served.url) as new,
    ):
        assert "instructions" not in old.welcome
        assert "instructions" not in await new.ask("server/discover")
