"""Who may do what: policies in the object itself, or in a ConfigMap."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from vmcp.crd.specs.base import Rule, Spec, spec
from vmcp.crd.specs.values import DnsLabel, Text, Texts

_ClaimName = Annotated[Text, Field(max_length=253)]


@spec
class PolicyConfigMap(Spec):
    """A ConfigMap that holds policies."""

    name: Text = Field(description="The name of the ConfigMap.")
    key: Text = Field(default="authz.json", description="The key that holds them.")


@spec
class InlinePolicies(Spec):
    """Policies in the object itself."""

    policies: Annotated[Texts, Field(min_length=1)] = Field(description="Cedar policies.")
    entities_json: Text = Field(
        default="[]", description="The entities that the policies speak of, as JSON."
    )
    primary_upstream_provider: DnsLabel | None = Field(
        default=None, description="The provider whose claims count, where there are several."
    )


@spec
class AuthzConfig(Spec):
    """Policies, and how callers become principals."""

    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "(self.type == 'configMap') == has(self.configMap)",
            "configMap must be there if type is 'configMap', and only then.",
            lambda authz: (authz.type == "configMap") == (authz.config_map is not None),
            ("configMap",),
        ),
        Rule(
            "(self.type == 'inline') == has(self.inline)",
            "inline must be there if type is 'inline', and only then.",
            lambda authz: (authz.type == "inline") == (authz.inline is not None),
            ("inline",),
        ),
    )

    type: Literal["configMap", "inline"] = Field(
        default="configMap", description="Where the policies are."
    )
    config_map: PolicyConfigMap | None = Field(
        default=None, description="The ConfigMap of `configMap`."
    )
    inline: InlinePolicies | None = Field(default=None, description="The policies of `inline`.")
    group_claim_name: _ClaimName | None = Field(
        default=None, description="The claim that names the groups of a caller."
    )
    role_claim_name: _ClaimName | None = Field(
        default=None, description="The claim that names the roles of a caller."
    )
    group_entity_type: (
        Annotated[Text, Field(max_length=63, pattern="^[A-Za-z_][A-Za-z0-9_]*$")] | None
    ) = Field(default=None, description="The type of entity that groups are in policies.")
