"""The Kubernetes source: what the objects of one namespace say, followed while they change."""

from __future__ import annotations

import asyncio
import logging
import traceback
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from vmcp.clock import Clock
from vmcp.config.faults import Fault
from vmcp.config.load import Loaded
from vmcp.crd.convert import Converter
from vmcp.crd.kinds import GROUP as API_GROUP
from vmcp.crd.kinds import KIND_OF, VERSIONS
from vmcp.crd.reading import Malformed
from vmcp.crd.things import KINDS, thing
from vmcp.crd.world import CONFIG_MAP, GATEWAY, PROXY, SECRET, SERVER, Hidden, Thing, World
from vmcp.crd.world import Resource as Custom
from vmcp.discovery.choice import Choice
from vmcp.discovery.patience import Keys, Patience
from vmcp.discovery.scoping import scope
from vmcp.kube.client import ApiServer
from vmcp.kube.pace import Pace
from vmcp.kube.resource import CONFIG_MAPS, SECRETS, Key, Resource
from vmcp.kube.sync import Phase, Sync
from vmcp.kube.trimming import Kept, config_map, keeping, secret
from vmcp.kube.watches import Watches
from vmcp.latest import Latest
from vmcp.model.keys import ObjectKey
from vmcp.model.problem import Problem
from vmcp.model.snapshot import Contribution

log = logging.getLogger(__name__)

NAME = "kubernetes"
# Kinds that may not be read are waited for so long at the start: a Role follows its pods within moments.
_GRACE_SECONDS = 5.0
# A change waits for the Secrets and ConfigMaps that it is the first to refer to, so long at most.
_PATIENCE_SECONDS = 5.0
# What is replaced is missing for a moment, and of a change of two kinds the second may be heard of first.
_LENIENCE_SECONDS = 0.2
_MISSING = frozenset(
    (
        "AuthConfigNotFound",
        "CABundleNotFound",
        "GatewayNotFound",
        "GroupNotFound",
        "SecretNotFound",
        "ToolConfigNotFound",
    )
)
# Changes that come at once are converted at once.
_PAUSE_SECONDS = 0.02


def resource(kind: str) -> Resource:
    """Return how the API server names one of our kinds, by the newest version first."""
    return Resource(API_GROUP, tuple(reversed(VERSIONS)), kind, KIND_OF[kind].plural)


_RESOURCES = {kind: resource(kind) for kind in sorted(KINDS)}
_BY_NAME = {SECRET: SECRETS, CONFIG_MAP: CONFIG_MAPS}
# Where an operator says how a workload is reached.
_EXPOSED = keeping("url", "phase")


@dataclass(frozen=True, slots=True)
class Place:
    """A namespace, and what of it is served."""

    namespace: str
    choice: Choice


