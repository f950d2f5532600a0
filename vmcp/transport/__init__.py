"""MCP on the wire, incoming and outgoing."""
