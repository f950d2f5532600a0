"""Reading a config file from disk, with the environment variables and the files that it names."""

from __future__ import annotations

import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from types import MappingProxyType

from vmcp.clock import SystemClock
from vmcp.config import desktop, keypair, keysfile, pem
from vmcp.config.backends import BackendSettings
from vmcp.config.desktop import Added
from vmcp.config.errors import ConfigError, ConfigInvalid
from vmcp.config.parse import Options, parse
from vmcp.config.references import (
    FromEnv,
    FromFile,
    SecretOrigin,
    Unreadable,
    file_text,
    variable_text,
)
from vmcp.config.schema import Config
from vmcp.model.apikey import ApiKey
from vmcp.model.backend import ClientCert
from vmcp.model.secret import Secret

MAX_CONFIG_BYTES = 1024 * 1024
MAX_SECRET_BYTES = 64 * 1024
MAX_BUNDLE_BYTES = 4 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class TlsFiles:
    """Where our certificate and its key lie; `digest` tells what they held when they were read."""

    certificate: Path
    key: Path
    digest: str


@dataclass(frozen=True, slots=True)
class Loaded:
    """A config with all that it refers to.

    `secrets` and `bundles` (by path, as the config writes it) hold what was read. `files` are the
    absolute paths of all that was read, the config first: a change of one means to load again.
    `client_certs` are shown to backends, by the paths of certificate and key. `api_keys` are those of
    `incomingAuth`, `tls` the files of `server.tls`. `waiting` names the keys of which another value is in the
    file than the one that is in force. `sources` are the files that name backends, as they were given.
    """

    path: Path
    config: Config
    secrets: Mapping[FromEnv | FromFile, Secret]
    bundles: Mapping[str, str]
    files: tuple[Path, ...]
    client_certs: Mapping[tuple[str, str], ClientCert] = field(default_factory=dict)
    api_keys: tuple[ApiKey, ...] = ()
    tls: TlsFiles | None = None
    waiting: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()

    def secret(self, origin: SecretOrigin) -> Secret:
        """Return the secret that an origin of the config leads to."""
        return origin if isinstance(origin, Secret) else self.secrets[origin]

    def bundle(self, backend: BackendSettings) -> str | None:
        """Return the certificates that a backend trusts beside the system's, as PEM."""
        if backend.ca_bundle_path is not None:
            return self.bundles[backend.ca_bundle_path]
        return backend.ca_bundle

    def client_cert(self, backend: BackendSettings) -> ClientCert | None:
        """Return the certificate that a backend is shown."""
        named = backend.client_cert
        return None if named is None else self.client_certs[(named.cert_file, named.key_file)]

    def folder(self, path: str | None) -> str | None:
        """Return a folder of the config as an absolute path."""
        return None if path is None else str(_beside(self.path, path))


@dataclass(frozen=True, slots=True)
class Sources:
    """What a config is made of: the config file, JSON files of desktop clients, and what stands in for keys.

    Without a config file there are the servers of the others alone. `elsewhere` names where backends come from
    that are no part of the config, such as a folder of manifests: a config file may then lack `backends`. Those of
    a cluster are `discovered` with their auth, so that the file cannot ask for the contrary.
    """

    file: Path | None
    desktop: tuple[Path, ...] = ()
    options: Options = field(default_factory=dict)
    elsewhere: tuple[str, ...] = ()
    is_discovered: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """The files as they were given, and the places of other backends."""
        own = (str(each) for each in (self.file, *self.desktop) if each is not None)
        return (*own, *self.elsewhere)


def load(
    path: Path, environment: Mapping[str, str], options: Options = MappingProxyType({})
) -> Loaded:
    """Read a config file alone, as `load_all` does."""
    return load_all(Sources(path, options=options), environment)


def load_all(sources: Sources, environment: Mapping[str, str]) -> Loaded:
    """Read a config and all that it names; raise ConfigInvalid with everything that is wrong.

    Relative paths in a file start at its own folder.
    """
    paths = [each for each in (sources.file, *sources.desktop) if each is not None]
    name = sources.names[0]
    absolute = Path(name).absolute()
    outside = _Outside(absolute, environment)
    outside.files.update(each.absolute() for each in paths)
    try:
        config = _config(sources, outside, name)
    except ConfigInvalid as invalid:
        wanted = (absolute, *sorted(outside.files - {absolute}))
        raise ConfigInvalid(name, invalid.errors, wanted) from None
    return Loaded(
        sources=sources.names,
        path=absolute,
        config=config,
        secrets=MappingProxyType(outside.secrets),
        bundles=MappingProxyType(outside.bundles),
        files=(absolute, *sorted(outside.files - {absolute})),
        client_certs=MappingProxyType(outside.client_certs),
        api_keys=outside.api_keys,
        tls=outside.tls,
    )


