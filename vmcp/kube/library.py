"""The seam to kubernetes_asyncio, which finds logins and carries requests; imported only where it is needed.

The library costs half a second and 40 MB, so `login` imports this module when it first logs in.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import aiohttp
import yaml
from kubernetes_asyncio.client import Configuration
from kubernetes_asyncio.client.rest import RESTClientObject
from kubernetes_asyncio.config.config_exception import ConfigException
from kubernetes_asyncio.config.incluster_config import InClusterConfigLoader
from kubernetes_asyncio.config.kube_config import KubeConfigLoader, KubeConfigMerger

from vmcp.kube.access import Access, Request
from vmcp.kube.errors import CannotLogIn, Unreachable
from vmcp.model.secret import Secret

# It logs what plugins print and what servers answer, and both may hold secrets.
# A level stays where whoever sets up logs later makes `disabled` loggers work again.
for _each in (
    "kubernetes_asyncio",
    "kubernetes_asyncio.client.rest",
    "kubernetes_asyncio.config.kube_config",
):
    logging.getLogger(_each).setLevel(logging.CRITICAL + 1)

_USER_AGENT = "vmcp"
_FAULTS = (ConfigException, OSError, ValueError, KeyError, TypeError, AttributeError, RuntimeError)


def in_cluster(host: str, port: str, folder: Path, *, good_seconds: float) -> Access:
    """Read what a pod is given of its service account; it blocks."""
    configuration = _configuration()
    places = {"KUBERNETES_SERVICE_HOST": host, "KUBERNETES_SERVICE_PORT": port}
    loader = InClusterConfigLoader(
        token_filename=str(folder / "token"),
        cert_filename=str(folder / "ca.crt"),
        try_refresh_token=False,
        environ=places,
    )
    try:
        loader.load_and_set(configuration)
        namespace = _text(folder / "namespace")
    except (ConfigException, OSError) as error:
        # The library's words name the file at most.
        raise CannotLogIn(f"The service account in {folder} cannot be used: {error}") from error
    return _access(configuration, namespace, good_seconds)


async def by_kubeconfig(
    files: str, context: str | None, now: datetime, *, good_seconds: float
) -> Access:
    """Read the files as kubectl does, and ask the plugin that they name; raise CannotLogIn."""
    configuration = _configuration()
    loader = await asyncio.to_thread(_kubeconfig, files, context)
    try:
        await loader.load_and_set(configuration)
    except (*_FAULTS, AssertionError) as error:
        raise CannotLogIn(
            f"The user or the cluster of the context in {files} cannot be used: "
            f"{type(error).__name__}. Does `kubectl auth whoami` work with it?"
        ) from None
    chosen = loader.current_context or {}
    namespace = chosen.get("context", {}).get("namespace")
    expiry = getattr(loader, "exec_plugin_expiry", None)
    left = good_seconds if expiry is None else (expiry - now).total_seconds()
    # A plugin may take seconds and ask people: without a time it is asked again when the server refuses us.
    return _access(configuration, namespace, left)


def _kubeconfig(files: str, context: str | None) -> KubeConfigLoader:
    try:
        merged = KubeConfigMerger(files).config
    except (yaml.YAMLError, *_FAULTS) as error:
        raise CannotLogIn(f"{files} is no kubeconfig: {type(error).__name__}.") from None
    if merged is None:
        raise CannotLogIn(f"There is no kubeconfig {files}.")
    named = context or merged.value.get("current-context")
    if not named:
        raise CannotLogIn(f"{files} has no current context: name one.")
    contexts = {each.value.get("name") for each in merged.value["contexts"]}
    if named not in contexts:
        known = ", ".join(sorted(map(str, contexts))) or "none"
        raise CannotLogIn(f"{files} has no context {named!r}, but: {known}.")
    try:
        return KubeConfigLoader(merged, active_context=named, config_base_path=None)
    except (*_FAULTS, AssertionError) as error:
        # Its words hold the whole user with the token.
        fault = type(error).__name__
        raise CannotLogIn(f"The context {named!r} in {files} is not whole: {fault}.") from None


def _configuration() -> Configuration:
    configuration = Configuration()
    # CAs of older clusters lack what Python asks for in its strict checks.
    configuration.disable_strict_ssl_verification = True
    # Each watch holds a connection.
    configuration.connection_pool_maxsize = 0
    return configuration


def _access(configuration: Configuration, namespace: str | None, good: float | None) -> Access:
    token = configuration.api_key.get("BearerToken")
    try:
        fingerprint = _fingerprint(configuration)
    except OSError as error:
        raise CannotLogIn(f"{error.filename} cannot be read: {error.strerror}.") from None
    return Access(
        fingerprint=fingerprint,
        authorization=Secret(" ".join(token.split())) if token else None,
        namespace=namespace,
        good_seconds=good,
        open=partial(HttpSession, configuration),
    )


def _fingerprint(configuration: Configuration) -> str:
    digest = sha256()
    names = ("host", "verify_ssl", "tls_server_name", "proxy")
    digest.update(repr([getattr(configuration, name) for name in names]).encode())
    for path in (configuration.ssl_ca_cert, configuration.cert_file, configuration.key_file):
        digest.update(Path(path).read_bytes() if path else b"-")
    return digest.hexdigest()


def _text(path: Path) -> str | None:
    return path.read_text().strip() or None if path.exists() else None


class HttpSession:
    """Connections to one server, over the library's own client of HTTP."""

    def __init__(self, configuration: Configuration) -> None:
        self._host = configuration.host
        self._rest = RESTClientObject(configuration)

    @asynccontextmanager
    async def request(
        self, request: Request, authorization: Secret | None
    ) -> AsyncIterator[HttpAnswer]:
        """Send it and give its answer for the block."""
        response = await self._sent(request, authorization)
        try:
            yield HttpAnswer(response)
        finally:
            # A connection whose answer was read to its end is kept, any other one is cut off.
            if response.content.at_eof():
                response.release()
            else:
                response.close()

    async def _sent(self, request: Request, authorization: Secret | None) -> Any:
        headers = {"User-Agent": _USER_AGENT, "Accept": "application/json"}
        headers["Content-Type"] = request.content_type
        if authorization is not None:
            headers["Authorization"] = authorization.reveal()
        url = f"{self._host}{quote(request.path)}"
        if request.query:
            url = f"{url}?{urlencode(request.query)}"
        try:
            return await self._rest.request(
                request.method, url, headers=headers, body=request.body, _preload_content=False
            )
        except (aiohttp.ClientError, OSError) as error:
            raise _unreachable(error) from error

    async def close(self) -> None:
        """End all its connections."""
        await self._rest.close()


class HttpAnswer:
    """An answer as it comes."""

    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self._response = response
        self.status = response.status

    @property
    def retry_seconds(self) -> float:
        """How long the server asks us to stay away."""
        told = self._response.headers.get("Retry-After", "")
        return float(told) if told.isdecimal() else 0.0

    async def chunks(self) -> AsyncGenerator[bytes, None]:
        """Yield the body."""
        try:
            async for chunk in self._response.content.iter_any():
                yield chunk
        except (aiohttp.ClientError, OSError) as error:
            raise _unreachable(error) from error


def _unreachable(error: Exception) -> Unreachable:
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        told = getattr(error.certificate_error, "verify_message", "")
        return Unreachable(f"its certificate is not trusted: {told}", is_untrusted=True)
    cause = error.os_error if isinstance(error, aiohttp.ClientConnectorError) else error
    if isinstance(cause, aiohttp.ClientPayloadError | aiohttp.ServerDisconnectedError):
        return Unreachable("the connection broke off", is_untrusted=False)
    number = getattr(cause, "errno", None)
    return Unreachable(os.strerror(number) if number else type(cause).__name__, is_untrusted=False)
