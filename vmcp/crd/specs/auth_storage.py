"""Where the embedded authorization server keeps its sessions."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from vmcp.crd.specs.base import Rule, Spec, spec
from vmcp.crd.specs.references import SecretKeyRef
from vmcp.crd.specs.values import Duration, Flag, Text, Texts, Whole


@spec
class RedisTls(Spec):
    """TLS to Redis."""

    ca_cert_secret_ref: SecretKeyRef | None = Field(
        default=None, description="The Secret with the certificates that are trusted."
    )
    insecure_skip_verify: Flag | None = Field(
        default=None, description="Do not check the certificate, for tests."
    )


@spec
class SentinelService(Spec):
    """The Service by which the sentinels are found."""

    name: Text = Field(description="The name of the Service.")
    namespace: Text | None = Field(
        default=None, description="Its namespace; this object's own if absent."
    )
    port: Whole = Field(default=26379, description="Its port.")


@spec
class Sentinels(Spec):
    """The sentinels that tell which Redis leads."""

    master_name: Text = Field(description="The name of the set that they watch.")
    sentinel_addrs: Texts | None = Field(default=None, description="Their addresses, `host:port`.")
    sentinel_service: SentinelService | None = Field(
        default=None, description="The Service by which they are found."
    )
    db: Whole = Field(default=0, description="The number of the database.")


@spec
class RedisUser(Spec):
    """The user that logs in to Redis."""

    username_secret_ref: SecretKeyRef | None = Field(
        default=None, description="The Secret that holds the name."
    )
    password_secret_ref: SecretKeyRef = Field(description="The Secret that holds the password.")


@spec
class AuthRedis(Spec):
    """The Redis that keeps sessions."""

    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "(has(self.addr) && size(self.addr) > 0) != has(self.sentinelConfig)",
            "Exactly one of addr and sentinelConfig must be set.",
            lambda redis: bool(redis.addr) != (redis.sentinel_config is not None),
        ),
        Rule(
            "!(has(self.clusterMode) && self.clusterMode) || (has(self.addr) && size(self.addr) > 0)",
            "clusterMode needs addr.",
            lambda redis: not redis.cluster_mode or bool(redis.addr),
            ("clusterMode",),
        ),
    )

    addr: Text | None = Field(default=None, description="The address, `host:port`.")
    cluster_mode: Flag | None = Field(
        default=None, description="Whether the address is that of a cluster."
    )
    sentinel_config: Sentinels | None = Field(
        default=None, description="The sentinels that tell which Redis leads, instead of `addr`."
    )
    acl_user_config: RedisUser = Field(description="The user that logs in.")
    tls: RedisTls | None = Field(default=None, description="TLS to Redis.")
    sentinel_tls: RedisTls | None = Field(default=None, description="TLS to the sentinels.")
    dial_timeout: Duration = Field(default="5s", description="How long connecting may take.")
    read_timeout: Duration = Field(default="3s", description="How long an answer may take.")
    write_timeout: Duration = Field(default="3s", description="How long sending may take.")


@spec
class AuthStorage(Spec):
    """Where sessions are kept."""

    type: Literal["memory", "redis"] = Field(
        default="memory", description="`redis` lets several replicas share them."
    )
    redis: AuthRedis | None = Field(default=None, description="The settings of `redis`.")
