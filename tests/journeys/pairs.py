"""The eras in front and behind, for tests that must hold in all of their pairs."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

import pytest

from tests.support import clients
from tests.support.backends import Fake
from tests.support.clients import Client
from tests.support.sessioned_backend import SessionedFake
from tests.support.stateless_backend import StatelessFake

Open = Callable[..., AbstractAsyncContextManager[Any]]
Made = Callable[..., Any]

SESSIONED, STATELESS = "sessioned", "stateless"
CLIENTS: dict[str, Open] = {SESSIONED: clients.sessioned, STATELESS: clients.stateless}
BACKENDS: dict[str, Made] = {SESSIONED: SessionedFake, STATELESS: StatelessFake}

in_both_fronts = pytest.mark.parametrize("front", [SESSIONED, STATELESS])
at_both_backs = pytest.mark.parametrize("back", [SESSIONED, STATELESS])


def client(front: str, url: str, **declared: Any) -> AbstractAsyncContextManager[Client]:
    """Return a client of an era, to be entered."""
    return CLIENTS[front](url, declared)


def backend(back: str, **tools: Any) -> Fake:
    """Return a fake of an era with tools."""
    made: Fake = BACKENDS[back](**tools)
    return made