def _config(sources: Sources, outside: _Outside, name: str) -> Config:
    added: list[Added] = []
    wrong: list[ConfigError] = []
    for file in sources.desktop:
        try:
            text = _config_text(file.absolute(), str(file))
        except ConfigInvalid as invalid:
            wrong += [replace(error, file=str(file)) for error in invalid.errors]
            continue
        folder = file.absolute().parent
        found, errors = desktop.read(text, str(file), folder, outside.optional)
        added += found
        wrong += errors
    try:
        own = "backends: []" if sources.file is None else _config_text(sources.file, name)
        config = parse(
            own,
            name=name,
            outside=outside,
            options=sources.options,
            added=added,
            usual={"backends": []} if sources.elsewhere else {},
        )
    except ConfigInvalid as invalid:
        wrong = [*invalid.errors, *wrong]
    else:
        wrong += _wrong_source(config, sources)
    if wrong:
        raise ConfigInvalid(name, wrong)
    return config


def _wrong_source(config: Config, sources: Sources) -> Iterator[ConfigError]:
    """Yield why strategies cannot be where the file says that they are."""
    settings = config.outgoing_auth
    is_stated = "source" in settings.model_fields_set
    if settings.source == "discovered" and not sources.elsewhere:
        why, hint = (
            "There are no custom resources to discover it in.",
            ("Start with --kubernetes or --manifests, or delete it."),
        )
    elif is_stated and settings.source == "inline" and sources.is_discovered:
        why, hint = (
            "With --kubernetes it is discovered: the custom resources say it.",
            ("Delete it here; spec.outgoingAuth.source of the VirtualMCPServer may be inline."),
        )
    else:
        return
    yield ConfigError("outgoingAuth.source", why, found=repr(settings.source), suggestion=hint)


class _Unfound(Unreadable):
    """There is no such file, so that its path may be anything."""


