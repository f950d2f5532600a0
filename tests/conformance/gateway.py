"""The configuration of the gateway that the suite meets."""

GATEWAY = """
backends:
  - name: conformance
    transport: streamable-http
    url: {url}
aggregation:
  conflictResolution: prefix
  conflictResolutionConfig:
    prefixOnConflict: true
"""
"""One backend and prefixes on conflict only: all names stay as the suite knows them."""
