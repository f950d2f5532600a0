"""The MCP wire as pure functions and values: envelopes, documents, eras, streams, errors."""
