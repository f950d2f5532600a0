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

    `protections` names the fields that ask for something to be enforced in front of the object, `unsupported`
    those that ask for what this version does not have.
    """

    key: ObjectKey
    version: str
    spec: AnySpec | Malformed
    seen: Seen = Seen()
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

    def key(self, kind: str, name: str) -> ObjectKey:
        """Return the key of an object of this namespace."""
        return ObjectKey(kind, name, self.namespace)

    def resource(self, kind: str, name: str) -> Resource | None:
        """Return a custom resource, None where there is none."""
        found = self.things.get(self.key(kind, name))
        return found if isinstance(found, Resource) else None

    def secret(self, name: str) -> SecretObject | None:
        """Return a Secret, None where there is none."""
        found = self.things.get(self.key(SECRET, name))
        return found if isinstance(found, SecretObject) else None

    def config_map(self, name: str) -> ConfigMapObject | None:
        """Return a ConfigMap, None where there is none."""
        found = self.things.get(self.key(CONFIG_MAP, name))
        return found if isinstance(found, ConfigMapObject) else None

    def hidden(self, kind: str, name: str) -> str | None:
        """Return why a Secret or a ConfigMap cannot be read, None where it can or does not exist."""
        found = self.things.get(self.key(kind, name))
        return found.why if isinstance(found, Hidden) else None

    def of_kind(self, kind: str) -> Iterator[Resource]:
        """Yield the custom resources of a kind by name."""
        for key in sorted(key for key in self.things if key.kind == kind):
            found = self.things[key]
            if isinstance(found, Resource):
                yield found

    def version(self, key: ObjectKey) -> str | None:
        """Return the version of an object, None where there is none."""
        found = self.things.get(key)
        return None if found is None else found.version