class KubernetesSource:
    """Contributes what the objects of a namespace say; until all are known nobody is served."""

    def __init__(
        self, server: ApiServer, place: Place, loaded: Latest[Loaded], *, clock: Clock, pace: Pace
    ) -> None:
        self._server = server
        self._place = place
        self._loaded = loaded
        self._watches = Watches(
            server,
            place.namespace,
            kinds={
                each: _EXPOSED if kind in (SERVER, PROXY) else keeping()
                for kind, each in _RESOURCES.items()
            },
            by_name={SECRETS: secret, CONFIG_MAPS: config_map},
            clock=clock,
            pace=pace,
        )
        self._scope = scope(place.choice, loaded.value, NAME, has_operator=True)
        self._converter = Converter(self._scope)
        self._things: dict[ObjectKey, Thing] = {}
        self._referred: Keys = frozenset()
        self._patience = Patience(_PATIENCE_SECONDS)
        self._lenience = Patience(_LENIENCE_SECONDS)
        # Whom the changes that nobody was told of yet have touched, and how many there were before.
        self._converted: Keys = frozenset()
        self._told_of = 0
        self._clock = clock
        self._read_at: datetime | None = None
        self._contribution = Latest(_unknown(place.namespace))

    @property
    def contribution(self) -> Latest[Contribution]:
        """The cell that holds what the objects say."""
        return self._contribution

    @property
    def gateway(self) -> Kept | None:
        """The VirtualMCPServer that is served by name, None where it is not there."""
        name = self._place.choice.gateway
        return self._watches.store.get(_RESOURCES[GATEWAY], name) if name else None

    def told(self) -> Mapping[str, object]:
        """Return how well the objects are known."""
        choice, store = self._place.choice, self._watches.store
        return {
            "source": NAME,
            "namespace": self._place.namespace,
            **({} if choice.gateway is None else {"gateway": choice.gateway}),
            **({} if choice.group is None else {"group": choice.group}),
            "inSync": self._contribution.value.is_known and not any(self._behind()),
            "backends": len(self._contribution.value.backends),
            "requests": self._server.sent.total(),
            "converted": self._told_of,
            "readAt": self._read_at,
            "kinds": [
                {"kind": each.plural, "objects": len(store.all(each)), **_told(sync)}
                for each, sync in self._watches.syncs().items()
            ],
            "byName": [
                {"kind": each.plural, "name": name, **_told(sync)}
                for each in _BY_NAME.values()
                for name, sync in self._watches.syncs_by_name(each).items()
            ],
        }

    def _behind(self) -> Iterator[Sync]:
        """Yield what is not known as it is now."""
        syncs = [*self._watches.syncs().values()]
        for each in _BY_NAME.values():
            syncs += self._watches.syncs_by_name(each).values()
        yield from (sync for sync in syncs if sync.phase not in (Phase.SYNCED, Phase.NOT_INSTALLED))

    async def run(self) -> None:
        """Follow the objects and the config until cancelled."""
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._watches.run())
                tasks.create_task(self._follow())
                tasks.create_task(self._follow_config())
        finally:
            await self._server.close()

    async def _follow(self) -> None:
        await self._all_listed()
        changed = {
            Key(each, name)
            for each in _RESOURCES.values()
            for name in self._watches.store.all(each)
        }
        while True:
            self._take(changed)
            try:
                await self._convert()
            except Exception as error:  # noqa: BLE001 - what nobody foresaw leaves in force what is known
                self._broken(error)
            await asyncio.sleep(_PAUSE_SECONDS)
            changed = {*await self._rung()}

    async def _all_listed(self) -> None:
        """Wait until all kinds are known; for those that may not be read, no longer than the grace."""
        bell = self._watches.bell
        try:
            async with asyncio.timeout(_GRACE_SECONDS):
                while not self._watches.is_settled:
                    await bell.rung()
        except TimeoutError:
            while not all(map(_is_told, self._watches.syncs().values())):
                await bell.rung()

    async def _rung(self) -> frozenset[Key]:
        """Wait until something has changed, or what is waited for takes too long."""
        untils = (self._patience.until, self._lenience.until)
        try:
            async with asyncio.timeout_at(min(filter(None, untils), default=None)):
                return await self._watches.bell.rung()
        except TimeoutError:
            return frozenset()

    async def _follow_config(self) -> None:
        async for loaded in self._loaded.changes():
            now = scope(self._place.choice, loaded, NAME, has_operator=True)
            if now != self._scope:
                self._scope, self._converter = now, Converter(now)
                self._watches.bell.ring([Key(_RESOURCES[GATEWAY], "")])

    def _take(self, changed: Iterable[Key]) -> None:
        """Take objects as they are now."""
        for key in changed:
            if key.name:
                self._put(ObjectKey(key.resource.kind, key.name, self._place.namespace))

    def _put(self, key: ObjectKey) -> None:
        found = self._thing(key)
        if found is None:
            self._things.pop(key, None)
        else:
            self._things[key] = found

    def _thing(self, key: ObjectKey) -> Thing | None:
        by_name = _BY_NAME.get(key.kind)
        kept = self._watches.store.get(by_name or _RESOURCES[key.kind], key.name)
        if kept is not None:
            return _read(key, kept)
        if by_name is None or key not in self._referred:
            return None
        sync = self._watches.sync_by_name(by_name, key.name)
        return None if sync.is_listed else Hidden(key, sync.phase.value, _why(sync))

    async def _convert(self) -> None:
        made = await self._made()
        while self._retake():
            made = await self._made()
        unknown = frozenset(key for key in self._referred if self._is_unknown(key))
        now = asyncio.get_running_loop().time()
        # Both are to hear of what there is to wait for.
        is_unknown = self._patience.holds(unknown, now)
        is_missing = self._lenience.holds(self._missed(made), now)
        if not (is_unknown or is_missing):
            self._tell(made)

    def _missed(self, made: Contribution) -> Keys:
        """Return the objects that lack something of which nobody was told yet."""
        known = self._contribution.value
        if not known.is_known:
            return frozenset()
        new = frozenset(made.problems).difference(known.problems)
        return frozenset(each.key for each in new if each.reason in _MISSING)

    def _retake(self) -> bool:
        """Take what was referred to and not known; tell whether that leads to something else.

        What became known during a conversion is not to be told as if it were still unknown, nor what is not known
        yet as if it did not exist.
        """
        before = {key: self._things.get(key) for key in self._referred}
        waiting = [key for key, one in before.items() if one is None or isinstance(one, Hidden)]
        for key in waiting:
            self._put(key)
        return any(self._things.get(key) != before[key] for key in waiting)

    async def _made(self) -> Contribution:
        converter, world = self._converter, World(self._place.namespace, {**self._things})
        made = await asyncio.to_thread(converter.convert, world)
        self._converted |= converter.converted
        self._refer(converter.watched)
        return made

    def _broken(self, error: Exception) -> None:
        """Go on with what is known, and from the beginning with the next change."""
        self._converter = Converter(self._scope)
        # Its words may hold what an object holds.
        fault, last = type(error).__name__, traceback.extract_tb(error.__traceback__)[-1]
        at = f"{Path(last.filename).name}:{last.lineno}"
        log.error("the objects cannot be converted", extra={"error": fault, "at": at})
        known = self._contribution.value
        message = (
            f"Its objects cannot be converted ({fault} at {at}), which is a fault of this program. "
            "What was known stays in force until an object changes."
        )
        told = Problem(ObjectKey("Namespace", self._place.namespace), "ConversionFailed", message)
        if self._asks_for_protection():
            known = Contribution(NAME, closed=told)
        self._contribution.set(replace(known, problems=tuple(sorted({*known.problems, told}))))

    def _asks_for_protection(self) -> bool:
        """Tell whether the gateway asks, or may ask, for what nobody provides, whatever else is known."""
        return any(
            isinstance(one, Custom) and (bool(one.protections) or isinstance(one.spec, Malformed))
            for key, one in self._things.items()
            if key.kind == GATEWAY and key.name == self._place.choice.gateway
        )

    def _refer(self, watched: frozenset[ObjectKey]) -> None:
        """Follow the Secrets and ConfigMaps that are referred to, and no others."""
        for key in self._referred - watched:
            self._things.pop(key, None)
        self._referred = watched
        for kind, each in _BY_NAME.items():
            self._watches.refer(each, [key.name for key in watched if key.kind == kind])

    def _is_unknown(self, key: ObjectKey) -> bool:
        """Tell whether something that is referred to may be known in a moment."""
        by_name = _BY_NAME[key.kind]
        if self._watches.store.get(by_name, key.name) is not None:
            return False
        sync = self._watches.sync_by_name(by_name, key.name)
        return not sync.is_listed and sync.phase in (Phase.STARTING, Phase.FAILING)

    def _tell(self, made: Contribution) -> None:
        converted, self._converted = len(self._converted), frozenset()
        self._told_of += converted
        if (closed := self._unknown_gateway()) is not None:
            made = Contribution(NAME, problems=(closed,), closed=closed)
        problems = {*made.problems, *self._of_kinds()}
        if self._contribution.set(replace(made, problems=tuple(sorted(problems)))):
            self._read_at = self._clock.now()
            log.info("the objects are read anew", extra={"converted": converted})

    def _unknown_gateway(self) -> Problem | None:
        """Return why nobody may be served where it is not known which protections are asked for."""
        name, kind = self._place.choice.gateway, _RESOURCES[GATEWAY]
        if name is None or self._watches.sync(kind).is_settled:
            return None
        message = (
            "It cannot be read, and so not which protections it asks for: nobody is served. The "
            f"ServiceAccount of this gateway needs get, list and watch of {kind} in namespace "
            f"'{self._place.namespace}'."
        )
        return Problem(
            ObjectKey(GATEWAY, name, self._place.namespace), "GatewayUnreadable", message
        )

    def _of_kinds(self) -> Iterator[Problem]:
        """Yield why whole kinds are not known."""
        for each, sync in self._watches.syncs().items():
            key = ObjectKey("CustomResourceDefinition", str(each))
            if sync.phase is Phase.NOT_INSTALLED:
                yield Problem(
                    key,
                    "KindNotInstalled",
                    "It is not installed, so there are no such objects; the others are served. "
                    "`vmcp crds | kubectl apply --server-side -f -` installs it.",
                )
            elif sync.phase is Phase.FORBIDDEN:
                rest = (
                    "What was known of it stays in force." if sync.is_listed else "None is known."
                )
                yield Problem(
                    key,
                    "KindForbidden",
                    f"The ServiceAccount of this gateway may not list and watch it in namespace "
                    f"'{self._place.namespace}'. {rest} Allow it get, list and watch.",
                )


