"""What comes of each way to give an entry the certificates that it trusts."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest

from tests.net.certificates import authority, identity
from tests.support.backends import serving
from tests.support.clients import named, sessioned, words
from tests.support.gateways import Served, gateway_of
from tests.support.homes import Home
from tests.support.objects import Json, entry, group, obj
from tests.support.onlookers import reasons
from tests.support.sessioned_backend import SessionedFake
from tests.support.waiting import until

RIGHT, OTHER, THIRD = (authority(name).pem for name in ("right", "other", "third"))
BAD = "-----BEGIN CERTIFICATE-----\nbm90IG9uZQ==\n-----END CERTIFICATE-----\n"


@dataclass(frozen=True, slots=True)
class Case:
    """What is given, and what comes of it: calls work, or the reason why they do not."""

    name: str
    given: Json | None
    reason: str | None = None
    key: Json = field(default_factory=dict)
    says: str = ""


def text(**data: str) -> Json:
    return obj(
        "ConfigMap", "weather-ca", data={name.replace("_", "."): one for name, one in data.items()}
    )


CASES = (
    Case("config map missing", None, "CABundleNotFound", says="ConfigMap 'weather-ca'"),
    Case("key missing", text(other="x"), "CABundleKeyNotFound", says="key 'ca.crt'"),
    Case("key that is named missing", text(ca_crt=RIGHT), "CABundleKeyNotFound", {"key": "mine"}),
    Case("default key", text(ca_crt=RIGHT)),
    Case("explicit key", text(mine=RIGHT, ca_crt=BAD), key={"key": "mine"}),
    Case(
        "binaryData",
        obj("ConfigMap", "weather-ca", binaryData={"ca.crt": b64encode(RIGHT.encode()).decode()}),
    ),
    Case("several certificates", text(ca_crt=OTHER + RIGHT + THIRD)),
    Case("with words around it", text(ca_crt=f"# ours\n{RIGHT}\nend")),
    Case("garbage", text(ca_crt="not a bundle"), "CABundleInvalid", says="key ca.crt"),
    Case("empty", text(ca_crt=""), "CABundleInvalid"),
    Case(
        "binaryData that is no text",
        obj("ConfigMap", "weather-ca", binaryData={"ca.crt": b64encode(b"\xff\xfe").decode()}),
        "CABundleInvalid",
    ),
    Case("one bad of three", text(ca_crt=RIGHT + BAD + OTHER), "CABundleInvalid"),
    Case("optional softens nothing", None, "CABundleNotFound", {"optional": True}),
)


@pytest.fixture
def fake() -> SessionedFake:
    made = SessionedFake()
    made.tls = identity("127.0.0.1", signer=authority("right")).server()
    return made


@asynccontextmanager
async def following(home: Home, fake: SessionedFake) -> AsyncIterator[Served]:
    """Serve the group `tools` for the block."""
    chosen = home.source(group="tools")
    async with serving(fake), gateway_of({"backends": []}, others=chosen) as served:
        yield served


def trusting(fake: SessionedFake, **more: object) -> Json:
    """Return an entry that names the ConfigMap."""
    return entry(fake, caBundleRef={"configMapRef": {"name": "weather-ca", **more}})


async def works(served: Served) -> None:
    """Wait for the tool, and call it."""
    await served.shows("weather_echo")
    async with sessioned(served.url) as caller:
        assert words(await caller.ask("tools/call", named("weather_echo"))) == "{}"


def failure(served: Served) -> str | None:
    """Return why the backend cannot be reached."""
    last = [one.get("lastFailure") for one in served.status()["backends"]]
    return last[0]["reason"] if last and last[0] else None


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
async def test_a_bundle_is_trusted_or_its_backend_left_out_with_the_reason(
    case: Case, home: Home, fake: SessionedFake
) -> None:
    given = () if case.given is None else (case.given,)
    async with following(home, fake) as served:
        await home.put(group(), *given, trusting(fake, **case.key))
        if case.reason is None:
            await works(served)
            return

        where = f"MCPServerEntry/{home.namespace}/weather"
        await until(lambda: reasons(served) == [(where, case.reason)])
        (problem,) = served.status()["problems"]
        assert case.says in problem["message"]
        assert served.status()["backends"] == []
        assert fake.heard.all == []


async def test_a_server_of_a_private_authority_is_not_reached_without_a_bundle(
    home: Home, fake: SessionedFake
) -> None:
    async with following(home, fake) as served:
        await home.put(group(), entry(fake))
        await until(lambda: failure(served) == "TlsFailed")

        assert fake.heard.all == []


async def test_a_bundle_that_is_rotated_is_trusted_and_the_old_one_is_not(
    home: Home, fake: SessionedFake
) -> None:
    async with following(home, fake) as served:
        await home.put(group(), text(ca_crt=OTHER), trusting(fake))
        await until(lambda: failure(served) == "TlsFailed")

        await home.put(text(ca_crt=RIGHT))
        await works(served)

        await home.put(text(ca_crt=OTHER))
        await until(lambda: failure(served) == "TlsFailed")
