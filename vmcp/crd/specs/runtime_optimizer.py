"""The sections `optimizer` and `codeMode` of a gateway's config: fewer tools for the model to read."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from vmcp.crd.specs.base import Rule, Spec, spec
from vmcp.crd.specs.values import Duration, Flag, Positive, Text, Whole

_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_TAKEN_HEADERS = ("authorization", "content-type")
_Ratio = Annotated[Text, Field(pattern=r"^([0-9]*[.])?[0-9]+$")]
_HeaderValue = Annotated[
    Text, Field(min_length=1, max_length=8192, pattern=r"^[^\x00-\x08\x0a-\x1f\x7f]*$")
]


def _names_headers(optimizer: Optimizer) -> bool:
    return all(
        _HEADER_NAME.fullmatch(name) and name.lower() not in _TAKEN_HEADERS
        for name in optimizer.embedding_headers or ()
    )


@spec
class Optimizer(Spec):
    """Tools are searched for instead of listed."""

    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "!has(self.embeddingHeaders)"
            " || (has(self.embeddingProvider) && self.embeddingProvider == 'openai')",
            "embeddingHeaders needs embeddingProvider 'openai'.",
            lambda optimizer: (
                optimizer.embedding_headers is None or optimizer.embedding_provider == "openai"
            ),
            ("embeddingHeaders",),
        ),
        Rule(
            # The quote and the backtick by their numbers: neither can stand in a CEL text as it is.
            "!has(self.embeddingHeaders) || self.embeddingHeaders.all(name,"
            r" name.matches('^[!#$%&\\x27*+.^_\\x60|~0-9A-Za-z-]+$')"
            " && !(name.lowerAscii() in ['authorization', 'content-type']))",
            "embeddingHeaders must hold names of headers, and neither Authorization nor Content-Type.",
            _names_headers,
            ("embeddingHeaders",),
        ),
    )

    embedding_provider: Literal["tei", "openai"] = Field(
        default="tei", description="What the embedding service speaks."
    )
    embedding_service: Text | None = Field(
        default=None, description="The URL of the embedding service."
    )
    embedding_service_timeout: Duration = Field(
        default="30s", description="How long an answer of it may take."
    )
    embedding_model: Text | None = Field(default=None, description="The model to ask it for.")
    embedding_headers: Annotated[Mapping[Text, _HeaderValue], Field(max_length=32)] | None = Field(
        default=None, description="Headers that it is sent, with `openai`."
    )
    max_tools_to_return: Annotated[Whole, Field(ge=1, le=50)] | None = Field(
        default=None, description="How many tools a search gives at most."
    )
    hybrid_search_semantic_ratio: _Ratio | None = Field(
        default=None, description="How much meaning counts beside words: 0 to 1."
    )
    semantic_distance_threshold: _Ratio | None = Field(
        default=None, description="How far from the question a tool may be."
    )


@spec
class CodeMode(Spec):
    """Tools are called from a program that the model writes."""

    enabled: Flag | None = Field(default=None, description="Whether this is offered.")
    parallel_max_concurrency: Positive = Field(
        default=10, description="How many calls of a program run at once."
    )
    step_limit: Positive = Field(default=100000, description="How many steps a program may take.")
    tool_call_timeout: Duration = Field(
        default="30s", description="How long a call of a program may take."
    )
