"""The tools that the conformance suite calls, by the names and texts that it expects."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

import anyio
from mcp_types import (
    AudioContent,
    CallToolResult,
    ContentBlock,
    CreateMessageResult,
    ElicitResult,
    EmbeddedResource,
    ImageContent,
    InputRequest,
    InputResponse,
    ListRootsResult,
    TextContent,
    TextResourceContents,
    Tool,
)

from tests.conformance.call import Call, form, roots, sample
from tests.conformance.media import png, wav
from tests.conformance.schemas import (
    DEFAULTS_FORM,
    ENUMS_FORM,
    HEADER_TOOL,
    NAME_FORM,
    SCHEMA_2020_12,
    SLOW_COMPUTE,
    strings,
)

Run = Callable[[Call], Awaitable[CallToolResult]]
PAUSE_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class FixtureTool:
    """A tool: what the list shows of it and what a call runs."""

    document: Tool
    run: Run


TOOLS: dict[str, FixtureTool] = {}


def tool(
    name: str, description: str, schema: Mapping[str, Any] | None = None
) -> Callable[[Run], Run]:
    """Publish the decorated function as a tool."""

    def publish(run: Run) -> Run:
        document = Tool(
            name=name,
            description=description,
            input_schema=dict(schema or {"type": "object", "properties": {}}),
        )
        TOOLS[name] = FixtureTool(document, run)
        return run

    return publish


def text(content: str) -> TextContent:
    """Return a text block."""
    return TextContent(type="text", text=content)


def image() -> ImageContent:
    """Return a block with the smallest picture."""
    return ImageContent(type="image", data=png(), mime_type="image/png")


def embedded(uri: str, mime_type: str, content: str) -> EmbeddedResource:
    """Return a block that carries a text resource."""
    resource = TextResourceContents(uri=uri, mime_type=mime_type, text=content)
    return EmbeddedResource(type="resource", resource=resource)


def result(*blocks: ContentBlock | str) -> CallToolResult:
    """Return a result of blocks; a string stands for a text block."""
    return CallToolResult(
        content=[text(block) if isinstance(block, str) else block for block in blocks]
    )


def described(answer: InputResponse) -> str:
    """Return an answer of the client as a person would read it."""
    match answer:
        case ElicitResult():
            return f"action={answer.action}, content={json.dumps(answer.content)}"
        case CreateMessageResult(content=TextContent(text=said)):
            return said
        case ListRootsResult():
            return ", ".join(str(root.uri) for root in answer.roots)
        case _:
            return answer.model_dump_json(by_alias=True, exclude_none=True)


@tool("test_simple_text", "Answers with one short text.")
async def simple_text(_call: Call) -> CallToolResult:
    return result("This is a simple text response for testing.")


@tool("test_image_content", "Answers with a picture.")
async def image_content(_call: Call) -> CallToolResult:
    return result(image())


@tool("test_audio_content", "Answers with a sound.")
async def audio_content(_call: Call) -> CallToolResult:
    return result(AudioContent(type="audio", data=wav(), mime_type="audio/wav"))


@tool("test_embedded_resource", "Answers with a resource in the result.")
async def embedded_resource(_call: Call) -> CallToolResult:
    uri, content = "test://embedded-resource", "This is an embedded resource content."
    return result(embedded(uri, "text/plain", content))


@tool("test_multiple_content_types", "Answers with a text, a picture and a resource.")
async def multiple_content_types(_call: Call) -> CallToolResult:
    content = json.dumps({"test": "data", "value": 123})
    resource = embedded("test://mixed-content-resource", "application/json", content)
    return result("Multiple content types test:", image(), resource)


@tool("test_error_handling", "Fails, always.")
async def error_handling(_call: Call) -> CallToolResult:
    failed = text("This tool intentionally returns an error for testing")
    return CallToolResult(content=[failed], is_error=True)


@tool("test_tool_with_logging", "Sends three log messages while it runs.")
async def tool_with_logging(call: Call) -> CallToolResult:
    await call.log("info", "Tool execution started")
    await anyio.sleep(PAUSE_SECONDS)
    await call.log("info", "Tool processing data")
    await anyio.sleep(PAUSE_SECONDS)
    await call.log("info", "Tool execution completed")
    return result("Three log messages were sent.")


@tool("test_logging_tool", "Sends a log message to those who asked for log messages.")
async def logging_tool(call: Call) -> CallToolResult:
    await call.log("info", "A log message for a client that asked for it")
    return result("A log message was sent if it was wanted.")


@tool("test_tool_with_progress", "Reports progress at 0, 50 and 100 of 100.")
async def tool_with_progress(call: Call) -> CallToolResult:
    for done in (0, 50):
        await call.progress(done, 100)
        await anyio.sleep(PAUSE_SECONDS)
    await call.progress(100, 100)
    return result("Progress was reported three times.")


@tool("test_sampling", "Asks the client's model.", strings("prompt"))
async def sampling(call: Call) -> CallToolResult:
    answers = await call.ask({"reply": sample(str(call.arguments["prompt"]))})
    return result(f"LLM response: {described(answers['reply'])}")


@tool("test_elicitation", "Asks the user for a name and an address.", strings("message"))
async def elicitation(call: Call) -> CallToolResult:
    fields = {
        "username": {"type": "string", "description": "User's response"},
        "email": {"type": "string", "description": "User's email address"},
    }
    asked = form(str(call.arguments["message"]), fields, "username", "email")
    answers = await call.ask({"user": asked})
    return result(f"User response: {described(answers['user'])}")


@tool("test_elicitation_sep1034_defaults", "Asks with a form whose fields have defaults.")
async def elicitation_defaults(call: Call) -> CallToolResult:
    answers = await call.ask({"form": form("Please check these values.", DEFAULTS_FORM)})
    return result(f"Elicitation completed: {described(answers['form'])}")


@tool("test_elicitation_sep1330_enums", "Asks with a form of all five kinds of choices.")
async def elicitation_enums(call: Call) -> CallToolResult:
    answers = await call.ask({"form": form("Please choose.", ENUMS_FORM)})
    return result(f"Elicitation completed: {described(answers['form'])}")


@tool("test_streaming_elicitation", "Reports progress, then asks the user.")
async def streaming_elicitation(call: Call) -> CallToolResult:
    await call.progress(1, 2)
    await call.log("info", "About to ask")
    answers = await call.ask({"user_name": form("What is your name?", NAME_FORM, "name")})
    return result(f"Done: {described(answers['user_name'])}")


# The suite calls the next two to see whether they become tasks; without that extension they answer.
@tool("greet", "Greets somebody.", strings("name"))
async def greet(call: Call) -> CallToolResult:
    return result(f"Hello, {call.arguments.get('name', 'nobody')}!")


@tool("slow_compute", "Computes, at once and without a task.", SLOW_COMPUTE)
async def slow_compute(call: Call) -> CallToolResult:
    return result(f"Computed: {call.arguments.get('label', 'nothing')}")


@tool("json_schema_2020_12_tool", "Has JSON Schema 2020-12 features.", SCHEMA_2020_12)
async def json_schema(call: Call) -> CallToolResult:
    return result(f"Arguments: {json.dumps(dict(call.arguments), sort_keys=True)}")


@tool("test_x_mcp_header", "Takes arguments that also travel as headers.", HEADER_TOOL)
async def x_mcp_header(call: Call) -> CallToolResult:
    return result(f"Arguments: {json.dumps(dict(call.arguments), sort_keys=True)}")


@tool("test_reconnection", "Ends its event stream before it has a result.")
async def reconnection(call: Call) -> CallToolResult:
    if call.ctx.close_sse_stream is not None:
        await call.ctx.close_sse_stream()
        await anyio.sleep(PAUSE_SECONDS)
    return result("The result came after the stream had been closed.")


@tool("test_missing_capability", "Needs a client that can sample.")
async def missing_capability(call: Call) -> CallToolResult:
    call.require("sampling")
    return result("The client can sample.")


@tool("test_trigger_tool_change", "Takes one tool away and adds another.")
async def trigger_tool_change(call: Call) -> CallToolResult:
    await call.changes.change("tools")
    return result("The tools have changed.")


@tool("test_trigger_prompt_change", "Takes one prompt away and adds another.")
async def trigger_prompt_change(call: Call) -> CallToolResult:
    await call.changes.change("prompts")
    return result("The prompts have changed.")


@tool("test_trigger_resource_change", "Takes one resource away and adds another.")
async def trigger_resource_change(call: Call) -> CallToolResult:
    await call.changes.change("resources")
    return result("The resources have changed.")


@tool("test_trigger_resource_update", "Changes the content of a resource.", strings("uri"))
async def trigger_resource_update(call: Call) -> CallToolResult:
    await call.changes.update(str(call.arguments["uri"]))
    return result("The resource has changed.")


@tool("test_input_required_result_elicitation", "Asks the user for a name.")
async def input_elicitation(call: Call) -> CallToolResult:
    answers = await call.ask({"user_name": form("What is your name?", NAME_FORM, "name")})
    match answers["user_name"]:
        case ElicitResult(content={"name": str(name)}):
            return result(f"Hello, {name}!")
        case other:
            return result(f"No name: {described(other)}")


@tool("test_input_required_result_sampling", "Asks the client's model for a capital.")
async def input_sampling(call: Call) -> CallToolResult:
    answers = await call.ask({"capital_question": sample("What is the capital of France?")})
    return result(described(answers["capital_question"]))


@tool("test_input_required_result_list_roots", "Asks for the client's roots.")
async def input_list_roots(call: Call) -> CallToolResult:
    answers = await call.ask({"client_roots": roots()})
    return result(f"Roots: {described(answers['client_roots'])}")


@tool("test_input_required_result_request_state", "Asks, and hands out state that must come back.")
async def input_request_state(call: Call) -> CallToolResult:
    return await confirm(call, state="asked to confirm")


@tool("test_input_required_result_tampered_state", "Refuses state that it did not hand out.")
async def input_tampered_state(call: Call) -> CallToolResult:
    return await confirm(call, state="asked to confirm, unchanged")


@tool("test_input_required_result_multiple_inputs", "Asks user, model and roots at once.")
async def input_multiple(call: Call) -> CallToolResult:
    questions: dict[str, InputRequest] = {
        "user_name": form("What is your name?", NAME_FORM, "name"),
        "greeting": sample("Generate a greeting", max_tokens=50),
        "client_roots": roots(),
    }
    answers = await call.ask(questions, state="asked all three")
    return result(*(f"{key}: {described(answer)}" for key, answer in sorted(answers.items())))


@tool("test_input_required_result_multi_round", "Asks for a name, then for a colour.")
async def input_multi_round(call: Call) -> CallToolResult:
    if call.state is None or not call.state.startswith("asked for a colour"):
        name = form("Step 1: What is your name?", NAME_FORM, "name")
        await call.ask({"step1": name}, state="asked for a name")
    colour = {"color": {"type": "string"}}
    asked = form("Step 2: What is your favorite color?", colour, "color")
    answers = await call.ask({"step2": asked}, state="asked for a colour")
    return result(f"Both steps are done: {described(answers['step2'])}")


@tool("test_input_required_result_capabilities", "Asks only what the client can answer.")
async def input_capabilities(call: Call) -> CallToolResult:
    questions: dict[str, InputRequest] = {}
    if call.can("elicitation"):
        questions["user_name"] = form("What is your name?", NAME_FORM, "name")
    if call.can("sampling"):
        questions["greeting"] = sample("Generate a greeting")
    if call.can("roots"):
        questions["client_roots"] = roots()
    answers = await call.ask(questions)
    return result(f"Answered: {', '.join(sorted(answers)) or 'nothing was asked'}")


async def confirm(call: Call, *, state: str) -> CallToolResult:
    """Ask for a confirmation, handing out state that must come back with the answer."""
    asked = form("Please confirm", {"ok": {"type": "boolean"}}, "ok")
    await call.ask({"confirm": asked}, state=state)
    is_same = call.state == state or not call.is_stateless
    return result("state-ok" if is_same else "The state is not the one that was handed out.")
