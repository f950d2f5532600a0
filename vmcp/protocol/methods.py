"""What is known of the protocol's methods, fields and revisions."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

STATELESS_VERSION = "2026-07-28"
SESSIONED_VERSIONS = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
NEWEST_SESSIONED = SESSIONED_VERSIONS[0]

META_VERSION = b'"io.modelcontextprotocol/protocolVersion"'
META_CAPABILITIES = b'"io.modelcontextprotocol/clientCapabilities"'
META_CLIENT_INFO = b'"io.modelcontextprotocol/clientInfo"'
META_SERVER_INFO = b'"io.modelcontextprotocol/serverInfo"'
META_LOG_LEVEL = b'"io.modelcontextprotocol/logLevel"'
META_SUBSCRIPTION = b'"io.modelcontextprotocol/subscriptionId"'
META_PROGRESS = b'"progressToken"'

# The `_meta` keys that a stateless request carries for its own hop.
STATELESS_META = (META_VERSION, META_CAPABILITIES, META_CLIENT_INFO, META_LOG_LEVEL)

# Which member of params the header Mcp-Name repeats.
NAMED: Mapping[str, bytes] = MappingProxyType(
    {
        "tools/call": b'"name"',
        "prompts/get": b'"name"',
        "resources/read": b'"uri"',
        "tasks/get": b'"taskId"',
        "tasks/update": b'"taskId"',
        "tasks/cancel": b'"taskId"',
    }
)

# The requests that are carried to backends.
CARRIED = frozenset(
    (
        *NAMED,
        "completion/complete",
        "tasks/list",
        "tasks/result",
    )
)

# Methods of the sessioned era that the stateless one has no more.
REMOVED = frozenset(
    ("initialize", "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe")
)

# Methods that only the stateless era has.
ADDED = frozenset(("server/discover", "subscriptions/listen"))

# Methods on which a stateless server may answer `input_required`.
INTERACTIVE = frozenset(("tools/call", "prompts/get", "resources/read"))

# The lists: the member that holds the items.
LISTS: Mapping[str, str] = MappingProxyType(
    {
        "tools/list": "tools",
        "prompts/list": "prompts",
        "resources/list": "resources",
        "resources/templates/list": "resourceTemplates",
    }
)

# Requests that a server may send to a client of the sessioned era.
ASKS = frozenset(("elicitation/create", "sampling/createMessage", "roots/list"))

# All requests that clients may send; who counts or names by method counts the rest as one.
KNOWN = CARRIED | REMOVED | ADDED | LISTS.keys()

LOG_LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")

TRACE_HEADERS = ("traceparent", "tracestate", "baggage")
