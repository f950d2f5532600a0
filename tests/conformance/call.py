"""One call of a tool or a prompt, and how it talks to the client in the call's own era.

A tool asks once, with `ask`. A sessioned client is sent the requests and the tool waits; a
stateless one gets `input_required` and the tool runs again, from its start, with the answers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata
from mcp_types import (
    INVALID_REQUEST,
    MISSING_REQUIRED_CLIENT_CAPABILITY,
    CallToolRequestParams,
    CreateMessageRequest,
    CreateMessageRequestParams,
    CreateMessageResult,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitResult,
    GetPromptRequestParams,
    InputRequest,
    InputRequiredResult,
    InputResponse,
    ListRootsRequest,
    ListRootsResult,
    LoggingLevel,
    SamplingMessage,
    TextContent,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from tests.conformance.changes import Changes, Context

Answer = ElicitResult | CreateMessageResult | ListRootsResult

ANSWERS: Mapping[str, tuple[str, type[Answer]]] = {
    "elicitation/create": ("elicitation", ElicitResult),
    "sampling/createMessage": ("sampling", CreateMessageResult),
    "roots/list": ("roots", ListRootsResult),
}


class InputNeededError(Exception):
    """The call cannot go on before the client has answered; the result says what."""

    def __init__(self, result: InputRequiredResult) -> None:
        super().__init__("input required")
        self.result = result


@dataclass(frozen=True, slots=True)
class Call:
    """What a tool or a prompt may see of the request that it answers."""

    ctx: Context
    params: CallToolRequestParams | GetPromptRequestParams
    changes: Changes

    @property
    def arguments(self) -> Mapping[str, Any]:
        """The arguments that came; none is the same as empty."""
        return self.params.arguments or {}

    @property
    def is_stateless(self) -> bool:
        """Whether this request carries all that it needs, and no session stands behind it."""
        return self.ctx.protocol_version in MODERN_PROTOCOL_VERSIONS

    @property
    def state(self) -> str | None:
        """The state that an earlier round handed out; it has been verified."""
        return self.params.request_state

    def can(self, capability: str) -> bool:
        """Tell whether the client declared a capability."""
        declared = self.ctx.session.client_capabilities
        return getattr(declared, capability, None) is not None

    def require(self, capability: str) -> None:
        """Refuse the call unless the client declared a capability."""
        if self.can(capability):
            return
        message = f"This needs the client capability {capability!r}."
        if self.is_stateless:
            needed: dict[str, Any] = {"requiredCapabilities": {capability: {}}}
            raise MCPError(MISSING_REQUIRED_CLIENT_CAPABILITY, message, needed)
        raise MCPError(INVALID_REQUEST, message)

    async def ask(
        self, questions: Mapping[str, InputRequest], *, state: str | None = None
    ) -> Mapping[str, InputResponse]:
        """Return the client's answer to each question, by key."""
        for question in questions.values():
            self.require(ANSWERS[question.method][0])
        if not self.is_stateless:
            return {key: await self._send(question) for key, question in questions.items()}
        came = self.params.input_responses or {}
        for key, question in questions.items():
            if not isinstance(came.get(key), ANSWERS[question.method][1]):
                asked = dict(questions)
                raise InputNeededError(
                    InputRequiredResult(input_requests=asked, request_state=state)
                )
        return {key: came[key] for key in questions}

    async def log(self, level: LoggingLevel, text: str) -> None:
        """Send a log message on the stream of this call, if the client wants it."""
        if self.changes.wants(self.ctx, level):
            await self.ctx.session.send_log_message(
                level, text, logger="conformance", related_request_id=self.ctx.request_id
            )

    async def progress(self, done: float, total: float) -> None:
        """Report progress, if the client gave a token for it."""
        await self.ctx.session.report_progress(done, total)

    async def _send(self, question: InputRequest) -> InputResponse:
        result: InputResponse = await self.ctx.session.send_request(
            question,
            ANSWERS[question.method][1],
            metadata=ServerMessageMetadata(related_request_id=self.ctx.request_id),
        )
        return result


def form(message: str, properties: Mapping[str, Any], *required: str) -> ElicitRequest:
    """Return a question to the user: a form with these fields."""
    schema: dict[str, Any] = {"type": "object", "properties": dict(properties)}
    if required:
        schema["required"] = list(required)
    return ElicitRequest(params=ElicitRequestFormParams(message=message, requested_schema=schema))


def sample(prompt: str, *, max_tokens: int = 100) -> CreateMessageRequest:
    """Return a question to the client's model."""
    message = SamplingMessage(role="user", content=TextContent(type="text", text=prompt))
    return CreateMessageRequest(
        params=CreateMessageRequestParams(messages=[message], max_tokens=max_tokens)
    )


def roots() -> ListRootsRequest:
    """Return the question for the client's roots."""
    return ListRootsRequest()
