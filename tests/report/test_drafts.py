"""A status is bounded: those that fail have room in it first."""

from __future__ import annotations

import json
from dataclasses import replace

from tests.report.pictures import GATEWAY, backend, draft, failing, health, picture, well
from tests.secrets.canaries import canary, found
from tests.support.virtual_time import START
from vmcp.model.auth import HeaderInjection
from vmcp.model.backend import StdioEndpoint
from vmcp.model.secret import Secret
from vmcp.report.drafts import LIMITS, Drafts, Limits
from vmcp.report.entries import Picture

WIDE = 10**6


def names(shown: Picture, limits: Limits) -> list[str]:
    return [each["name"] for each in draft(shown, limits).fields["discoveredBackends"]]


def test_all_are_listed_by_name_while_there_is_room() -> None:
    assert names(well("c", "a", "b"), LIMITS) == ["a", "b", "c"]


def test_those_that_fail_are_listed_first_and_all_are_counted() -> None:
    ready = ["a", "b", "c", "d"]
    shown = picture(
        *map(backend, [*ready, "e"]),
        health={**dict.fromkeys(ready, health()), "e": failing()},
    )

    assert names(shown, Limits(entries=3, entry_bytes=WIDE)) == ["a", "b", "e"]
    assert draft(shown, Limits(entries=3, entry_bytes=WIDE)).fields["backendCount"] == 4


def test_entries_take_no_more_bytes_than_allowed() -> None:
    many = [f"b{number:03}" for number in range(100)]

    listed = draft(well(*many), Limits(entries=1000, entry_bytes=4000)).fields["discoveredBackends"]

    assert 10 < len(listed) < 100
    assert sum(len(json.dumps(each, separators=(",", ":"))) for each in listed) <= 4000


def test_equal_pictures_bring_no_news_and_another_generation_does() -> None:
    drafts = Drafts(GATEWAY, LIMITS)
    first = drafts.of(well("a"), {}, generation=1, now=START)

    assert drafts.of(well("a"), first.held, generation=1, now=START).news == first.news
    assert drafts.of(well("a"), first.held, generation=2, now=START).news != first.news


def test_no_secret_is_in_a_status() -> None:
    url = f"https://{canary('user')}:{canary('password')}@a.example.com/{canary('path')}/mcp?{canary('query')}"
    secret = Secret(canary("header"))
    remote = replace(
        backend("remote", url=url, auth=HeaderInjection("X-Key", Secret(canary("auth")))),
        headers=(("X-Other", secret),),
        metadata=(("note", canary("metadata")),),
    )
    env = (("KEY", Secret(canary("env"))),)
    local = replace(
        backend("local"), endpoint=StdioEndpoint("run", (canary("argument"),), env, canary("cwd"))
    )
    shown = picture(remote, local, health={"remote": failing(), "local": health()})

    said = json.dumps(draft(shown).fields)

    assert "remote" in said
    assert found(said) == set()


def test_an_empty_list_is_told_as_such() -> None:
    assert draft(well()).fields["discoveredBackends"] == []
