"""Where the sessions of clients are kept when a workload has several replicas."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from vmcp.crd.specs.base import Rule, Spec, spec
from vmcp.crd.specs.references import SecretKeyRef
from vmcp.crd.specs.values import Count, FilledText, Text


@spec
class SessionStorage(Spec):
    """Where sessions are kept."""

    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "self.provider != 'redis' || has(self.address)",
            "address is required if provider is 'redis'.",
            lambda storage: storage.provider != "redis" or storage.address is not None,
            ("address",),
        ),
    )

    provider: Literal["memory", "redis"] = Field(
        description="`redis` lets several replicas share them."
    )
    address: FilledText | None = Field(
        default=None, description="The address of Redis, `host:port`."
    )
    db: Count = Field(default=0, description="The number of the database.")
    key_prefix: Text | None = Field(default=None, description="What all keys begin with.")
    password_ref: SecretKeyRef | None = Field(
        default=None, description="The Secret that holds the password."
    )
