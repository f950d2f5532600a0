"""Why a part of an object cannot be used, and what its parts refer to in Secrets."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from vmcp.config.faults import Fault, path_text
from vmcp.crd.world import SECRET, World
from vmcp.model.secret import Secret


@dataclass(frozen=True, slots=True)
class Unfit:
    """A reason in CamelCase, and a sentence that names the field and what mends it."""

    reason: str
    message: str


def told(faults: Iterable[Fault]) -> str:
    """Return faults as sentences, each with its place."""
    return " ".join(map(_sentence, faults))


def _sentence(fault: Fault) -> str:
    allowed = "" if fault.allowed is None else f" Allowed: {fault.allowed}."
    hint = "" if fault.suggestion is None else f" {fault.suggestion}"
    return f"{path_text(fault.place)}: {fault.message}{allowed}{hint}"


def secret_value(
    world: World, name: str, key: str, complain: Callable[[str], str | None], *, where: str
) -> Secret | Unfit:
    """Return the text that a key of a Secret holds; `where` names who refers to it."""
    found = world.secret(name)
    if (why := world.hidden(SECRET, name)) is not None:
        return Unfit("SecretUnreadable", f"{where} names Secret '{name}', which {why}")
    if found is None:
        return Unfit(
            "SecretNotFound",
            f"{where} names Secret '{name}', which does not exist in namespace '{world.namespace}'. "
            "Create it, or correct the name.",
        )
    if key not in found.values:
        return Unfit(
            "SecretKeyNotFound",
            f"{where} names key '{key}' of Secret '{name}', which has no such key. "
            "Add it, or correct the key.",
        )
    value = found.values[key]
    if value is None:
        complaint: str | None = "is no UTF-8 text"
    else:
        value = _without_line_end(value)
        complaint = complain(value.reveal())
    if value is None or complaint is not None:
        return Unfit(
            "SecretInvalid", f"The value of key '{key}' of Secret '{name}' {complaint}. Correct it."
        )
    return value


def _without_line_end(value: Secret) -> Secret:
    """Return a secret without the line end that `echo` and editors leave, which is no part of it."""
    text = value.reveal()
    return Secret(text[:-1].removesuffix("\r")) if text.endswith("\n") else value
