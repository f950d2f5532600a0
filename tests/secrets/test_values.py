"""No value of a running gateway shows what is secret in it, and no traceback does."""

from __future__ import annotations

import json
import traceback
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.secrets.canaries import canary, found
from tests.secrets.settings import BROKEN, DESKTOP, ENVIRONMENT, KEY_PEM, written
from tests.support.waiting import until
from vmcp import app
from vmcp.clock import SystemClock
from vmcp.config.errors import ConfigInvalid
from vmcp.config.load import Loaded, Sources, load, load_all
from vmcp.discovery.reload import LiveConfig
from vmcp.discovery.static import contribution
from vmcp.net.proxies import proxies

NOWHERE = f"http://127.0.0.1:9/{canary('path')}/mcp"
NAMES = ("web", "new", "desk", "proxied", "is-silent")
PROXY = {"HTTP_PROXY": f"http://me:{canary('proxy')}@127.0.0.1:9"}


@pytest.fixture
def loaded(tmp_path: Path) -> Loaded:
    urls = {**dict.fromkeys(NAMES, NOWHERE), "mutual": NOWHERE.replace("http:", "https:")}
    file = written(tmp_path, urls, "http://127.0.0.1:9")
    return load_all(Sources(file, (tmp_path / DESKTOP,)), ENVIRONMENT)


def within(root: object) -> Iterator[object]:
    """Yield all objects of ours that can be reached from one."""
    seen: dict[int, object] = {}
    waiting = [root]
    while waiting:
        one = waiting.pop()
        if id(one) in seen:
            continue
        seen[id(one)] = one
        if isinstance(one, Mapping):
            waiting += [*one, *one.values()]
        elif isinstance(one, list | tuple | set | frozenset):
            waiting += one
        elif type(one).__module__.startswith("vmcp."):
            yield one
            waiting += [getattr(one, name) for name in _members(one) if hasattr(one, name)]


def _members(one: object) -> set[str]:
    slots = (getattr(each, "__slots__", ()) for each in type(one).__mro__)
    names = {name for each in slots for name in ((each,) if isinstance(each, str) else each)}
    return names | {*getattr(one, "__dict__", ())}


def telling(root: object) -> dict[str, set[str]]:
    """Return which kinds of objects show what they should not."""
    shown = [(type(one).__name__, f"{one!r} {one!s}") for one in within(root)]
    return {
        name: found(text) | ({"key"} if KEY_PEM in text else set())
        for name, text in shown
        if found(text) or KEY_PEM in text
    }


def test_no_value_that_is_read_shows_a_secret(loaded: Loaded) -> None:
    assert len([*within(loaded)]) > 50
    assert telling([loaded, contribution(loaded), proxies(PROXY)]) == {}


async def test_no_part_of_a_running_gateway_shows_a_secret(loaded: Loaded) -> None:
    live = LiveConfig(lambda: loaded, loaded, SystemClock())

    async with app.running(live, PROXY) as gateway:
        await until(lambda: len(gateway.pool.members) == len(loaded.config.backends))

        assert telling([gateway, live]) == {}


@pytest.mark.parametrize("place", BROKEN)
def test_no_traceback_of_a_broken_config_shows_a_secret(place: str, tmp_path: Path) -> None:
    secret = canary(f"broken-{place}")
    (tmp_path / "vmcp.yaml").write_text(BROKEN[place].replace("%s", secret))

    with pytest.raises(ConfigInvalid) as invalid:
        load(tmp_path / "vmcp.yaml", {})

    assert found("".join(traceback.format_exception(invalid.value))) == set()


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("keys", canary("file")),
        ("keys", f"ada: {canary('file')[:20]}"),
        ("key", canary("file")),
        ("crt", f"-----BEGIN CERTIFICATE-----\n{canary('file')}\n-----END CERTIFICATE-----"),
        ("seal", canary("file")[:20]),
        ("forwarded", f"{canary('file')}\n{canary('file')}"),
        (DESKTOP, canary("file")),
        (
            DESKTOP,
            json.dumps({"mcpServers": {"a": {"url": 1, "headers": {"X": [canary("file")]}}}}),
        ),
        (DESKTOP, json.dumps({"mcpServers": {"a": {"command": "x", "env": {canary("file"): ""}}}})),
    ],
)
def test_no_traceback_of_a_broken_file_shows_what_is_in_it(
    loaded: Loaded, name: str, text: str
) -> None:
    folder = loaded.path.parent
    (folder / name).write_text(text)

    with pytest.raises(ConfigInvalid) as invalid:
        load_all(Sources(loaded.path, (folder / DESKTOP,)), ENVIRONMENT)

    assert "c4n4ry" not in "".join(traceback.format_exception(invalid.value))
