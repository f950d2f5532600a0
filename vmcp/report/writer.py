"""Keeps the status of one object as it should be: only where it differs, not too often, through all failures."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from vmcp.clock import Clock
from vmcp.kube.client import ApiServer
from vmcp.kube.errors import CannotLogIn, Refused, Unreachable
from vmcp.kube.pace import jittered
from vmcp.kube.writing import apply_status
from vmcp.latest import Latest
from vmcp.model.keys import ObjectKey
from vmcp.report.conditions import Held, in_force
from vmcp.report.declared import Declared, declared, place
from vmcp.report.drafts import LIMITS, Draft, Drafts
from vmcp.report.entries import Picture
from vmcp.report.pace import Pace
from vmcp.report.subject import GATEWAYS, Subject
from vmcp.report.text import cut
from vmcp.report.told import Told

log = logging.getLogger(__name__)

_FAULTS = (Refused, Unreachable, CannotLogIn, TimeoutError)
_NOT_FOUND = 404
# How servers refuse fields that they do not know: 500 in all versions so far.
_NOT_TAKEN = frozenset((400, 422, 500))
# A server repeats what it refuses, which may be every entry.
_MOST_ERROR = 500
_MOST_DOUBLINGS = 16


class Writer:
    """Compares with what it sent last, not with what came back: other definitions may keep less of it."""

    def __init__(
        self, server: ApiServer, key: ObjectKey, told: Latest[Told], *, clock: Clock, pace: Pace
    ) -> None:
        self._server = server
        self._key = key
        self._told = told
        self._clock = clock
        self._pace = pace
        self._drafts = Drafts(key, LIMITS)
        self._uid: str | None = None
        # What is known of the server's definition, None as long as it takes everything.
        self._declared: Declared | None = None
        self._held: Mapping[str, Held] = {}
        self._sent: Draft | None = None
        self._sent_at = 0.0
        self._failures = 0
        # Until when the server is left alone.
        self._free_at = 0.0

    def forget(self) -> None:
        """Begin anew: the object may be another one, or somebody else has written since."""
        self._uid, self._sent = None, None

    async def write(self, subject: Subject | None, picture: Picture) -> float | None:
        """Write what is due; return in how many seconds to look again, None where nothing is left to write."""
        if subject is None:
            self.forget()
            return None
        now = self._clock.monotonic()
        if now < self._free_at:
            return self._free_at - now
        try:
            return await self._write(subject, picture, now)
        except _FAULTS as error:
            return self._failed(error, now)

    async def _write(self, subject: Subject, picture: Picture, now: float) -> float | None:
        if subject.uid != self._uid:
            self._held, self._sent = await self._in_force(subject), None
            self._uid, self._declared = subject.uid, None
        time = self._clock.now()
        draft = self._drafts.of(picture, self._held, generation=subject.generation, now=time)
        self._held = draft.held
        if not self._is_due(draft, now):
            return None
        await self._send(subject, draft.fields)
        self._sent, self._sent_at = draft, now
        return self._succeeded(self._pace.gap(draft.size))

    async def _send(self, subject: Subject, fields: Mapping[str, Any]) -> None:
        known = self._declared
        try:
            await self._apply(subject, fields if known is None else known.trimmed(fields))
        except Refused as error:
            if error.status not in _NOT_TAKEN or known is not None:
                raise
            await self._learn(subject, fields)
            if self._declared is None:
                raise
            await self._apply(subject, self._declared.trimmed(fields))

    async def _apply(self, subject: Subject, fields: Mapping[str, Any]) -> None:
        await apply_status(
            self._server,
            GATEWAYS,
            version=subject.version,
            namespace=self._key.namespace,
            name=self._key.name,
            status=fields,
        )

    async def _learn(self, subject: Subject, fields: Mapping[str, Any]) -> None:
        """Find out whether a status is refused since an older definition is installed."""
        try:
            document = await self._server.get(place(GATEWAYS, subject.version), {})
        except Refused:
            return
        found = declared(document, GATEWAYS, subject.version)
        if found is not None and (unknown := found.unknown(fields)):
            self._declared = found
            extra = {**self._fields(), "fields": sorted(unknown)}
            log.warning("the API server does not know all fields of the status", extra=extra)

    def _is_due(self, draft: Draft, now: float) -> bool:
        if self._sent is None or self._sent.news != draft.news:
            return True
        # It also mends what others have undone.
        return now >= self._sent_at + self._pace.heartbeat_seconds

    async def _in_force(self, subject: Subject) -> Mapping[str, Held]:
        """Return since when our conditions hold by the object itself: times outlive restarts."""
        path = GATEWAYS.path(subject.version, self._key.namespace, self._key.name)
        try:
            found = await self._server.get(path, {})
        except Refused as error:
            if error.status == _NOT_FOUND:
                raise
            # Who may write a status need not be allowed to read it: then the times begin now.
            return {}
        return in_force(found.get("status"))

    def _succeeded(self, pause: float) -> float:
        self._failures = 0
        now = self._clock.monotonic()
        self._free_at = now + pause
        had_failed = bool(self._told.value.error)
        self._told.set(replace(self._told.value, written_at=self._clock.now(), error=""))
        if had_failed:
            log.info("the status can be written again", extra=self._fields())
        return pause

    def _failed(self, error: Exception, now: float) -> float:
        grown = self._pace.first_seconds * 2 ** min(self._failures, _MOST_DOUBLINGS)
        asked = error.retry_seconds if isinstance(error, Refused) else 0.0
        pause = max(jittered(min(grown, self._pace.longest_seconds)), asked)
        self._failures += 1
        self._free_at = now + pause
        words = cut(str(error) or "The API server gives no answer in time.", _MOST_ERROR)
        if self._told.set(replace(self._told.value, error=words)):
            log.warning("the status cannot be written", extra={**self._fields(), "error": words})
        return pause

    def _fields(self) -> Mapping[str, str]:
        return {"object": str(self._key)}