class _Outside:
    """Reads what the config refers to, and keeps it."""

    def __init__(self, config: Path, environment: Mapping[str, str]) -> None:
        self._config = config
        self._environment = environment
        self.secrets: dict[FromEnv | FromFile, Secret] = {}
        self.bundles: dict[str, str] = {}
        self.files: set[Path] = set()
        self.api_keys: tuple[ApiKey, ...] = ()
        self.tls: TlsFiles | None = None
        self._chains: dict[str, str] = {}
        self.client_certs: dict[tuple[str, str], ClientCert] = {}

    def optional(self, name: str) -> str | None:
        """Return the value of a variable that may be absent."""
        return self._environment.get(name)

    def variable(self, name: str) -> str:
        value = self._environment.get(name)
        if value is None:
            raise Unreadable(f"{variable_text(name)} is not set.")
        # Bytes that are no UTF-8 come as lone surrogates, which nothing can send.
        if any("\udc80" <= character <= "\udcff" for character in value):
            raise Unreadable(f"The environment variable {name} is not UTF-8.")
        self.secrets[FromEnv(name)] = Secret(value)
        return value

    def secret_file(self, path: str) -> str:
        # Editors and `echo` end a file with a line break that is no part of the secret.
        value = self._read(path, MAX_SECRET_BYTES)
        if value.endswith("\n"):
            value = value[:-1].removesuffix("\r")
        self.secrets[FromFile(path)] = Secret(value)
        return value

    def bundle_file(self, path: str) -> str:
        try:
            bundle = pem.normalised(self._read(path, MAX_BUNDLE_BYTES))
        except pem.BundleInvalid as error:
            raise Unreadable(f"The file {path} {error}.") from None
        self.bundles[path] = bundle
        return bundle

    def certificate_file(self, path: str) -> str:
        text = self._read(path, MAX_BUNDLE_BYTES)
        try:
            keypair.check_chain(text, SystemClock().now())
        except keypair.PairInvalid as error:
            raise Unreadable(f"The file {path} {error}.") from None
        self._chains[path] = text
        return text

    def key_file(self, path: str, certificate: str | None) -> str:
        text, chain = self._key(path, MAX_BUNDLE_BYTES, certificate)
        if certificate is not None and chain is not None:
            digest = sha256(f"{chain}\0{text}".encode()).hexdigest()
            own, key = _beside(self._config, certificate), _beside(self._config, path)
            self.tls = TlsFiles(own, key, digest)
            self._check_served(path, self.tls)
        return text

    def _check_served(self, path: str, files: TlsFiles) -> None:
        try:
            keypair.server_context(files.certificate, files.key)
        except OSError as error:
            # OpenSSL has rules of its own, such as how long a key must be.
            reason = getattr(error, "reason", None) or error.strerror or "unknown reason"
            raise Unreadable(f"The file {path} cannot be served with: {reason}.") from None

    def client_chain_file(self, path: str) -> str:
        text = self._read(path, MAX_BUNDLE_BYTES)
        try:
            chain = pem.normalised(text)
            keypair.check_chain(chain, SystemClock().now())
        except (pem.BundleInvalid, keypair.PairInvalid) as error:
            raise Unreadable(f"The file {path} {error}.") from None
        self._chains[path] = chain
        return chain

    def client_key_file(self, path: str, certificate: str | None) -> str:
        text, chain = self._key(path, MAX_SECRET_BYTES, certificate)
        if certificate is not None and chain is not None:
            self.client_certs[(certificate, path)] = ClientCert(chain, Secret(text))
        return text

    def _key(self, path: str, limit: int, certificate: str | None) -> tuple[str, str | None]:
        """Return the private key in a file, and the chain that it belongs to where that is known."""
        text, chain = self._read(path, limit), self._chains.get(certificate or "")
        try:
            keypair.check_key(text, chain)
        except keypair.PairInvalid as error:
            raise Unreadable(f"The file {path} {error}.") from None
        return text, chain

    def keys_file(self, path: str) -> str:
        text = self._read(path, keysfile.MAX_KEYS_BYTES)
        try:
            self.api_keys = keysfile.keys(text)
        except keysfile.KeysInvalid as error:
            raise Unreadable(f"The file {path} cannot be used: {error}.") from None
        return text

    def folder(self, path: str) -> str:
        found = _beside(self._config, path)
        if not found.is_dir():
            self.files.add(found)
            raise Unreadable(f"The folder {path} does not exist.")
        return str(found)

    def _read(self, path: str, limit: int) -> str:
        absolute = _beside(self._config, path)
        self.files.add(absolute)
        try:
            text = _content(absolute, limit).decode("utf-8-sig")
        except _Unfound as error:
            raise Unreadable(f"{file_text(path)} {error}.") from None
        except Unreadable as error:
            raise Unreadable(f"The file {path} {error}.") from None
        except UnicodeDecodeError:
            raise Unreadable(f"The file {path} is not UTF-8.") from None
        return text


def _beside(config: Path, path: str) -> Path:
    return config.parent / path


def _config_text(path: Path, name: str) -> str:
    try:
        content = _content(path, MAX_CONFIG_BYTES)
    except Unreadable as error:
        raise ConfigInvalid(name, [ConfigError("", f"It {error}.")]) from None
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = content[: error.start]
        line, column = before.count(b"\n") + 1, error.start - before.rfind(b"\n")
        wrong = ConfigError("", "It is not UTF-8.", line=line, column=column)
        raise ConfigInvalid(name, [wrong]) from None


def _content(path: Path, limit: int) -> bytes:
    """Return what a regular file holds; raise Unreadable with the rest of a sentence about it."""
    try:
        # Opening a pipe would wait for its writer, so the kind is looked at first.
        mode = path.stat().st_mode
    except FileNotFoundError:
        raise _Unfound("does not exist") from None
    except OSError as error:
        raise _Unfound(f"cannot be read: {error.strerror}") from None
    if not stat.S_ISREG(mode):
        raise Unreadable("is a folder, a pipe or a device, and no regular file")
    try:
        with path.open("rb") as file:
            content = file.read(limit + 1)
    except OSError as error:
        raise Unreadable(f"cannot be read: {error.strerror}") from None
    if len(content) > limit:
        raise Unreadable(f"is larger than {limit} bytes")
    return content
