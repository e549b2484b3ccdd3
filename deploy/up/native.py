"""Everything on this machine, each a process of its own; and all of it gone again."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from deploy.up.certificates import make_certificates
from deploy.up.places import choose_ports, is_stack
from deploy.up.processes import Processes, StartError, answers
from deploy.up.roles import environment, furnish
from deploy.up.servers import (
    start_alertmanager,
    start_kafka,
    start_mosquitto,
    start_postgres,
    start_prometheus,
)

if TYPE_CHECKING:
    from deploy.up.places import Places

__all__ = ["down", "up"]

_ROOT: Final = Path(__file__).resolve().parents[2]
_PACKAGES: Final = (
    "default-jre-headless",
    "maven",
    "mosquitto",
    "postgresql",
    "prometheus",
    "prometheus-alertmanager",
)
"""Debian's names of what is started."""

_TOLD: Final = {"postgres": signal.SIGINT}
"""What ends a server in order where SIGTERM would have it wait for its clients."""
_TOCSIN: Final = (sys.executable, "-m", "tocsin")


def up(folder: Path, first: int) -> Places:
    """Start everything, and return where it is.

    Args:
        folder: of the stack; it must not be there.
        first: port; free ones where 0.

    Raises:
        StartError: something is missing, or does not answer; what was started runs on.
    """
    if folder.exists():
        raise StartError(f"{folder} is there already\n  hint: make down, then make up")
    _check_packages()
    places = choose_ports(folder, first)
    subprocess.run(["sh", str(_ROOT / "deploy" / "secrets.sh"), str(places.secrets)], check=True)
    shutil.copyfile(make_certificates(places.certificates.folder).authority, places.authority)
    furnish(places)
    _say("Kafka, with everybody's rights")
    start_kafka(places)
    _say("PostgreSQL, Mosquitto, two Alertmanagers")
    start_postgres(places)
    start_mosquitto(places)
    start_alertmanager(places, "public")
    start_alertmanager(places, "custodian")
    _say("topics, two workers")
    _make_topics(places)
    for number in (1, 2):
        _start_worker(places, number)
    for number in (1, 2):
        _wait_for_worker(places, number)
    _say("two Prometheis, notify, mqtt, board, and the office's people")
    start_prometheus(places, "public")
    start_prometheus(places, "custodian")
    _start_command(places, "notify", "notify.yaml")
    _start_command(places, "mqtt", "mqtt.yaml")
    _start_command(places, "board", "board.yaml")
    places.processes.wait("board", lambda: answers(places.ports["board"], "/readyz"))
    _start_people(places)
    return places


def down(folder: Path) -> None:
    """End what runs, the last one that was started first, and remove the folder.

    Args:
        folder: of the stack; nothing happens where there is none.

    Raises:
        StartError: the folder is no stack's; or something does not end, and then the folder stays,
            since it says which process that is.
    """
    if not folder.exists():
        return
    if not is_stack(folder):
        raise StartError(f"{folder} was not made by make up: nothing in it is touched")
    processes = Processes(folder / "run")
    for name in processes.all():
        processes.end(name, _TOLD.get(name, signal.SIGTERM))
    left = processes.all()
    if left:
        told = ", ".join(f"{name} ({pid})" for name, pid in left.items())
        raise StartError(f"still there, though told to end: {told}")
    shutil.rmtree(folder)


def _check_packages() -> None:
    done = subprocess.run(
        ["sh", str(_ROOT / "deploy" / "prerequisites.sh"), *_PACKAGES], check=False
    )
    if done.returncode != 0:
        raise StartError("not all that is started is there")


def _make_topics(places: Places) -> None:
    folder = places.folder / "custodian"
    done = subprocess.run(
        [*_TOCSIN, "topics", "create", "alarms.yaml", "--partitions", "2"],
        cwd=folder,
        env={**os.environ, **_environ(environment(places, "custodian"))},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise StartError(f"tocsin topics create failed:\n{done.stdout}{done.stderr}")


def _start_worker(places: Places, number: int) -> None:
    name = f"worker-{number}"
    pages = {
        "TOCSIN_PUBLIC": places.at(f"{name}-public"),
        "TOCSIN_CUSTODIAN": places.at(f"{name}-custodian"),
    }
    environ = _environ({**environment(places, "worker"), **pages})
    command = [*_TOCSIN, "run", "alarms.yaml", "--log-format", "json"]
    places.processes.start(name, command, where=places.folder / "worker", environ=environ)


def _wait_for_worker(places: Places, number: int) -> None:
    port = places.ports[f"worker-{number}-public"]
    places.processes.wait(f"worker-{number}", lambda: answers(port, "/readyz"))


def _start_command(places: Places, role: str, file: str) -> None:
    environ = _environ(environment(places, role))
    where = places.folder / role
    places.processes.start(role, [*_TOCSIN, role, file], where=where, environ=environ)


def _start_people(places: Places) -> None:
    command = [sys.executable, "people.py", places.at("mosquitto")]
    command += ["--cafile", str(places.authority), "--username", "sensor"]
    command += ["--password-file", "mqtt_password"]
    places.processes.start("people", command, where=places.folder / "sensor")


def _environ(own: dict[str, str]) -> dict[str, str]:
    return {**own, "PYTHONPATH": str(_ROOT)}


def _say(what: str) -> None:
    print(f"  {what} ...", flush=True)
