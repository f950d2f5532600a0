"""A Containerfile as far as its tests look at it."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Stage:
    """One stage: its instructions in order."""

    base: str
    steps: list[tuple[str, str]] = field(default_factory=list)

    def all(self, name: str) -> list[str]:
        """Return the arguments of all instructions of one name."""
        return [rest for each, rest in self.steps if each == name]

    def words(self, name: str) -> Any:
        """Return the words of an instruction in exec form."""
        (found,) = self.all(name)
        return json.loads(found)


@dataclass
class Containerfile:
    """Its stages, the last one being what is run."""

    stages: list[Stage]
    arguments: dict[str, str]

    @property
    def copied(self) -> list[str]:
        """What the first stage copies from the tree."""
        return [source for rest in self.stages[0].all("COPY") for source in rest.split()[:-1]]

    @property
    def commands(self) -> list[str]:
        """What the first stage runs."""
        return self.stages[0].all("RUN")


def parse(text: str) -> Containerfile:
    """Read a Containerfile whose instructions have a line each."""
    found = Containerfile([], {})
    for line in text.splitlines():
        name, _, rest = line.strip().partition(" ")
        if not name or name.startswith("#"):
            continue
        if name == "FROM":
            found.stages.append(Stage(rest))
        elif name == "ARG" and not found.stages:
            key, _, value = rest.partition("=")
            found.arguments[key] = value
        else:
            found.stages[-1].steps.append((name, rest))
    return found
