"""Nothing that is secret is in anything that a gateway says of itself, whatever happens to it."""

from __future__ import annotations

import asyncio
import json

import pytest

from tests.secrets.canaries import found
from tests.secrets.scene import PLACES, Scene, play
from tests.secrets.settings import KEY_PEM

# What is told on purpose, and why.
TOLD = {
    # At level debug a child's words are logged, for whoever has to find out why it ends. The access log has the
    # names that clients give to what they want: of tools, prompts and methods.
    "the log": {"stderr", "noise", "method"},
    # The person at the terminal looks for what is wrong with this child.
    "vmcp doctor": {"stderr"},
    # The page lists what there is by the names that its backends give; a resource's name is its URI.
    "status/catalog?show=listed": {"uri"},
    "status/catalog?show=left-out": {"uri"},
}
AT_DEBUG = {"stderr", "noise"}
# What must have been under way for its absence elsewhere to mean anything.
REACHED = {
    *("argument", "progress-token", "elicited", "tenant", "uri", "unknown-uri"),
    *("child-secret", "env", "desktop-env", "desktop-header", "proxy", "token", "injected"),
    *("forwarded", "forwarded-env", "forwarded-file"),
    *("telemetry-header", "telemetry-env", "telemetry-file", "collector-path"),
    *("result", "error-result", "fault", "fault-data", "log-message", "question", "resource"),
}


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Scene:
    scene = Scene()
    asyncio.run(play(tmp_path_factory.mktemp("scene"), scene))
    return scene


@pytest.mark.parametrize("place", PLACES)
def test_no_secret_is_told(scene: Scene, place: str) -> None:
    said = scene.said[place]

    assert said
    assert found(said) - TOLD.get(place, set()) == set()
    assert KEY_PEM not in said


def test_what_children_say_is_logged_at_debug_alone(scene: Scene) -> None:
    lines = [json.loads(line) for line in scene.said["the log"].splitlines()]

    assert {line["level"] for line in lines if found(str(line)) & AT_DEBUG} == {"debug"}


def test_every_secret_was_on_its_way(scene: Scene) -> None:
    assert REACHED - found("\n".join(scene.heard)) == set()
