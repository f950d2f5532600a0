"""The World: all objects of one namespace that decide what a gateway serves, as frozen values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from vmcp.crd.reading import Malformed
from vmcp.crd.specs.entry import MCPServerEntrySpec
from vmcp.crd.specs.external_auth import MCPExternalAuthConfigSpec
from vmcp.crd.specs.group import MCPGroupSpec
from vmcp.crd.specs.remoteproxy import MCPRemoteProxyMember
from vmcp.crd.specs.server import MCPServerMember
from vmcp.crd.specs.toolconfig import MCPToolConfigSpec
from vmcp.crd.specs.virtual import VirtualMCPServerSpec
from vmcp.model.keys import ObjectKey
from vmcp.model.secret import Secret

SERVER, PROXY, ENTRY = "MCPServer", "MCPRemoteProxy", "MCPServerEntry"
GROUP, GATEWAY = "MCPGroup", "VirtualMCPServer"
AUTH_CONFIG, TOOL_CONFIG = "MCPExternalAuthConfig", "MCPToolConfig"
SECRET, CONFIG_MAP = "Secret", "ConfigMap"

# The kinds that become backends; of two with one name the earlier kind has it.
MEMBERS = (SERVER, PROXY, ENTRY)

MemberSpec = MCPServerMember | MCPRemoteProxyMember | MCPServerEntrySpec
AnySpec = (
    MemberSpec | MCPGroupSpec | VirtualMCPServerSpec | MCPExternalAuthConfigSpec | MCPToolConfigSpec
)


@dataclass(frozen=True, slots=True)
class Seen:
    """What other controllers say in an object's status of how it is reached."""

    url: str | None = field(default=None, repr=False)
    phase: str | None = None


@dataclass(frozen=True, slots=True)
class Resource:
    """A custom resource; equal versions of one object mean equal content.

    `group` is the one that it names, even where the rest cannot be read; None where none can be told.
    `protections` names the fields that ask for something to be enforced in front of the object, `unsupported`
    those that ask for what this version does not have.
    """

    key: ObjectKey
    version: str
    spec: AnySpec | Malformed
    seen: Seen = Seen()
    group: str | None = None
    protections: tuple[str, ...] = ()
    unsupported: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SecretObject:
    """A Secret; a value is None where its bytes are no text."""

    key: ObjectKey
    version: str
    values: Mapping[str, Secret | None]


@dataclass(frozen=True, slots=True)
class ConfigMapObject:
    """A ConfigMap, text and binary keys as one; a value is None where its bytes are no text."""

    key: ObjectKey
    version: str
    values: Mapping[str, str | None] = field(repr=False)


@dataclass(frozen=True, slots=True)
class Hidden:
    """A Secret or a ConfigMap that cannot be read, and why; whether it exists is not known."""

    key: ObjectKey
    version: str
    why: str


Thing = Resource | SecretObject | ConfigMapObject | Hidden


@dataclass(frozen=True, slots=True)
class World:
    """What is known of one namespace."""

    namespace: str
    things: Mapping[ObjectKey, Thing] = field(default_factory=dict)
    # By kind and name as well: most questions are about one kind, and a key is hashed part by part each time.
    _by_kind: Mapping[str, Mapping[str, Thing]] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Sort the things into their kinds, once for all who ask."""
        found: dict[str, dict[str, Thing]] = {}
        for key, thing in self.things.items():
            found.setdefault(key.kind, {})[key.name] = thing
        object.__setattr__(self, "_by_kind", found)

    def key(self, kind: str, name: str) -> ObjectKey:
        """Return the key of an object of this namespace."""
        return ObjectKey(kind, name, self.namespace)

    def resource(self, kind: str, name: str) -> Resource | None:
        """Return a custom resource, None where there is none."""
        found = self.named(kind).get(name)
        return found if isinstance(found, Resource) else None

    def secret(self, name: str) -> SecretObject | None:
        """Return a Secret, None where there is none."""
        found = self.named(SECRET).get(name)
        return found if isinstance(found, SecretObject) else None

    def config_map(self, name: str) -> ConfigMapObject | None:
        """Return a ConfigMap, None where there is none."""
        found = self.named(CONFIG_MAP).get(name)
        return found if isinstance(found, ConfigMapObject) else None

    def hidden(self, kind: str, name: str) -> str | None:
        """Return why a Secret or a ConfigMap cannot be read, None where it can or does not exist."""
        found = self.named(kind).get(name)
        return found.why if isinstance(found, Hidden) else None

    def named(self, kind: str) -> Mapping[str, Thing]:
        """Return all objects of a kind by their names."""
        return self._by_kind.get(kind, {})

    def of_kind(self, kind: str) -> Iterator[Resource]:
        """Yield the custom resources of a kind by name."""
        things = self.named(kind)
        for name in sorted(things):
            found = things[name]
            if isinstance(found, Resource):
                yield found

    def differing(self, before: World) -> frozenset[ObjectKey]:
        """Return the objects that are not what they were: changed, new or gone."""
        if self.namespace != before.namespace:
            return frozenset((*self.things, *before.things))
        kinds = {*self._by_kind, *before._by_kind}
        return frozenset(
            key for kind in kinds for key in _differing(self.named(kind), before.named(kind))
        )


def _differing(now: Mapping[str, Thing], before: Mapping[str, Thing]) -> Iterator[ObjectKey]:
    for name, thing in now.items():
        old = before.get(name)
        if old is not thing and (old is None or old.version != thing.version):
            yield thing.key
    yield from (thing.key for name, thing in before.items() if name not in now)
