"""The container of a Deployment as its kubelet would start it: no pod runs on the test cluster, so processes do.

pod = Pod(cluster, namespace, "gateway-vmcp", folder)
process = subprocess.Popen([program, *pod.arguments], env=pod.env)
pod.refresh()      # brings what has changed in its ConfigMaps and Secrets
"""

from __future__ import annotations

from base64 import b64decode
from pathlib import Path

from tests.support.cluster.admin import Object
from tests.support.cluster.cluster import Cluster
from tests.support.volumes import Volume


class Pod:
    """Its command, arguments and variables; what it mounts lies in a folder of the test."""

    def __init__(self, cluster: Cluster, namespace: str, deployment: str, folder: Path) -> None:
        self._cluster = cluster
        self._namespace = namespace
        path = f"/apis/apps/v1/namespaces/{namespace}/deployments/{deployment}"
        spec = cluster.admin.do("GET", path)["spec"]["template"]["spec"]
        (self._container,) = spec["containers"]
        sources = {each["name"]: each for each in spec["volumes"]}
        folder.mkdir()
        # What is told of a path in the pod holds for the one here.
        self._places = {
            each["mountPath"]: folder / each["name"] for each in self._container["volumeMounts"]
        }
        self._mounted = [
            (sources[place.name], Volume(place, **self._files(sources[place.name])))
            for place in self._places.values()
        ]

    @property
    def command(self) -> list[str]:
        """What is started; empty where it is the image's."""
        return [self._here(word) for word in self._container.get("command", ())]

    @property
    def arguments(self) -> list[str]:
        return [self._here(word) for word in self._container.get("args", ())]

    @property
    def env(self) -> dict[str, str]:
        """The variables that have a value, or the namespace."""
        return {each["name"]: self._value(each) for each in self._container.get("env", ())}

    def refresh(self) -> None:
        """Bring the files of its volumes as they are now."""
        for source, volume in self._mounted:
            volume.publish(**self._files(source))

    def _value(self, variable: Object) -> str:
        field = variable.get("valueFrom", {}).get("fieldRef", {}).get("fieldPath")
        return self._namespace if field == "metadata.namespace" else str(variable["value"])

    def _here(self, text: str) -> str:
        for path, place in self._places.items():
            text = str(place) if text == path else text.replace(f"{path}/", f"{place}/")
        return text

    def _files(self, source: Object) -> dict[str, str]:
        if "secret" in source:
            about = source["secret"]
            kept = self._get("secrets", about["secretName"])
            files = {key: b64decode(text).decode() for key, text in kept.items()}
        else:
            about = source["configMap"]
            files = self._get("configmaps", about["name"])
        wanted = about.get("items") or [{"key": key, "path": key} for key in files]
        return {each["path"]: self._here(files[each["key"]]) for each in wanted}

    def _get(self, plural: str, name: str) -> dict[str, str]:
        path = f"/api/v1/namespaces/{self._namespace}/{plural}/{name}"
        found: dict[str, str] = self._cluster.admin.do("GET", path).get("data", {})
        return found
