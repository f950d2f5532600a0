"""How often callers may call."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field

from vmcp.crd.specs.base import Rule, Spec, spec
from vmcp.crd.specs.values import FilledText, Positive, Text, keyed_by


@spec
class TokenBucket(Spec):
    """A bucket of tokens: a call takes one, and time puts them back."""

    max_tokens: Positive = Field(description="How many tokens it holds.")
    refill_period: Text = Field(description="How long it takes to fill an empty one, a duration.")


@spec
class ToolRateLimit(Spec):
    """How often one tool may be called."""

    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "has(self.shared) || has(self.perUser)",
            "At least one of shared and perUser must be set.",
            lambda limit: limit.shared is not None or limit.per_user is not None,
        ),
    )

    name: FilledText = Field(description="The name of the tool.")
    shared: TokenBucket | None = Field(default=None, description="A bucket for all callers.")
    per_user: TokenBucket | None = Field(default=None, description="A bucket for each caller.")


@spec
class RateLimiting(Spec):
    """How often callers may call."""

    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "has(self.shared) || has(self.perUser) || (has(self.tools) && size(self.tools) > 0)",
            "At least one of shared, perUser and tools must be set.",
            lambda limits: bool(limits.shared or limits.per_user or limits.tools),
        ),
    )

    shared: TokenBucket | None = Field(default=None, description="A bucket for all callers.")
    per_user: TokenBucket | None = Field(default=None, description="A bucket for each caller.")
    tools: Annotated[tuple[ToolRateLimit, ...], keyed_by("name")] | None = Field(
        default=None, description="Further buckets, for single tools."
    )


def limits_each_user(limits: RateLimiting | None) -> bool:
    """Tell whether any bucket is a caller's own, which needs to know who calls."""
    if limits is None:
        return False
    return limits.per_user is not None or any(
        tool.per_user is not None for tool in limits.tools or ()
    )
