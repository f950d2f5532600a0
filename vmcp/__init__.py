"""vmcp: one URL for many MCP servers."""

__version__ = "0.1.0"
