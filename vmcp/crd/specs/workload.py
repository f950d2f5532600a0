"""What MCPServer and MCPRemoteProxy share: both run a proxy in front of a server."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from vmcp.crd.specs.authorization import AuthzConfig
from vmcp.crd.specs.base import Rule, Spec, spec
from vmcp.crd.specs.conditions import Status
from vmcp.crd.specs.pods import Audit, PodTemplate, ResourceOverrides, Resources, SessionAffinity
from vmcp.crd.specs.references import FilledRef, NameRef, OIDCConfigRef, TelemetryConfigRef
from vmcp.crd.specs.sessionstorage import SessionStorage
from vmcp.crd.specs.values import Count, FilledText, Flag, Port, Text

AuthServerKind = Literal["MCPExternalAuthConfig"]

ONE_AUTHZ = Rule(
    "!(has(self.authzConfig) && has(self.authzConfigRef))",
    "authzConfig and authzConfigRef cannot both be set.",
    lambda given: given.authz_config is None or given.authz_config_ref is None,
    ("authzConfigRef",),
)


@spec
class AuthServerRef(Spec):
    """The object that configures an authorization server of the workload's own."""

    kind: AuthServerKind = Field(
        default="MCPExternalAuthConfig", description="The kind of the object."
    )
    name: FilledText = Field(description="The name of the object.")


@spec
class MemberSpec(Spec):
    """What a gateway reads of a workload of its group, and nothing that only its operator needs."""

    group_ref: FilledRef | None = Field(
        default=None, description="The MCPGroup that it belongs to."
    )
    external_auth_config_ref: NameRef | None = Field(
        default=None,
        description="The MCPExternalAuthConfig that tells how to authenticate to the server.",
    )
    tool_config_ref: NameRef | None = Field(
        default=None, description="The MCPToolConfig that tells which tools are shown, and how."
    )


@spec
class WorkloadSpec(MemberSpec):
    """How the proxy runs, and whom it lets in."""

    rules: ClassVar[tuple[Rule, ...]] = (ONE_AUTHZ,)

    audit: Audit | None = Field(default=None, description="A record of who called what.")
    auth_server_ref: AuthServerRef | None = Field(
        default=None, description="An authorization server of its own."
    )
    authz_config: AuthzConfig | None = Field(default=None, description="Who may do what.")
    authz_config_ref: FilledRef | None = Field(
        default=None, description="The MCPAuthzConfig that tells who may do what."
    )
    endpoint_prefix: Text | None = Field(
        default=None, description="What the path of its endpoints begins with."
    )
    oidc_config_ref: OIDCConfigRef | None = Field(
        default=None, description="How the tokens of callers are checked."
    )
    pod_template_spec: PodTemplate | None = Field(
        default=None, description="What is changed in its pods, as a PodTemplateSpec."
    )
    proxy_port: Port = Field(default=8080, description="The port of the proxy.")
    replicas: Count | None = Field(
        default=None, description="How many proxies run; left to others if absent."
    )
    resource_overrides: ResourceOverrides | None = Field(
        default=None, description="What is changed in the objects that are made for this one."
    )
    resources: Resources | None = Field(
        default=None, description="How much of a machine the container gets."
    )
    service_account: Text | None = Field(
        default=None, description="The ServiceAccount of its pods; one is made if absent."
    )
    session_affinity: SessionAffinity = Field(
        default="ClientIP", description="Whether a client's requests go to one pod."
    )
    session_storage: SessionStorage | None = Field(
        default=None, description="Where the sessions of clients are kept."
    )
    telemetry_config_ref: TelemetryConfigRef | None = Field(
        default=None, description="Where traces and metrics go."
    )
    trust_proxy_headers: Flag = Field(
        default=False, description="Whether X-Forwarded headers count, of whomever they come."
    )


@spec
class MemberStatus(Spec):
    """What a gateway reads of the status of a workload."""

    phase: Text | None = Field(default=None, description="How it is as a whole.")
    url: Text | None = Field(default=None, description="The URL by which it is reached.")


@spec
class WorkloadStatus(Status):
    """How the workload is, and for which versions of its configs."""

    url: Text | None = Field(default=None, description="The URL by which it is reached.")
    message: Text | None = Field(default=None, description="How it is, in a sentence.")
    auth_server_config_hash: Text | None = Field(
        default=None, description="Of the MCPExternalAuthConfig of `authServerRef`."
    )
    authz_config_hash: Text | None = Field(
        default=None, description="Of the MCPAuthzConfig that is in force."
    )
    external_auth_config_hash: Text | None = Field(
        default=None, description="Of the MCPExternalAuthConfig that is in force."
    )
    oidc_config_hash: Text | None = Field(
        default=None, description="Of the MCPOIDCConfig that is in force."
    )
    telemetry_config_hash: Text | None = Field(
        default=None, description="Of the MCPTelemetryConfig that is in force."
    )
    tool_config_hash: Text | None = Field(
        default=None, description="Of the MCPToolConfig that is in force."
    )
