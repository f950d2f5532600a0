"""MCPOIDCConfig: how the tokens of callers are checked."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from vmcp.crd.specs.base import Rule, Spec, spec
from vmcp.crd.specs.conditions import ConfigStatus
from vmcp.crd.specs.references import ConfigMapKeyRef, SecretKeyRef
from vmcp.crd.specs.values import Flag, Text


@spec
class InlineOidc(Spec):
    """An issuer anywhere."""

    issuer: Text = Field(description="The issuer of the tokens.")
    client_id: Text | None = Field(default=None, description="Our id as a client of the issuer.")
    client_secret_ref: SecretKeyRef | None = Field(
        default=None, description="The Secret that holds our secret as a client."
    )
    jwks_url: Text | None = Field(
        default=None, description="Where its keys are, if its metadata does not tell."
    )
    jwks_auth_token_path: Text | None = Field(
        default=None, description="The file with a token that reading the keys needs."
    )
    introspection_url: Text | None = Field(
        default=None, description="Where the issuer tells of opaque tokens."
    )
    ca_bundle_ref: ConfigMapKeyRef | None = Field(
        default=None, description="The certificates that the issuer's own is checked against."
    )
    insecure_allow_http: Flag = Field(
        default=False,
        alias="insecureAllowHTTP",
        description="Allow an issuer with http, for tests.",
    )
    jwks_allow_private_ip: Flag = Field(
        default=False,
        alias="jwksAllowPrivateIP",
        description="Whether the keys may be at a private address.",
    )
    protected_resource_allow_private_ip: Flag = Field(
        default=False,
        alias="protectedResourceAllowPrivateIP",
        description="Whether the protected resource may have a private address.",
    )


@spec
class ServiceAccountOidc(Spec):
    """The cluster itself as the issuer: callers are pods."""

    issuer: Text = Field(
        default="https://kubernetes.default.svc", description="The issuer of the cluster."
    )
    service_account: Text | None = Field(
        default=None, description="The only ServiceAccount that may come in."
    )
    namespace: Text | None = Field(
        default=None, description="Its namespace; this object's own if absent."
    )
    jwks_url: Text | None = Field(
        default=None, description="Where its keys are, if its metadata does not tell."
    )
    introspection_url: Text | None = Field(
        default=None, description="Where the issuer tells of opaque tokens."
    )
    use_cluster_auth: Flag | None = Field(
        default=None, description="Read the keys with the credential of the pod."
    )


@spec
class MCPOIDCConfigSpec(Spec):
    """The issuer, and how its tokens are checked."""

    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "(self.type == 'kubernetesServiceAccount') == has(self.kubernetesServiceAccount)",
            "kubernetesServiceAccount must be there if type is 'kubernetesServiceAccount', and only "
            "then.",
            lambda oidc: (
                (oidc.type == "kubernetesServiceAccount")
                == (oidc.kubernetes_service_account is not None)
            ),
            ("kubernetesServiceAccount",),
        ),
        Rule(
            "(self.type == 'inline') == has(self.inline)",
            "inline must be there if type is 'inline', and only then.",
            lambda oidc: (oidc.type == "inline") == (oidc.inline is not None),
            ("inline",),
        ),
    )

    type: Literal["kubernetesServiceAccount", "inline"] = Field(description="Who the issuer is.")
    kubernetes_service_account: ServiceAccountOidc | None = Field(
        default=None, description="The settings of `kubernetesServiceAccount`."
    )
    inline: InlineOidc | None = Field(default=None, description="The settings of `inline`.")


@spec
class MCPOIDCConfigStatus(ConfigStatus):
    """Whether the settings are valid, and who uses them."""