def _read(key: ObjectKey, kept: Kept) -> Thing:
    try:
        return thing(key, kept.version, kept.content)
    except Exception as error:  # noqa: BLE001 - an object that nobody foresaw harms no other one
        fault = f"cannot be read: {type(error).__name__}."
    if key.kind in _BY_NAME:
        return Hidden(key, kept.version, fault)
    return Custom(key, kept.version, Malformed((Fault((), f"It {fault}"),)))


def _unknown(namespace: str) -> Contribution:
    message = f"The objects of namespace '{namespace}' are not known yet, so nobody is served."
    closed = Problem(ObjectKey("Namespace", namespace), "NotSynced", message)
    return Contribution(NAME, problems=(closed,), closed=closed, is_known=False)


def _is_told(sync: Sync) -> bool:
    """Tell whether all is known of a kind that the server will tell."""
    return sync.is_settled or sync.phase is Phase.FORBIDDEN


def _told(sync: Sync) -> Mapping[str, object]:
    error = {"error": sync.error} if sync.error else {}
    return {"phase": sync.phase.value, "since": sync.since, **error}


def _why(sync: Sync) -> str:
    """Return the rest of a sentence about an object that is not known."""
    if sync.phase is Phase.FORBIDDEN:
        return (
            "the ServiceAccount of this gateway may not read. Allow it get, list and watch of it "
            "(rbac.secretNames and rbac.configMapNames of the chart)."
        )
    if sync.phase is Phase.FAILING:
        return "cannot be read now; it is tried again and again."
    return "the API server has not told of yet."
