"""Issuers whose tokens the embedded authorization server takes in exchange for its own."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field

from vmcp.config import durations
from vmcp.crd.specs.base import Rule, Spec, spec
from vmcp.crd.specs.values import Flag, Text

_MAX_LISTED = 50
_RESERVED_CLAIMS = (
    *("sub", "iss", "aud", "exp", "iat", "nbf", "jti"),
    *("name", "email", "scope", "scp", "may_act"),
)

_Name = Annotated[Text, Field(min_length=1, max_length=256)]
_Names = Annotated[tuple[_Name, ...], Field(max_length=_MAX_LISTED)]
_FilledNames = Annotated[tuple[_Name, ...], Field(min_length=1, max_length=_MAX_LISTED)]
_LongUrl = Annotated[Text, Field(min_length=1, max_length=2048, pattern=r"^https?://[^\s]+$")]
_LongText = Annotated[Text, Field(min_length=1, max_length=2048)]


def _is_longer_than_nothing(grant: JwtBearerGrant) -> bool:
    try:
        return durations.seconds(grant.max_assertion_age) > 0
    except ValueError:
        return False


def _has_each_subject_once(grant: JwtBearerGrant) -> bool:
    subjects = [binding.subject for binding in grant.subject_bindings]
    return len(subjects) == len(set(subjects))


def _is_filled(field: str) -> str:
    return f"(has(self.{field}) && size(self.{field}) > 0)"


_MAY_ACT = "(has(self.allowMayAct) && self.allowMayAct)"
_ACTOR = f"{_is_filled('actorClaim')} || {_is_filled('actorMatcher')} || {_MAY_ACT}"


def _is_for_actors(issuer: TrustedIssuer) -> bool:
    return bool(issuer.actor_claim or issuer.actor_matcher or issuer.allow_may_act)


@spec
class SubjectBinding(Spec):
    """What a subject may ask tokens for."""

    subject: Annotated[Text, Field(min_length=1, max_length=256, pattern="^[^*]+$")] = Field(
        description="The subject of the assertion."
    )
    allowed_resources: Annotated[
        tuple[_LongUrl, ...], Field(min_length=1, max_length=_MAX_LISTED)
    ] = Field(description="The resources that it may ask tokens for.")


@spec
class JwtBearerGrant(Spec):
    """Assertions of the issuer become tokens (RFC 7523)."""

    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "duration(self.maxAssertionAge) > duration('0s')",
            "maxAssertionAge must be a duration above zero.",
            _is_longer_than_nothing,
            ("maxAssertionAge",),
        ),
        Rule(
            "self.subjectBindings.all(one, self.subjectBindings.exists_one(other,"
            " other.subject == one.subject))",
            "subjectBindings must not hold a subject twice.",
            _has_each_subject_once,
            ("subjectBindings",),
        ),
    )

    max_assertion_age: Text = Field(description="How old an assertion may be, a duration.")
    subject_bindings: Annotated[
        tuple[SubjectBinding, ...], Field(min_length=1, max_length=_MAX_LISTED)
    ] = Field(description="What each subject may ask tokens for.")
    accepted_audiences: Annotated[tuple[_LongUrl, ...], Field(max_length=_MAX_LISTED)] | None = (
        Field(default=None, description="Audiences of assertions, beside our own issuer.")
    )


@spec
class TrustedIssuer(Spec):
    """An issuer whose tokens are taken in exchange."""

    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "!has(self.allowedDelegateClients) || !('*' in self.allowedDelegateClients)"
            " || size(self.allowedDelegateClients) == 1",
            "allowedDelegateClients must hold either '*' or ids of clients.",
            lambda issuer: (
                "*" not in (issuer.allowed_delegate_clients or ())
                or len(issuer.allowed_delegate_clients) == 1
            ),
            ("allowedDelegateClients",),
        ),
        Rule(
            f"!({_MAY_ACT} && has(self.allowedDelegateClients) && '*' in self.allowedDelegateClients)",
            "allowMayAct cannot be combined with allowedDelegateClients of '*'.",
            lambda issuer: (
                not (issuer.allow_may_act and "*" in (issuer.allowed_delegate_clients or ()))
            ),
            ("allowMayAct",),
        ),
        Rule(
            f"!has(self.actorClaim) || !(self.actorClaim in {list(_RESERVED_CLAIMS)})",
            "actorClaim must not be a claim that has a meaning of its own.",
            lambda issuer: issuer.actor_claim not in _RESERVED_CLAIMS,
            ("actorClaim",),
        ),
        Rule(
            f"!(has(self.allowPrivateIPs) && self.allowPrivateIPs) || {_is_filled('jwksUrl')}",
            "allowPrivateIPs needs jwksUrl.",
            lambda issuer: not issuer.allow_private_ips or bool(issuer.jwks_url),
            ("allowPrivateIPs",),
        ),
        Rule(
            f"{_is_filled('expectedAudience')} || (has(self.jwtBearerGrant)"
            f" && !({_ACTOR} || {_is_filled('allowedActors')}))",
            "expectedAudience is required, unless jwtBearerGrant is set and nothing about actors is.",
            lambda issuer: (
                bool(issuer.expected_audience)
                or (
                    issuer.jwt_bearer_grant is not None
                    and not (_is_for_actors(issuer) or issuer.allowed_actors)
                )
            ),
            ("expectedAudience",),
        ),
        Rule(
            f"!({_is_filled('expectedAudience')} || {_ACTOR})"
            f" || {_is_filled('allowedDelegateClients')}",
            "allowedDelegateClients is required with expectedAudience, actorClaim, actorMatcher and "
            "allowMayAct.",
            lambda issuer: (
                not (issuer.expected_audience or _is_for_actors(issuer))
                or bool(issuer.allowed_delegate_clients)
            ),
            ("allowedDelegateClients",),
        ),
    )

    issuer_url: Annotated[Text, Field(min_length=1, max_length=2048)] = Field(
        description="The issuer, as tokens name it."
    )
    jwks_url: Annotated[Text, Field(max_length=2048)] | None = Field(
        default=None, description="Where its keys are, if its metadata does not tell."
    )
    expected_audience: _LongText | None = Field(
        default=None, description="The audience that its tokens must have."
    )
    allowed_delegate_clients: _FilledNames | None = Field(
        default=None, description="The clients that may exchange its tokens; `*` for all."
    )
    allowed_actors: _Names | None = Field(
        default=None, description="Who may act for a user; everybody if absent."
    )
    actor_claim: Annotated[Text, Field(max_length=64)] | None = Field(
        default=None, description="The claim that names who acts."
    )
    actor_matcher: Annotated[Text, Field(max_length=4096)] | None = Field(
        default=None, description="A CEL expression over the claims that must be true."
    )
    allow_may_act: Flag = Field(default=False, description="Whether the claim `may_act` counts.")
    jwt_bearer_grant: JwtBearerGrant | None = Field(
        default=None, description="Take assertions of the issuer as a grant of their own."
    )
    insecure_allow_http: Flag | None = Field(
        default=None, alias="insecureAllowHTTP", description="Allow an issuer with http, for tests."
    )
    allow_private_ips: Flag | None = Field(
        default=None,
        alias="allowPrivateIPs",
        description="Whether `jwksUrl` may have a private address.",
    )
