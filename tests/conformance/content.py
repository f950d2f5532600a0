"""The prompts and resources that the suite reads, and completion for their arguments."""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from mcp_types import (
    BlobResourceContents,
    CompletionArgument,
    ContentBlock,
    GetPromptResult,
    Prompt,
    PromptArgument,
    PromptMessage,
    Resource,
    ResourceTemplate,
    TextResourceContents,
)

from tests.conformance.call import Call, form
from tests.conformance.media import png
from tests.conformance.tools import described, embedded, image, text

Contents = TextResourceContents | BlobResourceContents
Run = Callable[[Call], Awaitable[GetPromptResult]]

WATCHED = "test://watched-resource"
COMPLETIONS = ("paris", "park", "party", "test", "testing", "tests")


@dataclass(frozen=True, slots=True)
class FixturePrompt:
    """A prompt: what the list shows of it and what a call runs."""

    document: Prompt
    run: Run


PROMPTS: dict[str, FixturePrompt] = {}


def prompt(name: str, description: str, *arguments: str) -> Callable[[Run], Run]:
    """Publish the decorated function as a prompt with these required arguments."""

    def publish(run: Run) -> Run:
        listed = [
            PromptArgument(name=argument, description=f"The {argument}.", required=True)
            for argument in arguments
        ]
        document = Prompt(name=name, description=description, arguments=listed or None)
        PROMPTS[name] = FixturePrompt(document, run)
        return run

    return publish


def messages(*blocks: ContentBlock | str) -> GetPromptResult:
    """Return a prompt's result: one message of the user a block."""
    contents = [text(block) if isinstance(block, str) else block for block in blocks]
    return GetPromptResult(messages=[PromptMessage(role="user", content=c) for c in contents])


@prompt("test_simple_prompt", "A prompt without arguments.")
async def simple(_call: Call) -> GetPromptResult:
    return messages("This is a simple prompt for testing.")


@prompt("test_prompt_with_arguments", "A prompt with two arguments.", "arg1", "arg2")
async def with_arguments(call: Call) -> GetPromptResult:
    first, second = call.arguments.get("arg1", ""), call.arguments.get("arg2", "")
    return messages(f"Prompt with arguments: arg1='{first}', arg2='{second}'")


@prompt("test_prompt_with_embedded_resource", "A prompt with a resource.", "resourceUri")
async def with_embedded_resource(call: Call) -> GetPromptResult:
    uri = str(call.arguments.get("resourceUri", "test://example-resource"))
    resource = embedded(uri, "text/plain", "Embedded resource content for testing.")
    return messages(resource, "Please process the embedded resource above.")


@prompt("test_prompt_with_image", "A prompt with a picture.")
async def with_image(_call: Call) -> GetPromptResult:
    return messages(image(), "Please analyze the image above.")


@prompt("test_input_required_result_prompt", "A prompt that asks the user first.")
async def with_input(call: Call) -> GetPromptResult:
    fields = {"context": {"type": "string"}}
    asked = form("What context should the prompt use?", fields, "context")
    answers = await call.ask({"user_context": asked})
    return messages(f"Use this context: {described(answers['user_context'])}")


RESOURCES = (
    Resource(
        uri="test://static-text",
        name="static-text",
        description="A text that never changes.",
        mime_type="text/plain",
    ),
    Resource(
        uri="test://static-binary",
        name="static-binary",
        description="A picture that never changes.",
        mime_type="image/png",
    ),
    Resource(
        uri=WATCHED,
        name="watched-resource",
        description="A text that changes when a tool is told to change it.",
        mime_type="text/plain",
    ),
)

TEMPLATE = ResourceTemplate(
    uri_template="test://template/{id}/data",
    name="template",
    description="Data for an id.",
    mime_type="application/json",
)

_OF_TEMPLATE = re.compile(r"test://template/(?P<id>[^/]+)/data")


def read(uri: str, *, generation: int) -> Contents | None:
    """Return what a resource holds, or None for an unknown one."""
    match uri:
        case "test://static-text":
            content = "This is the content of the static text resource."
            return TextResourceContents(uri=uri, mime_type="text/plain", text=content)
        case "test://static-binary":
            return BlobResourceContents(uri=uri, mime_type="image/png", blob=png())
        case "test://watched-resource":
            content = f"This text has changed {generation} times."
            return TextResourceContents(uri=uri, mime_type="text/plain", text=content)
    if found := _OF_TEMPLATE.fullmatch(uri):
        return _of_template(uri, found["id"])
    return None


def complete(argument: CompletionArgument) -> list[str]:
    """Return the values that begin as the argument does."""
    return [value for value in COMPLETIONS if value.startswith(argument.value)]


def _of_template(uri: str, identifier: str) -> Contents:
    content = {"id": identifier, "templateTest": True, "data": f"Data for ID: {identifier}"}
    return TextResourceContents(uri=uri, mime_type="application/json", text=json.dumps(content))
