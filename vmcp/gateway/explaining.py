"""What a name means in the running gateway, as JSON: the answer to `/explain` and to `vmcp explain`."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import msgspec

from vmcp.catalog.explain import Explanation, Finding, explain
from vmcp.gateway.core import Gateway


async def explained(gateway: Gateway, name: str) -> bytes:
    """Return what a name means now; found out in a thread, for there may be many names."""
    snapshot, catalog = gateway.registry.snapshot.value, gateway.views.catalog.value
    known = gateway.inventories.known.value
    found = await asyncio.to_thread(explain, snapshot, known, catalog, name)
    return msgspec.json.encode(facts(found))


def facts(found: Explanation) -> Mapping[str, object]:
    """Return an explanation under the names that its JSON has."""
    return {
        "name": _sound(found.asked),
        "found": [_finding(each) for each in found.findings],
        "unlisted": list(found.unlisted),
        "mentions": [_sound(each) for each in found.mentions],
        "near": [_sound(each) for each in found.near],
    }


def _finding(one: Finding) -> Mapping[str, object]:
    return {
        "kind": one.kind.value,
        "name": None if one.name is None else _sound(one.name),
        "backend": one.backend_name,
        "ownName": _sound(one.own_name),
        "why": [_sound(each) for each in one.why],
        "views": list(one.views),
    }


def _sound(text: str) -> str:
    # A lone surrogate has no UTF-8 form.
    return text.encode("utf-8", "replace").decode()
