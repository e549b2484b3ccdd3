"""Services of a compose file in the order that their conditions ask for, under podman.

``podman-compose`` hands conditions on to podman, which cannot keep them: before 4.6 it does not
wait for health, without systemd it never asks for it, and 4.3 starts nothing whose dependency has
ended and had a dependency that runs (``not found in input list``). podman-compose 1.6 does not
look at how a service ended. So each is started here, once what it depends on is as it should be.
"""

from __future__ import annotations

import os
import subprocess
import time
from graphlib import TopologicalSorter
from typing import TYPE_CHECKING, Any, Final

import yaml

from deploy.up.processes import StartError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

__all__ = ["start", "with_files"]

_HEALTH_S: Final = 300.0
_EVERY_S: Final = 1.0
_FILES: Final = ("docker-compose.yml", "deploy/up/podman.yml")
_HEALTHY: Final = "service_healthy"
_COMPLETED: Final = "service_completed_successfully"


def with_files() -> dict[str, str]:
    """Return this process's environment with the files to read, unless it names its own."""
    return {"COMPOSE_FILE": os.pathsep.join(_FILES), **os.environ}


def start(command: Sequence[str], project: str, root: Path) -> None:
    """Start every service that has no profile, after what it depends on.

    Args:
        command: ``podman-compose`` with its options.
        project: the name that its containers have.
        root: the folder of the file.

    Raises:
        StartError: one could not be started, ended with an error or did not get healthy.
    """
    services = _services(command, root)
    sorter = TopologicalSorter({name: _conditions(each) for name, each in services.items()})
    sorter.prepare()
    while sorter.is_active():
        ready = sorter.get_ready()
        for name in ready:
            for needed, condition in _conditions(services[name]).items():
                _wait(project, needed, condition)
        _run([*command, "up", "--detach", "--no-deps", *sorted(ready)], root)
        sorter.done(*ready)


def _services(command: Sequence[str], root: Path) -> dict[str, Mapping[str, Any]]:
    printed = _run([*command, "config"], root, capture=True)
    found: Mapping[str, Mapping[str, Any]] = yaml.safe_load(printed)["services"]
    return {name: each for name, each in found.items() if not each.get("profiles")}


def _conditions(service: Mapping[str, Any]) -> dict[str, str]:
    needed: Mapping[str, Mapping[str, str]] = service.get("depends_on") or {}
    return {name: each["condition"] for name, each in needed.items()}


def _wait(project: str, service: str, condition: str) -> None:
    container = _container(project, service)
    if condition == _COMPLETED:
        code = _podman("wait", container).stdout.strip()
        if code != "0":
            raise StartError(f"{service} ended with {code}\n  hint: podman logs {container}")
    elif condition == _HEALTHY:
        deadline = time.monotonic() + _HEALTH_S
        while _podman("healthcheck", "run", container, check=False).returncode != 0:
            if time.monotonic() > deadline or not _runs(container):
                raise StartError(f"{service} is not healthy\n  hint: podman logs {container}")
            time.sleep(_EVERY_S)


def _container(project: str, service: str) -> str:
    labels = {"io.podman.compose.project": project, "com.docker.compose.service": service}
    filters = [f"--filter=label={name}={value}" for name, value in labels.items()]
    names = _podman("ps", "--all", "--format={{.Names}}", *filters).stdout.split()
    if not names:
        raise StartError(f"{service} has no container")
    return names[0]


def _runs(container: str) -> bool:
    """Tell whether it runs, or is between two tries."""
    status = _podman("inspect", "--format={{.State.Status}}", container).stdout.strip()
    return status not in ("exited", "dead")


def _podman(*words: str, check: bool = True) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(["podman", *words], capture_output=True, text=True, check=False)
    if check and done.returncode != 0:
        raise StartError(f"podman {words[0]} ended with {done.returncode}: {done.stderr.strip()}")
    return done


def _run(command: Sequence[str], root: Path, *, capture: bool = False) -> str:
    done = subprocess.run(
        command,
        cwd=root,
        env=with_files(),
        stdout=subprocess.PIPE if capture else None,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise StartError(f"{' '.join(command)} ended with {done.returncode}")
    return done.stdout or ""
