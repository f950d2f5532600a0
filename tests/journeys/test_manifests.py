"""A gateway on a folder of manifests: what only a folder has, files that are broken among it."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest

from tests.support.backends import serving
from tests.support.clients import stateless
from tests.support.gateways import Served, gateway_of
from tests.support.homes import Folder
from tests.support.objects import Json, entry, group, virtual
from tests.support.onlookers import names, reasons
from tests.support.sessioned_backend import SessionedFake
from tests.support.waiting import until


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path / "manifests")


def gateway(
    folder: Folder, settings: Json | None = None, *, awaited: bool = True, **chosen: Any
) -> AbstractAsyncContextManager[Served]:
    return gateway_of(
        {"backends": [], **(settings or {})}, awaited=awaited, others=folder.source(**chosen)
    )


async def test_a_broken_file_is_told_and_what_it_held_before_stays_in_force(folder: Folder) -> None:
    one, two = SessionedFake(), SessionedFake()
    async with serving(one, two):
        folder.put("a.yaml", group(), entry(one, "a"))
        folder.put("b.yaml", entry(two, "b"))
        async with gateway(folder) as served:
            await served.shows("a_echo", "b_echo")

            folder.write("a.yaml", "kind: MCPGroup\n  name: x\n")
            await until(lambda: reasons(served) == [("File/a.yaml", "FileBroken")])

            (problem,) = served.status()["problems"]
            assert problem["message"].startswith("Line 2: ")
            assert problem["message"].endswith("What it held before stays in force.")
            assert names(served) == ["a", "b"]

            folder.remove("b.yaml")
            await until(lambda: names(served) == ["a"])
            folder.put("a.yaml", group())
            await until(lambda: (names(served), reasons(served)) == ([], []))


async def test_a_file_that_is_broken_from_the_start_keeps_no_other_from_being_served(
    folder: Folder,
) -> None:
    fake = SessionedFake()
    async with serving(fake):
        folder.put("a.json", group(), entry(fake))
        folder.put("good/b.yaml", group(), entry(fake))
        async with gateway(folder) as served:
            await served.shows("weather_echo")

            assert reasons(served) == [("File/a.json", "FileBroken")]


async def test_a_gateway_whose_file_cannot_be_read_serves_nobody(folder: Folder) -> None:
    fake = SessionedFake()
    async with serving(fake):
        folder.put("a.yaml", group(), entry(fake))
        folder.write("gw.yaml", "kind: VirtualMCPServer\nspec: {unclosed\n")
        async with gateway(folder, awaited=False) as served, stateless(served.url) as caller:
            answer = await caller.request("tools/list")

            assert answer.status == 503
            assert served.status()["closed"]["reason"] == "GatewayInvalid"


async def test_one_of_several_gateways_and_namespaces_is_chosen(folder: Folder) -> None:
    one, two = SessionedFake(), SessionedFake()
    async with serving(one, two):
        for fake, place in ((one, "blue"), (two, "green")):
            things = [group(), entry(fake), virtual(place)]
            for thing in things:
                thing["metadata"]["namespace"] = place
            folder.put(f"{place}.yaml", *things)
        async with gateway(folder, namespace="green") as served:
            await served.shows("weather_echo")
            assert served.status()["backends"][0]["object"] == "MCPServerEntry/green/weather"
        async with gateway(folder) as served:
            assert [reason for _, reason in reasons(served)] == ["NamespaceNotChosen"]


async def test_the_backends_of_a_config_file_are_served_beside_those_of_a_folder(
    folder: Folder,
) -> None:
    one, two = SessionedFake(), SessionedFake()
    async with serving(one, two):
        folder.put("a.yaml", group(), entry(one))
        own = {"name": "own", "url": two.url}
        async with gateway(folder, {"backends": [own]}) as served:
            await served.shows("own_echo", "weather_echo")

            shown = {
                one["name"]: (one["object"], one["auth"]["from"])
                for one in served.status()["backends"]
            }
            assert shown == {
                "own": ("Backend/own", "none"),
                "weather": ("MCPServerEntry/default/weather", "none"),
            }


async def test_a_url_on_this_machine_is_not_dialled_unless_the_process_allows_it(
    folder: Folder,
) -> None:
    fake = SessionedFake()
    async with serving(fake):
        folder.put("a.yaml", group(), entry(fake))
        async with gateway(folder, allows_loopback=False) as served:
            assert [reason for _, reason in reasons(served)] == ["RemoteURLInvalid"]
            assert fake.heard.all == []
