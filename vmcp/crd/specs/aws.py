"""Authentication to AWS with a role that the caller's token opens."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from vmcp.crd.specs.base import Spec, spec
from vmcp.crd.specs.values import Count, FilledText, Text, Whole

RoleArn = Annotated[Text, Field(pattern=r"^arn:[a-z][a-z-]*:iam::[0-9]{12}:role/[^\s]+$")]


@spec
class RoleMapping(Spec):
    """A role for callers of whom something holds."""

    role_arn: RoleArn = Field(description="The role.")
    claim: FilledText | None = Field(
        default=None, description="The value that `roleClaim` must hold."
    )
    matcher: FilledText | None = Field(
        default=None, description="A CEL expression over the claims that must be true."
    )
    priority: Count | None = Field(
        default=None, description="Which mapping wins if several match: the lowest number."
    )


@spec
class AwsSts(Spec):
    """Requests are signed with credentials of a role that the caller's token opens."""

    region: Annotated[Text, Field(min_length=1, pattern=r"^[a-z0-9]+(-[a-z0-9]+)+$")] = Field(
        description="The AWS region."
    )
    service: Text = Field(
        default="aws-mcp", description="The service that requests are signed for."
    )
    role_mappings: tuple[RoleMapping, ...] | None = Field(
        default=None, description="Which role a caller gets."
    )
    fallback_role_arn: RoleArn | None = Field(
        default=None, description="The role of callers that no mapping matches."
    )
    role_claim: Text = Field(default="groups", description="The claim that mappings look at.")
    session_name_claim: Text = Field(
        default="sub", description="The claim that names the session in AWS's logs."
    )
    session_duration: Annotated[Whole, Field(ge=900, le=43200)] = Field(
        default=3600, description="How many seconds the credentials are good for."
    )
    subject_provider_name: Text | None = Field(
        default=None, description="The provider whose token is used, where there are several."
    )
