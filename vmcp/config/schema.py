"""The config file as one pydantic model, and its JSON Schema; reading is left to `load`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from pydantic import Field
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from vmcp.config.aggregation import AggregationSettings
from vmcp.config.agreement import disagreements
from vmcp.config.backends import BackendSettings
from vmcp.config.faults import Fault
from vmcp.config.incoming import IncomingAuthSettings
from vmcp.config.outgoing import OutgoingAuthSettings
from vmcp.config.section import Section
from vmcp.config.serving import OperationalSettings, ServerSettings
from vmcp.config.telemetry import TelemetrySettings
from vmcp.config.values import FilledText, PassedHeaderName
from vmcp.config.views import ViewSettings


class Config(Section):
    """The config file of vmcp, a gateway that gives clients one URL for many MCP servers."""

    later: ClassVar[frozenset[str]] = frozenset(
        {
            "audit",
            "codeMode",
            "compositeToolRefs",
            "compositeTools",
            "groupRef",
            "metadata",
            "optimizer",
            "rateLimiting",
            "sessionStorage",
        }
    )

    name: FilledText = Field(
        default="vmcp",
        description="The name by which operators know the gateway: in /status, traces and sent metrics.",
    )
    backends: tuple[BackendSettings, ...] = Field(
        description="The MCP servers behind the gateway; an empty list is allowed."
    )
    incoming_auth: IncomingAuthSettings = Field(
        default=IncomingAuthSettings(type="anonymous"),
        json_schema_extra={"default": {"type": "anonymous"}},
        description="How clients authenticate to the gateway.",
    )
    outgoing_auth: OutgoingAuthSettings = Field(
        default=OutgoingAuthSettings(), description="How the gateway authenticates to backends."
    )
    aggregation: AggregationSettings = Field(
        default=AggregationSettings(), description="How the lists of the backends become one list."
    )
    operational: OperationalSettings = Field(
        default=OperationalSettings(), description="How the gateway runs."
    )
    passthrough_headers: tuple[PassedHeaderName, ...] = Field(
        default=(),
        description=(
            "The headers of a client's request that are copied to HTTP backends, unless the "
            "configuration sets them there."
        ),
    )
    views: tuple[ViewSettings, ...] = Field(
        default=(),
        description=(
            "Parts of what clients see, for clients that want no more; each backend alone is at "
            "`/mcp/<backend>` without any setting."
        ),
    )
    server: ServerSettings = Field(
        default=ServerSettings(), description="Where the gateway listens."
    )
    telemetry: TelemetrySettings = Field(
        default=TelemetrySettings(),
        description="Where traces and metrics go beside /metrics; nowhere by default.",
    )

    @classmethod
    def faults(cls, given: Mapping[str, object]) -> Iterator[Fault]:
        """Yield what does not agree between sections."""
        yield from disagreements(given)


class _Generator(GenerateJsonSchema):
    """Writes what the file may hold: an absent key is left out, never null."""

    def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ARG002
        """Leave out titles, which would only repeat the keys without their capitals."""
        return False

    def nullable_schema(self, schema: core_schema.NullableSchema) -> JsonSchemaValue:
        return self.generate_inner(schema["schema"])

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> JsonSchemaValue:
        """Leave out defaults that only say 'absent' or 'all defaults of the section'."""
        if schema.get("default") is None or isinstance(schema.get("default"), Section):
            return self.generate_inner(schema["schema"])
        return super().default_schema(schema)


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema (2020-12) of the config file, for editors."""
    made = Config.model_json_schema(by_alias=True, schema_generator=_Generator)
    return {"$schema": GenerateJsonSchema.schema_dialect, **made}
