"""The pairs that every test of this folder runs over."""

from __future__ import annotations

from itertools import product

import pytest

from tests.eras.pairs import HTTP, SESSIONED, STATELESS, STDIO, Pair

ERAS = (SESSIONED, STATELESS)
PAIRS = [Pair(*each) for each in product(ERAS, ERAS, (HTTP, STDIO))]


@pytest.fixture(params=PAIRS, ids=lambda each: f"{each.front}-{each.back}-{each.transport}")
def pair(request: pytest.FixtureRequest) -> Pair:
    found: Pair = request.param
    return found
