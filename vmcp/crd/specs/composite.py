"""VirtualMCPCompositeToolDefinition: a tool that is made of calls to others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from pydantic import Field

from vmcp.crd.specs.base import Spec, spec
from vmcp.crd.specs.conditions import Status
from vmcp.crd.specs.toolconfig import ToolAnnotations
from vmcp.crd.specs.values import AnyValue, Duration, Raw, Text, Texts, TextSet, Whole

_Refusal = Literal["skip_remaining", "abort", "continue"]


@spec
class OutputProperty(Spec):
    """One property of the result."""

    type: Literal["string", "integer", "number", "boolean", "object", "array"] = Field(
        description="The type of its value."
    )
    description: Text | None = Field(default=None, description="What it is.")
    value: Text | None = Field(default=None, description="A template that makes its value.")
    properties: Raw | None = Field(default=None, description="The properties of an object.")
    default: AnyValue | None = Field(
        default=None, description="Its value where the template makes none."
    )


@spec
class Output(Spec):
    """What the tool results in."""

    properties: Mapping[Text, OutputProperty] = Field(description="The properties of the result.")
    required: Texts | None = Field(default=None, description="Those that are always there.")


@spec
class OnError(Spec):
    """What happens when a step fails."""

    action: Literal["abort", "continue", "retry"] = Field(
        default="abort", description="What happens."
    )
    retry_count: Whole | None = Field(default=None, description="How often it is tried again.")
    retry_delay: Duration | None = Field(
        default=None, description="The time before it is tried again."
    )


@spec
class OnRefusal(Spec):
    """What happens when a user declines or cancels."""

    action: _Refusal = Field(default="abort", description="What happens.")


@spec
class Step(Spec):
    """One step: a call, a question, or steps for each of a list."""

    id: Text = Field(description="The name by which other steps refer to it.")
    type: Literal["tool", "elicitation", "forEach"] = Field(
        default="tool", description="What the step does."
    )
    tool: Text | None = Field(default=None, description="The tool to call.")
    arguments: Raw | None = Field(default=None, description="Its arguments; texts are templates.")
    message: Text | None = Field(default=None, description="The question to the user.")
    schema_: Raw | None = Field(
        default=None, alias="schema", description="What the user is asked for, as JSON Schema."
    )
    collection: Text | None = Field(
        default=None, description="A template that makes the list of a `forEach`."
    )
    item_var: Text | None = Field(
        default=None, description="The name of the current one in the inner step."
    )
    step: Raw | None = Field(default=None, description="The inner step of a `forEach`.")
    max_iterations: Whole | None = Field(
        default=None, description="How long the list of a `forEach` may be."
    )
    max_parallel: Whole | None = Field(
        default=None, description="How many inner steps run at once."
    )
    condition: Text | None = Field(
        default=None, description="A template; the step is left out unless it makes `true`."
    )
    depends_on: Texts | None = Field(default=None, description="Steps that come before this one.")
    default_results: AnyValue | None = Field(
        default=None, description="The result of the step where it is left out."
    )
    timeout: Duration | None = Field(default=None, description="How long the step may take.")
    on_error: OnError | None = Field(default=None, description="What happens when it fails.")
    on_decline: OnRefusal | None = Field(
        default=None, description="What happens when the user declines."
    )
    on_cancel: OnRefusal | None = Field(
        default=None, description="What happens when the user cancels."
    )


@spec
class VirtualMCPCompositeToolDefinitionSpec(Spec):
    """The tool, and the steps that it is made of."""

    name: Text = Field(description="The name of the tool.")
    description: Text | None = Field(default=None, description="What the tool does.")
    annotations: ToolAnnotations | None = Field(
        default=None, description="What the tool tells of how it behaves."
    )
    parameters: Raw | None = Field(default=None, description="Its arguments, as JSON Schema.")
    steps: tuple[Step, ...] = Field(description="The steps.")
    output: Output | None = Field(default=None, description="What it results in.")
    timeout: Duration | None = Field(default=None, description="How long all steps may take.")


@spec
class VirtualMCPCompositeToolDefinitionStatus(Status):
    """Whether the tool can be made, and who offers it."""

    validation_status: Literal["Valid", "Invalid", "Unknown"] | None = Field(
        default=None, description="Whether the definition is valid."
    )
    validation_errors: Texts | None = Field(default=None, description="What is wrong with it.")
    referencing_virtual_servers: TextSet | None = Field(
        default=None, description="The VirtualMCPServers that refer to it."
    )
