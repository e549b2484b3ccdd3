"""What a broker runs on: Java with Kafka's jars, or Docker; and free loopback ports."""  # noqa: INP001  # a script's neighbour, no package

from __future__ import annotations

import fcntl
import os
import random
import re
import shutil
import socket
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "HOST",
    "BrokerError",
    "class_archive",
    "default_version",
    "docker",
    "docker_answers",
    "fetch_jars",
    "free_port",
    "java",
    "missing_for_java",
    "port_answers",
    "require_java_or_docker",
    "tools_apart",
]

HOST = "127.0.0.1"
FETCH_ATTEMPTS = 3

_POM = Path(__file__).resolve().with_name("pom.xml")
_CACHE = _POM.parents[2] / ".cache"
_VERSION_VARIABLE = "TOCSIN_KAFKA_VERSION"


class BrokerError(RuntimeError):
    """A broker could not be fetched, started or reached; the text says what to do about it."""


def default_version() -> str:
    """Return ``TOCSIN_KAFKA_VERSION`` if it is set, otherwise the version that the pom pins."""
    chosen = os.environ.get(_VERSION_VARIABLE, "")
    if chosen:
        return chosen
    found = re.search(r"<kafka\.version>([^<]+)<", _POM.read_text(encoding="utf-8"))
    if found is None:
        raise BrokerError(f"{_POM.name} has no <kafka.version>")
    return found[1]


def tools_apart(version: str) -> bool:
    """Return whether a version's command-line tools are in a jar of their own."""
    return int(version.partition(".")[0]) > 3  # since Kafka 4


def fetch_jars(version: str) -> Path:
    """Return the directory of one version's jars, fetched once with Maven.

    Raises:
        BrokerError: Maven is missing or could not resolve the version.
    """
    home = _CACHE / f"kafka-{version}"
    libs = home / "libs"
    if libs.is_dir():
        return libs
    home.mkdir(parents=True, exist_ok=True)
    with (home / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # two test runs may start at once
        if libs.is_dir():
            return libs
        part = home / "part"
        command = ["mvn", "-B", "-q", "-f", str(_POM), "dependency:copy-dependencies"]
        command += [f"-Dkafka.version={version}", f"-DoutputDirectory={part}"]
        if tools_apart(version):
            command.append("-Ptools")
        for attempt in range(FETCH_ATTEMPTS):
            shutil.rmtree(part, ignore_errors=True)
            # -U: Maven remembers an interrupted download as a missing artifact for a day.
            again = ["-U"] if attempt else []
            done = subprocess.run(  # noqa: S603  # our own command line
                [*command, *again],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                check=False,
            )
            if done.returncode == 0:
                part.rename(libs)  # only a complete set of jars carries the final name
                return libs
        raise BrokerError(f"Maven could not fetch Kafka {version}:\n{done.stdout}{done.stderr}")


def class_archive(libs: Path, leave: Callable[[Path], bool] | None = None) -> Path | None:
    """Return the archive of a broker's loaded classes, made once for these jars and this Java.

    Java maps it into memory and starts in half the time; one that does not fit its jars or its
    version any more it leaves alone. Where none could be made an empty file says so.

    Args:
        libs: the directory of the jars.
        leave: runs a broker that leaves the archive at a path when it ends, and says whether it
            did; where None, an archive is there or not.
    """
    launcher = Path(shutil.which(java()) or java()).resolve()
    try:
        archive = libs.parent / f"classes-{launcher.stat().st_mtime_ns:x}.jsa"
        if leave is not None and not archive.exists():
            _leave_once(archive, leave)
        return archive if archive.stat().st_size else None
    except OSError:  # none, or a folder of somebody else's: slower, and no worse
        return None


def _leave_once(archive: Path, leave: Callable[[Path], bool]) -> None:
    with archive.with_name("lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # several brokers may start at once
        if archive.exists():
            return
        part = archive.with_suffix(".part")
        part.unlink(missing_ok=True)
        if not leave(part):
            part.unlink(missing_ok=True)
            part.touch()
        part.rename(archive)  # only a complete one carries the final name


def java() -> str:
    """Return the Java launcher: that of ``JAVA_HOME``, or the one on PATH."""
    home = os.environ.get("JAVA_HOME")
    candidate = Path(home, "bin", "java") if home else None
    return str(candidate) if candidate and candidate.is_file() else "java"


def missing_for_java() -> tuple[str, ...]:
    """Return what is missing to run a broker on Java; nothing when all is there."""
    missing = []
    if shutil.which(java()) is None:
        missing.append("Java 17 (default-jre-headless)")
    if shutil.which("mvn") is None:
        missing.append("Maven (maven)")
    return tuple(missing)


def require_java_or_docker() -> None:
    """Check that a broker can run here at all.

    Raises:
        BrokerError: Java or Maven is missing and no Docker engine answers.
    """
    missing = missing_for_java()
    if missing and not docker_answers():
        raise BrokerError(
            f"a Kafka broker needs {' and '.join(missing)}, or a running Docker engine\n"
            "  hint: apt-get install default-jre-headless maven"
        )


def docker(*arguments: str) -> bool:
    """Run a docker command and say whether it succeeded."""
    done = subprocess.run(  # noqa: S603  # our own command line
        ["docker", *arguments],  # noqa: S607  # found on PATH like any tool
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )
    return done.returncode == 0


def docker_answers() -> bool:
    """Say whether there is a Docker engine to talk to."""
    return shutil.which("docker") is not None and docker("info")


def free_port() -> int:
    """Return a loopback port that nobody listens on."""
    # Below the system's range for outgoing connections: a client that retries a stopped broker
    # inside that range can end up connected to itself, and then holds the broker's port.
    ports = list(range(20_000, 32_000))
    random.shuffle(ports)
    for port in ports:
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((HOST, port))
            except OSError:
                continue
            return port
    raise BrokerError("no free loopback port between 20000 and 31999")


def port_answers(port: int) -> bool:
    """Say whether somebody listens on a loopback port."""
    with socket.socket() as probe:
        probe.settimeout(1.0)
        return probe.connect_ex((HOST, port)) == 0
