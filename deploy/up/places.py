"""Where everything of a stack lies and listens: one folder, and ports of loopback.

::

    FOLDER/ca.pem            what everybody trusts
           tls/  secrets/    keys and passwords: of whoever owns the folder
           ROLE/             worker custodian mqtt notify board sensor analyst: what each of
                             them has, with an `environment` that says where things are
           SERVER/           kafka postgres mosquitto ...: settings and data
           run/              which processes run, and what they wrote
"""

from __future__ import annotations

import json
import socket
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from deploy.kafka.runtime import HOST, free_port
from deploy.up.certificates import Certificates
from deploy.up.processes import Processes, StartError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

__all__ = ["LISTENERS", "Places", "choose_ports", "is_stack"]

LISTENERS: Final = ("WORKERS", "CUSTODIAN", "SENSORS", "ANALYSTS", "CONTROLLER")
"""Of Kafka: one for each role, as composed, and the controller's."""

_NAMES: Final = (
    *LISTENERS,
    "postgres",
    "mosquitto",
    "worker-1-public",
    "worker-1-custodian",
    "worker-2-public",
    "worker-2-custodian",
    "prometheus-public",
    "prometheus-custodian",
    "alertmanager-public",
    "alertmanager-custodian",
    "board",
    "mqtt",
)
"""In the order of their ports; new ones go to the end."""

_PORTS: Final = "ports.json"
_MOST: Final = 65_535


@dataclass(frozen=True, slots=True)
class Places:
    """The folder of a stack, and its ports.

    Args:
        folder: that nobody but its owner may enter.
        ports: by name.
    """

    folder: Path
    ports: Mapping[str, int]

    def at(self, name: str) -> str:
        """Return where something listens."""
        return f"{HOST}:{self.ports[name]}"

    def kept(self, name: str) -> Path:
        """Return the folder of a role or a server, which is made where it is missing."""
        path = self.folder / name
        path.mkdir(exist_ok=True)
        return path

    @property
    def secrets(self) -> Path:
        """The folder of passwords, as ``deploy/secrets.sh`` makes it."""
        return self.folder / "secrets"

    def secret(self, name: str) -> str:
        """Return a password."""
        return (self.secrets / name).read_text(encoding="ascii").strip()

    @property
    def certificates(self) -> Certificates:
        """The keys and certificates."""
        return Certificates(self.folder / "tls")

    @property
    def authority(self) -> Path:
        """What everybody trusts, where everybody looks for it."""
        return self.folder / "ca.pem"

    @property
    def processes(self) -> Processes:
        """What runs."""
        return Processes(self.folder / "run")


def choose_ports(folder: Path, first: int) -> Places:
    """Return the places of a new stack.

    Args:
        folder: of the stack.
        first: port; the others follow it. Free ones where 0.

    Raises:
        StartError: a port is somebody else's, or none.
    """
    if first == 0:
        chosen: set[int] = set()
        while len(chosen) < len(_NAMES):
            chosen.add(free_port())
        ports = dict(zip(_NAMES, sorted(chosen), strict=True))
    elif 0 < first <= _MOST - len(_NAMES):
        ports = {name: first + number for number, name in enumerate(_NAMES)}
    else:
        raise StartError(f"the first port is {first}: write one from 1024 to {_MOST - len(_NAMES)}")
    taken = [str(port) for port in ports.values() if not _free(port)]
    if taken:
        raise StartError(
            f"somebody listens on 127.0.0.1:{', '.join(taken)} already\n"
            "  hint: make up PORTS=22000, or PORTS=0 for ports that are free"
        )
    folder.mkdir(mode=0o700, parents=True)
    (folder / _PORTS).write_text(json.dumps(ports, indent=2) + "\n", encoding="utf-8")
    return Places(folder, ports)


def is_stack(folder: Path) -> bool:
    """Tell whether a folder was made for a stack, and may be removed with all that is in it."""
    return (folder / _PORTS).is_file()


def _free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
    return True
