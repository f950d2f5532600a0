"""References from one object to another, all within a namespace."""

from __future__ import annotations

from pydantic import Field

from vmcp.crd.specs.base import Spec, spec
from vmcp.crd.specs.values import FilledText, Flag, Text, Texts


@spec
class NameRef(Spec):
    """Another object of the namespace."""

    name: Text = Field(description="The name of the object.")


@spec
class FilledRef(Spec):
    """Another object of the namespace, whose name is not empty."""

    name: FilledText = Field(description="The name of the object.")


@spec
class SecretKeyRef(Spec):
    """One key of a Secret."""

    name: Text = Field(description="The name of the Secret.")
    key: Text = Field(description="The key in the Secret that holds the value.")


@spec
class ConfigMapKey(Spec):
    """One key of a ConfigMap."""

    name: Text = Field(default="", description="The name of the ConfigMap.")
    key: Text | None = Field(
        default=None,
        description="The key that holds the certificates; `ca.crt` when it is absent or empty.",
    )
    optional: Flag | None = Field(
        default=None,
        description="Softens nothing: what refers to a missing bundle is not served.",
    )


@spec
class ConfigMapKeyRef(Spec):
    """Certificates in a ConfigMap, as PEM text."""

    config_map_ref: ConfigMapKey | None = Field(
        default=None, description="The ConfigMap and its key."
    )


@spec
class CABundleRef(ConfigMapKeyRef):
    """The certificates that a backend's own is checked against."""

    exclusive: Flag | None = Field(
        default=None,
        description=(
            "Trust these certificates alone; otherwise they are trusted beside the system's "
            "(an addition of vmcp)."
        ),
    )


@spec
class OIDCConfigRef(Spec):
    """An MCPOIDCConfig, and what one of its users adds to it."""

    name: FilledText = Field(description="The name of the MCPOIDCConfig.")
    audience: FilledText = Field(description="The audience that tokens must be made for.")
    scopes: Texts | None = Field(
        default=None, description="The scopes that clients are told to ask for."
    )
    resource_url: Text | None = Field(
        default=None, description="The URL by which clients know the protected resource."
    )


@spec
class TelemetryConfigRef(Spec):
    """An MCPTelemetryConfig, and the name under which its user reports."""

    name: FilledText = Field(description="The name of the MCPTelemetryConfig.")
    service_name: Text | None = Field(
        default=None, description="The service.name in traces and metrics."
    )


@spec
class PullSecret(Spec):
    """A Secret with the credential of an image registry."""

    name: Text = Field(default="", description="The name of the Secret.")
