"""The proxy of FastMCP in front of one URL, as its own documentation sets it up."""

from __future__ import annotations

import sys

from fastmcp.server import create_proxy


def main() -> None:
    """Serve the port of the first argument in front of the URL of the second."""
    port, url = int(sys.argv[1]), sys.argv[2]
    create_proxy(url).run(
        transport="http", host="127.0.0.1", port=port, show_banner=False, log_level="warning"
    )


if __name__ == "__main__":
    main()
