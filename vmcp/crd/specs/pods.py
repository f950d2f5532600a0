"""What pods are made of that run for a custom resource."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from vmcp.crd.specs.base import Spec, spec
from vmcp.crd.specs.references import PullSecret
from vmcp.crd.specs.values import Flag, Raw, Text, TextMap, keyed_by

SessionAffinity = Literal["ClientIP", "None"]
PodTemplate = Raw


@spec
class EnvVar(Spec):
    """An environment variable."""

    name: Text = Field(description="The name of the variable.")
    value: Text = Field(description="Its value.")


EnvVars = Annotated[tuple[EnvVar, ...], keyed_by("name")]


@spec
class ResourceAmounts(Spec):
    """How much of a machine."""

    cpu: Text | None = Field(default=None, description="Processor time, such as `500m`.")
    memory: Text | None = Field(default=None, description="Memory, such as `256Mi`.")


@spec
class Resources(Spec):
    """How much of a machine a container gets."""

    requests: ResourceAmounts | None = Field(default=None, description="What it is sure of.")
    limits: ResourceAmounts | None = Field(default=None, description="What it never exceeds.")


@spec
class Audit(Spec):
    """A record of who called what."""

    enabled: Flag = Field(default=False, description="Keep the record.")


@spec
class Marks(Spec):
    """Marks of a Kubernetes object."""

    annotations: TextMap | None = Field(default=None, description="Annotations to add.")
    labels: TextMap | None = Field(default=None, description="Labels to add.")


@spec
class DeploymentOverrides(Marks):
    """What is changed in the Deployment of the proxy."""

    env: EnvVars | None = Field(
        default=None, description="Environment variables of the proxy's container."
    )
    image_pull_secrets: tuple[PullSecret, ...] | None = Field(
        default=None, description="Credentials of image registries."
    )
    pod_template_metadata_overrides: Marks | None = Field(
        default=None, description="Marks of its pods."
    )


@spec
class ResourceOverrides(Spec):
    """What is changed in the objects that are made for this one."""

    proxy_deployment: DeploymentOverrides | None = Field(
        default=None, description="The Deployment of the proxy."
    )
    proxy_service: Marks | None = Field(default=None, description="The Service of the proxy.")
