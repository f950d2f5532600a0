"""Us to backends: streamable HTTP and stdio, both eras."""
