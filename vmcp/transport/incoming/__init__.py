"""Clients to us: ASGI, both eras."""
