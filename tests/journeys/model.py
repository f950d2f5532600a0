"""What clients may expect of a gateway, whatever happens in whichever order: a small model beside the real one."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from tests.gateway.builders import OK
from tests.journeys.actors import ELICIT, ERAS, Exchange, Held, Json, World, settled

_VERSION = "2026-07-28"
# Longer than it takes to notice that a client has left.
_NOTICED_SECONDS = 0.3
_META = "io.modelcontextprotocol/"


@dataclass(eq=False)
class Asked:
    """A request of a client, and how many answers it may get."""

    number: int
    exchange: Exchange
    method: str
    is_open: bool = True
    may_get: frozenset[int] = frozenset((0,))
    ended_at: int = -1

    def end(self, answers: int, step: int) -> None:
        """Take note of what ends it; of two things in one step it is open which was first."""
        if self.is_open:
            self.is_open, self.may_get, self.ended_at = False, frozenset((answers,)), step
        elif self.ended_at == step:
            self.may_get |= {answers}


@dataclass(eq=False)
class Peer:
    """A client: a session, or with an empty id all clients that have none."""

    session: str
    requests: dict[int, Asked] = field(default_factory=dict)
    streams: list[Exchange] = field(default_factory=list)
    answered: list[int | str] = field(default_factory=list)

    def exchanges(self) -> list[Exchange]:
        """Return all on which something may come."""
        return [*(each.exchange for each in self.requests.values()), *self.streams]

    def heard(self) -> list[Json]:
        """Return all messages that have come."""
        return [message for each in self.exchanges() for message in each.messages]

    def answers(self, number: int) -> int:
        """Return how many answers a request got."""
        return sum("method" not in each and each.get("id") == number for each in self.heard())

    def questions(self) -> list[Json]:
        """Return what it is asked and has not answered."""
        asked = [each for each in self.heard() if each.get("method") == ELICIT]
        return [each for each in asked if each["id"] not in self.answered]


class Play:
    """Actors who do what a test draws; `pick` chooses among those who can."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.step = 0
        self.bare = Peer("")
        self.peers: list[Peer] = []
        self.gone: list[Peer] = []
        # The request that stands for a call at a backend, by the call's number.
        self.standing: dict[int, Asked] = {}
        # The states that clients were given: the number of the call, how often it had asked, and the state.
        self.parked: list[tuple[int, int, str]] = []
        self._number = 0

    # Requests.

    def _send(self, peer: Peer, method: str, params: Json) -> Asked:
        self._number += 1
        headers = {"mcp-session-id": peer.session, "mcp-protocol-version": "2025-11-25"}
        if not peer.session:
            named = {"mcp-name": params["name"]} if "name" in params else {}
            headers = {"mcp-protocol-version": _VERSION, "mcp-method": method, **named}
            params = {**params, "_meta": _meta()}
        message = {"jsonrpc": "2.0", "id": self._number, "method": method, "params": params}
        exchange = self.world.send("POST", headers, message)
        asked = peer.requests[self._number] = Asked(self._number, exchange, method)
        return asked

    def _post(self, peer: Peer, message: Json) -> None:
        self.world.send("POST", {"mcp-session-id": peer.session}, {"jsonrpc": "2.0", **message})

    async def open(self, _pick: int) -> None:
        """Open a session, up to a few."""
        if len(self.peers) == 3:
            return
        params = {"protocolVersion": "2025-11-25", "capabilities": {"elicitation": {}}}
        message = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}
        exchange = self.world.send("POST", {}, message)
        await settled()
        self.peers.append(Peer(exchange.session))
        await self.settle(0)

    async def call(self, pick: int) -> None:
        """Call a tool of either backend, in a session or without one."""
        peer = [*self.peers, self.bare][pick // 2 % (len(self.peers) + 1)]
        backend = sorted(ERAS)[pick % 2]
        params = {"name": f"{backend}_hold", "arguments": {"n": self._number + 1}}
        asked = self._send(peer, "tools/call", params)
        if self.world.backend(backend).is_down:
            asked.end(1, self.step)
        else:
            self.standing[asked.number] = asked

    async def watch(self, pick: int) -> None:
        """Subscribe to a resource or end that, in a session."""
        if self.peers:
            method = "resources/unsubscribe" if pick % 3 == 0 else "resources/subscribe"
            uri = f"{sorted(ERAS)[pick % 2]}://1"
            asked = self._send(self.peers[pick % len(self.peers)], method, {"uri": uri})
            asked.end(1, self.step)

    async def listen(self, pick: int) -> None:
        """Listen, in a session or without one."""
        peer = [*self.peers, self.bare][pick % (len(self.peers) + 1)]
        if peer is not self.bare:
            self._get(peer, {})
            return
        wanted = {
            "toolsListChanged": True,
            "resourceSubscriptions": [f"{sorted(ERAS)[pick % 2]}://1"],
        }
        self._send(peer, "subscriptions/listen", {"notifications": wanted})

    def _get(self, peer: Peer, headers: dict[str, str]) -> None:
        peer.streams.append(self.world.send("GET", {"mcp-session-id": peer.session, **headers}))

    async def come_back(self, pick: int) -> None:
        """Take up a stream that was left."""
        left = [
            (peer, each)
            for peer in self.peers
            for each in peer.exchanges()
            if each.has_left and each.last_id is not None
        ]
        if left:
            await self.settle(0)
            peer, exchange = left[pick % len(left)]
            self._get(peer, {"last-event-id": exchange.last_id or ""})
            exchange.last_id = None

    # What clients do about them.

    async def answer(self, pick: int) -> None:
        """Answer a question; now and then twice, or by somebody else before."""
        await self.settle(0)
        asked = [(peer, each) for peer in self.peers for each in peer.questions()]
        if not asked:
            return
        peer, question = asked[pick % len(asked)]
        number = int(question["params"]["message"])
        response = {"id": question["id"], "result": {"action": "accept", "content": {}}}
        self._post(self.peers[pick % len(self.peers)], response)
        self._post(peer, response)
        self._post(peer, response)
        peer.answered.append(question["id"])
        if not any(held.number == number for held in self.world.held()):
            # It asked by ending its call: the next one may find nobody.
            self._end_where_down(number)
        await self.settle(0)

    def _end_where_down(self, number: int) -> None:
        if self.world.backend("bare").is_down and (asked := self.standing.get(number)) is not None:
            asked.end(1, self.step)

    async def resume(self, pick: int) -> None:
        """Bring a parked call the answers, or none."""
        await self.settle(0)
        if not self.parked:
            return
        number, times, state = self.parked[pick % len(self.parked)]
        waits = any(
            (held.number, held.times_asked) == (number, times) and held.is_asking
            for held in self.world.held()
        )
        responses = {"it": {"action": "accept", "content": {}}} if pick % 3 else {}
        params = {"name": "kept_hold", "arguments": {"n": number}}
        more = {"inputResponses": responses, "requestState": state}
        asked = self._send(self.bare, "tools/call", {**params, **more})
        if waits and responses and not self.is_stood_for(number):
            self.standing[number] = asked
        else:
            asked.end(1, self.step)
        await self.settle(0)

    def is_stood_for(self, number: int) -> bool:
        """Tell whether a request waits for a call."""
        asked = self.standing.get(number)
        return asked is not None and asked.is_open

    async def cancel(self, pick: int) -> None:
        """Cancel a call of a session, whether or not it has ended."""
        calls = [
            (peer, asked)
            for peer in self.peers
            for asked in peer.requests.values()
            if asked.method == "tools/call"
        ]
        if calls:
            peer, asked = calls[pick % len(calls)]
            params = {"requestId": asked.number}
            self._post(peer, {"method": "notifications/cancelled", "params": params})
            asked.end(0, self.step)

    async def leave(self, pick: int) -> None:
        """Drop a connection."""
        on = [
            (peer, each)
            for peer in [*self.peers, self.bare]
            for each in peer.exchanges()
            if not (each.has_left or each.is_complete)
        ]
        if on:
            peer, exchange = on[pick % len(on)]
            self._leave(peer, exchange)

    def _leave(self, peer: Peer, exchange: Exchange) -> None:
        exchange.leave()
        for asked in peer.requests.values():
            if asked.exchange is exchange and peer is self.bare:
                asked.end(0, self.step)
            elif asked.exchange is exchange:
                # It may come back for its answer, or not.
                asked.end(0, self.step)
                asked.may_get |= {1}

    async def end(self, pick: int) -> None:
        """End a session."""
        if not self.peers:
            return
        peer = self.peers.pop(pick % len(self.peers))
        self.world.send("DELETE", {"mcp-session-id": peer.session})
        self.gone.append(peer)
        for asked in peer.requests.values():
            asked.end(0, self.step)

    # What backends do.

    def _held(self, pick: int) -> Held | None:
        held = self.world.going_on()
        return held[pick % len(held)] if held else None

    async def note(self, pick: int) -> None:
        """Let a call say something."""
        if (held := self._held(pick)) is not None:
            held.note()

    async def ask(self, pick: int) -> None:
        """Let a call ask its client."""
        await self.settle(0)
        if (held := self._held(pick)) is None or held.is_asking:
            return
        held.ask()
        if held.client.era is ERAS["bare"] and (asked := self.standing.get(held.number)):
            # To a client without a session a question is an answer.
            asked.end(1, self.step)

    async def finish(self, pick: int) -> None:
        """Let a call end."""
        if (held := self._held(pick)) is not None:
            held.tell(OK)
            self._ended(held)

    async def lose(self, pick: int) -> None:
        """Let a backend lose what it kept for one client."""
        if (held := self._held(pick)) is not None:
            for each in self.world.going_on():
                if each.client is held.client:
                    self._fail(each)

    async def die(self, pick: int) -> None:
        """Let a backend die, or come back."""
        await self.settle(0)
        backend = self.world.backend(sorted(ERAS)[pick % 2])
        backend.is_down = not backend.is_down
        for held in backend.held if backend.is_down else ():
            self._fail(held)

    def _fail(self, held: Held) -> None:
        held.tell(self.world.backend("kept").failure_of())
        self._ended(held)

    def _ended(self, held: Held) -> None:
        if (asked := self.standing.get(held.number)) is not None:
            asked.end(1, self.step)

    async def change(self, pick: int) -> None:
        """Let the lists change, and a resource."""
        self.world.grow(pick % 5)
        uri = f"{sorted(ERAS)[pick % 2]}://1"
        params = b'{"uri":"%b"}' % uri.encode()
        self.world.gateway.watchers.updated(self.world.backend("kept").backend.key, uri, params)

    # How it stands.

    async def settle(self, pick: int) -> None:
        """Let all that was done have its effect, and compare."""
        # Now and then so long that those who have left are noticed.
        await (settled() if pick % 4 == 0 else _noticed())
        self.step += 1
        self._keep_states()
        self.check()

    def _keep_states(self) -> None:
        known = {state for _, _, state in self.parked}
        for asked in self.bare.requests.values():
            for message in asked.exchange.messages:
                state = message.get("result", {}).get("requestState")
                if state is not None and state not in known:
                    wanted = message["result"]["inputRequests"]["it"]["params"]
                    number = int(wanted["message"])
                    asked_by = [held for held in self.world.held() if held.number == number]
                    self.parked.append((number, sum(held.times_asked for held in asked_by), state))
                    known.add(state)

    def check(self) -> None:
        """Compare: each request has its answers, no session and no call is there that should not be."""
        for peer in [*self.peers, *self.gone, self.bare]:
            for asked in peer.requests.values():
                assert peer.answers(asked.number) in asked.may_get, (asked, peer.heard())
        gateway = self.world.gateway
        assert len(gateway.sessions) == len(self.peers)
        calls = sum(member.calls for member in gateway.pool.members.values())
        # A call that asked by ending counts too, while its client answers.
        assert calls >= len(self.world.held()) - len(gateway.parked)


async def _noticed() -> None:
    await asyncio.sleep(_NOTICED_SECONDS)


def _meta() -> Json:
    return {
        f"{_META}protocolVersion": _VERSION,
        f"{_META}clientCapabilities": {"elicitation": {}},
    }
