"""The headers and the certificates that an object refers to."""

from __future__ import annotations

from collections.abc import Iterator

from vmcp.config import headers, pem
from vmcp.crd.specs.headers import HeaderForward
from vmcp.crd.specs.references import CABundleRef
from vmcp.crd.unfit import Unfit, secret_value
from vmcp.crd.world import CONFIG_MAP, World
from vmcp.model.auth import AuthSpec, BearerToken, HeaderInjection
from vmcp.model.secret import Secret

DEFAULT_BUNDLE_KEY = "ca.crt"

Header = tuple[str, Secret]


def forwarded(
    world: World, forward: HeaderForward | None, auth: AuthSpec
) -> Iterator[Header | Unfit]:
    """Yield the headers to send beside the credential, secret ones first, and what is wrong with others."""
    if forward is None:
        return
    taken = {*_credential_header(auth)}
    for header in forward.add_headers_from_secret or ():
        name, ref = header.header_name, header.value_secret_ref
        where = f"spec.headerForward.addHeadersFromSecret['{name}']"
        wrong = _wrong_name(name, where, taken)
        taken.add(name.lower())
        value = wrong or secret_value(
            world, ref.name, ref.key, headers.value_complaint, where=where
        )
        yield value if isinstance(value, Unfit) else (name, value)
    for name, text in sorted((forward.add_plaintext_headers or {}).items()):
        wrong = _wrong_name(name, "spec.headerForward.addPlaintextHeaders", taken)
        taken.add(name.lower())
        yield wrong or _wrong_value(name, text) or (name, Secret(text))


def _credential_header(auth: AuthSpec) -> Iterator[str]:
    if isinstance(auth, HeaderInjection):
        yield auth.header.lower()
    if isinstance(auth, BearerToken):
        yield "authorization"


def _wrong_name(name: str, where: str, taken: set[str]) -> Unfit | None:
    if not headers.is_token(name):
        return Unfit("HeaderInvalid", f"{where} has a name that no header has. Correct it.")
    if headers.is_reserved(name):
        return Unfit(
            "HeaderInvalid",
            f"{where} names the header '{name}', which the gateway writes itself or never sends. "
            f"Allowed: {headers.RESERVED_TEXT}.",
        )
    if name.lower() in taken:
        return Unfit(
            "HeaderInvalid",
            f"{where} names the header '{name}', which is set twice: here, and by another header of "
            "spec.headerForward or the outgoing auth. Remove one of them.",
        )
    return None


def _wrong_value(name: str, text: str) -> Unfit | None:
    complaint = headers.value_complaint(text)
    if complaint is None:
        return None
    where = "spec.headerForward.addPlaintextHeaders"
    return Unfit("HeaderInvalid", f"The value of '{name}' in {where} {complaint}. Correct it.")


def bundle(world: World, ref: CABundleRef | None) -> str | Unfit | None:
    """Return the certificates that a reference leads to, as PEM; None where nothing is referred to."""
    if ref is None:
        return None
    where = "spec.caBundleRef.configMapRef"
    named = ref.config_map_ref
    if named is None or not named.name:
        return Unfit(
            "CABundleNotFound", f"{where} names no ConfigMap. Name one, or delete caBundleRef."
        )
    key = named.key or DEFAULT_BUNDLE_KEY
    found = world.config_map(named.name)
    if (why := world.hidden(CONFIG_MAP, named.name)) is not None:
        return Unfit("CABundleUnreadable", f"{where} names ConfigMap '{named.name}', which {why}")
    if found is None:
        return Unfit(
            "CABundleNotFound",
            f"{where} names ConfigMap '{named.name}', which does not exist in namespace "
            f"'{world.namespace}'. Create it, or correct the name.",
        )
    if key not in found.values:
        return Unfit(
            "CABundleKeyNotFound",
            f"{where} names key '{key}' of ConfigMap '{named.name}', which has no such key. "
            "Add it, or correct the key.",
        )
    return _certificates(found.values[key], f"ConfigMap {named.name} key {key}")


def _certificates(text: str | None, source: str) -> str | Unfit:
    if text is None:
        return Unfit(
            "CABundleInvalid", f"{source} is no UTF-8 text. It must hold PEM certificates."
        )
    try:
        return pem.normalised(text)
    except pem.BundleInvalid as error:
        return Unfit("CABundleInvalid", f"{source} {error}. It must hold PEM certificates.")
