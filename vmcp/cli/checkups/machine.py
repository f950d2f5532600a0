"""What on this machine keeps a gateway from serving well: open files, permissions, ports."""

from __future__ import annotations

import stat
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

from cryptography import x509

from vmcp.cli.checkups.certificates import described, ends_soon
from vmcp.cli.checkups.steps import Outcome, Step
from vmcp.config.exposure import is_exposed
from vmcp.config.keysfile import tells_keys
from vmcp.config.load import Loaded
from vmcp.config.references import FromFile
from vmcp.config.serving import ServerSettings
from vmcp.errors import CannotListen
from vmcp.transport.incoming.server import listening

_FEW_FILES = 4096


def examine(loaded: Loaded, now: datetime, *, is_running: bool) -> Iterator[Step]:
    """Yield what is found; the ports are the gateway's own where one is running."""
    yield from _open_files()
    yield from _permissions(loaded)
    yield from _own_certificate(loaded, now)
    yield from _exposure(loaded)
    if not is_running:
        yield from _ports(loaded.config.server)


def _open_files() -> Iterator[Step]:
    try:
        import resource
    except ImportError:
        # There is no such limit on Windows.
        return
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        yield Step("open files", Outcome.OK, "No limit.")
    elif soft < _FEW_FILES:
        yield Step("open files", Outcome.WARNING, f"At most {soft}.", "FewOpenFiles")
    else:
        yield Step("open files", Outcome.OK, f"At most {soft}.")


def _permissions(loaded: Loaded) -> Iterator[Step]:
    secrets = _secret_files(loaded)
    for file in loaded.files:
        mode = _mode(file)
        if mode & stat.S_IWOTH:
            yield Step("file", Outcome.WARNING, f"Everybody may write to {file}.", "OthersMayWrite")
        elif file in secrets and mode & stat.S_IROTH:
            said = f"Everybody may read {file}, which holds a secret."
            yield Step("file", Outcome.WARNING, said, "OthersMayRead")
        else:
            yield Step("file", Outcome.OK, f"{file}")


def _secret_files(loaded: Loaded) -> frozenset[Path]:
    named = [origin.path for origin in loaded.secrets if isinstance(origin, FromFile)]
    named += [key for _, key in loaded.client_certs]
    own = [] if loaded.tls is None else [loaded.tls.key]
    return frozenset((*(loaded.path.parent / path for path in named), *own, *_open_keys(loaded)))


def _open_keys(loaded: Loaded) -> Iterator[Path]:
    """Yield the file of API keys where it holds the keys themselves; hashes are no secret."""
    named = loaded.config.incoming_auth.keys_file
    if named is None:
        return
    file = loaded.path.parent / named
    try:
        if tells_keys(file.read_text("utf-8", "replace")):
            yield file
    except OSError:
        # It was read a moment ago: whoever replaces it now is not there yet.
        return


def _own_certificate(loaded: Loaded, now: datetime) -> Iterator[Step]:
    if loaded.tls is None:
        return
    try:
        found = x509.load_pem_x509_certificate(loaded.tls.certificate.read_bytes())
    except (OSError, ValueError):
        # It was good a moment ago: it is being replaced.
        return
    is_late = ends_soon(found, now)
    outcome, cause = (Outcome.WARNING, "CertificateEndsSoon") if is_late else (Outcome.OK, None)
    yield Step("certificate", outcome, described(found), cause)


def _mode(file: Path) -> int:
    try:
        return file.stat().st_mode
    except OSError:
        # It was read a moment ago: whoever replaces it now is not there yet.
        return 0


def _exposure(loaded: Loaded) -> Iterator[Step]:
    if is_exposed(loaded.config):
        host = loaded.config.server.host
        said = f"Other machines reach {host}, and nobody is asked who they are."
        yield Step("exposure", Outcome.WARNING, said, "LetsEverybodyIn")


def _ports(server: ServerSettings) -> Iterator[Step]:
    yield _port("port", server.host, server.port)
    yield _port("operations port", server.ops_host, server.ops_port)


def _port(name: str, host: str, port: int) -> Step:
    try:
        with listening(host, port):
            return Step(name, Outcome.OK, f"{host} port {port} is free.")
    except CannotListen as error:
        return Step(name, Outcome.FAILED, str(error), "CannotListen")
