"""What must agree between sections of the config file; the tree may be wrong anywhere."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from vmcp.config.backends import header_names
from vmcp.config.faults import Fault, Place, is_showable_key, kind, listing, near, repeated, shown
from vmcp.config.raw import mapping, sequence, texts


def disagreements(config: Mapping[str, object]) -> Iterator[Fault]:
    """Yield each fault that shows only when sections are looked at together."""
    names = _names(config, "backends")
    yield from repeated(names, ("backends",), ("name",))
    yield from repeated(_names(config, "views"), ("views",), ("name",))
    if isinstance(config.get("backends"), list):
        known = [name for _, name in names]
        yield from _unknown_backends(config, known, ("outgoingAuth", "backends"))
        yield from _unknown_backends(config, known, ("operational", "timeouts", "perWorkload"))
    yield from _stdio_credentials(config)
    yield from _header_collisions(config)
    yield from _passed_headers(config)
    yield from _passed_keys(config)


def _names(config: Mapping[str, object], key: str) -> list[tuple[int, str]]:
    return [
        (index, name)
        for index, entry in enumerate(sequence(config, key))
        if isinstance(name := mapping(entry).get("name"), str)
    ]


def _unknown_backends(
    config: Mapping[str, object], known: list[str], place: tuple[str, ...]
) -> Iterator[Fault]:
    for key in mapping(config, *place):
        if key in known:
            continue
        is_shown = is_showable_key(key)
        yield Fault(
            (*place, key) if is_shown else place,
            "Names no backend of this file.",
            found=shown(key) if is_shown else kind(key),
            allowed=listing(sorted(set(known))) or None,
            suggestion=near(key, known),
        )


def _stdio_credentials(config: Mapping[str, object]) -> Iterator[Fault]:
    place = ("outgoingAuth", "backends")
    strategies = mapping(config, *place)
    for entry in map(mapping, sequence(config, "backends")):
        name = entry.get("name")
        if "stdio" not in entry or not isinstance(name, str) or name not in strategies:
            continue
        if mapping(strategies, name).get("type") != "unauthenticated":
            yield Fault(
                (*place, name),
                "Has no effect on a stdio backend.",
                suggestion="Hand the credential to the command in stdio.env.",
            )


def _header_collisions(config: Mapping[str, object]) -> Iterator[Fault]:
    for index, entry in enumerate(map(mapping, sequence(config, "backends"))):
        credential = _credential_header(config, entry.get("name"))
        for place, name in header_names(mapping(entry, "headerForward")):
            if credential is not None and name.lower() == credential.lower():
                yield Fault(
                    ("backends", index, "headerForward", *place),
                    "This header is the one that outgoingAuth sets for the backend.",
                    found=shown(name),
                )


def _credential_header(config: Mapping[str, object], backend: object) -> str | None:
    """Return the header that the effective strategy of a backend sets."""
    auth = mapping(config, "outgoingAuth")
    chosen = mapping(auth, "backends").get(str(backend), auth.get("default"))
    match mapping(chosen).get("type"):
        case "bearer_token":
            return "Authorization"
        case "header_injection":
            name = mapping(chosen, "headerInjection").get("headerName")
            return name if isinstance(name, str) else None
        case _:
            return None


def _passed_headers(config: Mapping[str, object]) -> Iterator[Fault]:
    place: Place = ("passthroughHeaders",)
    names = texts(config, "passthroughHeaders")
    yield from repeated([(index, name.lower()) for index, name in names], place)
    entries = [mapping(entry) for entry in sequence(config, "backends")]
    if names and entries and all("stdio" in entry for entry in entries):
        yield Fault(place, "Has no effect: there are only stdio backends.")


def _passed_keys(config: Mapping[str, object]) -> Iterator[Fault]:
    if mapping(config, "incomingAuth").get("type") != "api_key":
        return
    for index, name in texts(config, "passthroughHeaders"):
        if name.lower() == "x-api-key":
            yield Fault(
                ("passthroughHeaders", index),
                "Is a credential of the caller for this gateway (incomingAuth) and never passed on.",
                found=shown(name),
                suggestion="Give the backend a credential of its own in outgoingAuth.",
            )
