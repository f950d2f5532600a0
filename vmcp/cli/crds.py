"""`vmcp crds`: the custom resources, as an API server learns of them."""

from __future__ import annotations

from vmcp.cli import output


def crds() -> None:
    """Print the definitions of the custom resources, for an API server.

    vmcp crds | kubectl apply --server-side -f -
    """
    from vmcp.cli.manifest import documents
    from vmcp.crd.definitions import definitions

    output.emit(documents(definitions()).rstrip("\n"))
