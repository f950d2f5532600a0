"""Build the programs of the test cluster that are missing: `python -m tests.kube.binaries.build`."""

from __future__ import annotations

import fcntl
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.kube.binaries.places import HERE, PACKAGES, cache, missing, root
from tests.kube.binaries.toolchain import NoGo, environment, go

# A machine with two busy cores takes a quarter of an hour for all of them.
SECONDS = 2400.0
_KUBE_VERSION = ("k8s.io/component-base/version", "k8s.io/client-go/pkg/version")
_HELM_VERSION = "helm.sh/helm/v4/internal/version.version"


class NotBuilt(Exception):
    """A program cannot be built here."""


def ensure() -> str | None:
    """Build what is missing; return why some still are."""
    if not missing():
        return None
    try:
        with _alone():
            _build_all(missing())
    except (NoGo, NotBuilt, OSError) as error:
        return str(error)
    return None


@contextmanager
def _alone() -> Iterator[None]:
    # Two runs at once share what the first one builds.
    root().mkdir(parents=True, exist_ok=True)
    with (root() / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _build_all(names: list[str]) -> None:
    if not names:
        return
    program, started = go(), time.monotonic()
    _say(f"building {', '.join(names)} for the test cluster, once: about ten minutes")
    cache().mkdir(parents=True, exist_ok=True)
    flags = _linker_flags(program)
    for name in names:
        begun = time.monotonic()
        _build(program, name, flags, seconds=SECONDS - (begun - started))
        _say(f"{name} is built, in {time.monotonic() - begun:.0f} s")
    # Some gigabytes; after a failure they stay, so that the next run goes on from there.
    shutil.rmtree(_work())


def _build(program: Path, name: str, flags: str, *, seconds: float) -> None:
    new = cache() / f".{name}.new"
    words = ("build", "-ldflags", flags, "-o", str(new), PACKAGES[name])
    _go(program, *words, seconds=seconds)
    new.replace(cache() / name)


def _linker_flags(program: Path) -> str:
    # Without a version a server calls itself v0.0.0, which no chart's `kubeVersion` accepts.
    kube, helm = _module(program, "k8s.io/kubernetes"), _module(program, "helm.sh/helm/v4")
    minor = kube.split(".")[1]
    told = {"gitVersion": kube, "gitMajor": "1", "gitMinor": minor, "gitTreeState": "clean"}
    values = [f"-X {place}.{key}={value}" for place in _KUBE_VERSION for key, value in told.items()]
    return " ".join(["-s", "-w", *values, f"-X {_HELM_VERSION}={helm}"])


def _module(program: Path, path: str) -> str:
    return _go(program, "list", "-m", "-f", "{{.Version}}", path, seconds=SECONDS).strip()


def _go(program: Path, *words: str, seconds: float) -> str:
    try:
        done = subprocess.run(
            [str(program), *words],
            cwd=HERE,
            env=_environment(),
            capture_output=True,
            text=True,
            timeout=seconds,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise NotBuilt(f"`go {words[0]}` took longer than {SECONDS:.0f} s.") from error
    if done.returncode:
        raise NotBuilt(f"`go {words[0]} {words[-1]}` failed:\n{done.stderr[-2000:]}")
    return done.stdout


def _environment() -> dict[str, str]:
    basis = environment()
    ours = f"-mod=readonly -modcacherw -buildvcs=false -trimpath {basis.get('GOFLAGS', '')}"
    places = {"GOCACHE": "build", "GOMODCACHE": "modules", "GOTMPDIR": "tmp"}
    (_work() / "tmp").mkdir(parents=True, exist_ok=True)
    return {
        **basis,
        **{key: str(_work() / name) for key, name in places.items()},
        "GOFLAGS": ours,
        "CGO_ENABLED": "0",
    }


def _work() -> Path:
    return root() / "work"


def _say(what: str) -> None:
    sys.stderr.write(f"kube: {what}\n")
    sys.stderr.flush()


def main() -> int:
    """Say loudly why the programs are not there."""
    reason = ensure()
    if reason is None:
        return 0
    sys.stderr.write(f"\n*** THERE IS NO TEST CLUSTER: {reason}\n\n")
    return 1


if __name__ == "__main__":
    sys.exit(main())
