"""The words of the two eras of MCP that the backend and the load generator share."""

from __future__ import annotations

SESSIONED = "sessioned"
STATELESS = "stateless"
ERAS = (SESSIONED, STATELESS)

SESSIONED_VERSIONS = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
STATELESS_VERSION = "2026-07-28"

META_VERSION = "io.modelcontextprotocol/protocolVersion"
META_CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
META_SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId"
META_SERVER = "io.modelcontextprotocol/serverInfo"
