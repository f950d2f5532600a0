"""The config file to start from, with comments; it can be used as it stands."""

from __future__ import annotations

# A comment that begins with `# ` is prose; a line that begins with `#` alone is YAML, switched off.
_STARTER = """\
# The config file of vmcp: one URL for many MCP servers.
# Check it with `vmcp validate`, run it with `vmcp serve`. All keys: docs/config.md.

# The name by which operators know the gateway.
name: vmcp

# The MCP servers behind the gateway. Each one needs a name, and a url or a command.
backends:
  # A command that is started and spoken to over standard input and output. This one comes with uv
  # (`pip install uv`), and fetches the server at its first start.
  - name: time
    stdio:
      command: uvx
      args: [mcp-server-time]
      # It sees PATH, HOME, LANG and TMPDIR, and what is named here.
      #env:
        #LOG_LEVEL: info
        #API_KEY: {valueEnv: EXAMPLE_API_KEY}

  # A server that listens somewhere.
  #- name: example
    #url: https://mcp.example.test/mcp
    # A private certificate authority; the path starts at this file's folder.
    #caBundlePath: example-ca.pem
    #headerForward:
      #addPlaintextHeaders:
        #X-Team: platform
      #addHeadersFromSecret:
        #- headerName: X-Api-Key
          #valueEnv: EXAMPLE_API_KEY

# The credentials for backends. Secrets come from variables (...Env) and files (...File).
#outgoingAuth:
  #backends:
    #example:
      #type: bearer_token
      #bearerToken:
        #tokenEnv: EXAMPLE_TOKEN

# What clients see. `prefix` makes time_now of the tool now of the backend time.
aggregation:
  conflictResolution: prefix
  #conflictResolutionConfig:
    #prefixFormat: "{workload}_"
    # Only names that two backends share get the prefix.
    #prefixOnConflict: true
  #tools:
    #- workload: time
      #filter: [now]
      #overrides:
        #get_current_time:
          #name: now
          #description: The time, anywhere.

# How long a call may take, and how much is logged.
operational:
  timeouts:
    default: 30s
    #perWorkload:
      #time: 5s
  logLevel: info

# Headers of a client's request that are copied to backends with a url.
#passthroughHeaders: [X-Request-Id]

# Where the gateway listens.
server:
  host: 127.0.0.1
  port: 4483
  path: /mcp
"""


def starter() -> str:
    """Return the text of the file that `vmcp init` writes."""
    return _STARTER
