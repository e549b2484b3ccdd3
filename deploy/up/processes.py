"""Servers that outlive the command that started them, and end by the files that name them.

A file says which process it is by its id and the moment it started at: an id that was given away
meanwhile is somebody else's process, which nobody here may end.
"""

from __future__ import annotations

import http.client
import os
import signal
import subprocess
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from deploy.kafka.runtime import HOST

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

__all__ = ["Processes", "StartError", "answers", "wait_for"]

_PATIENCE_S: Final = 300.0
_END_S: Final = 20.0
_PAUSE_S: Final = 0.1
_TAIL: Final = 15
_STARTED: Final = 19
"""Of /proc/PID/stat, counted behind the command's name: when it started, in ticks."""
_OVER: Final = ("Z", "X")


class StartError(RuntimeError):
    """A part of the stack could not be started; the text says what to do about it."""


@dataclass(frozen=True, slots=True)
class Processes:
    """The processes of one folder.

    Args:
        folder: of their files and logs.
    """

    folder: Path

    def start(
        self,
        name: str,
        command: Sequence[str],
        *,
        where: Path,
        environ: Mapping[str, str] | None = None,
    ) -> int:
        """Start a process that goes on without us, and return its id.

        Args:
            name: of its files.
            command: what is run.
            where: its working directory.
            environ: variables beside those that it inherits.
        """
        self.folder.mkdir(exist_ok=True)
        with self.log(name).open("ab") as log:
            process = subprocess.Popen(
                command,
                cwd=where,
                env={**os.environ, **(environ or {})},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,  # Ctrl-C in the terminal is for the command, not for it
            )
        process.returncode = 0  # nobody here waits for it
        self.note(name, process.pid)
        return process.pid

    def note(self, name: str, pid: int) -> None:
        """Write down a process that was started."""
        self.folder.mkdir(exist_ok=True)
        path = self.folder / f"{time.monotonic_ns()}-{name}.pid"
        path.write_text(f"{pid} {_started(pid)}\n", encoding="ascii")

    def log(self, name: str) -> Path:
        """Return what a process wrote."""
        return self.folder / f"{name}.log"

    def all(self) -> dict[str, int]:
        """Return the ids of those that run, by name; the last one that was started first."""
        found = {}
        for path in sorted(self.folder.glob("*.pid"), key=_number, reverse=True):
            pid, _, started = path.read_text(encoding="ascii").strip().partition(" ")
            if started and _started(int(pid)) == started:
                found[path.stem.partition("-")[2]] = int(pid)
        return found

    def wait(self, name: str, ready: Callable[[], bool]) -> None:
        """Wait until something is ready.

        Raises:
            StartError: its process ended, or it never is; the text has the end of its log.
        """

        def ended() -> bool:
            return name not in self.all()

        if not wait_for(lambda: ended() or ready(), _PATIENCE_S) or ended():
            lines = self.log(name).read_text(encoding="utf-8", errors="replace").splitlines()
            told = "\n".join(f"    {line}" for line in lines[-_TAIL:])
            raise StartError(f"{name} does not answer; the end of {self.log(name)}:\n{told}")

    def end(self, name: str, told: signal.Signals = signal.SIGTERM) -> None:
        """End a process in order, or else at once; nothing where it does not run.

        Args:
            name: of its files.
            told: what ends it in order.
        """
        for number, patience_s in ((told, _END_S), (signal.SIGKILL, _END_S)):
            pid = self.all().get(name)
            if pid is None:
                return
            with suppress(ProcessLookupError):
                os.kill(pid, number)
            wait_for(lambda: name not in self.all(), patience_s)


def wait_for(ready: Callable[[], bool], patience_s: float) -> bool:
    """Ask again and again, and return whether it came true.

    Args:
        ready: is asked.
        patience_s: for so long.
    """
    until_s = time.monotonic() + patience_s
    while not ready():
        if time.monotonic() > until_s:
            return False
        time.sleep(_PAUSE_S)
    return True


def answers(port: int, path: str) -> bool:
    """Tell whether a web server on loopback answers with 200.

    Args:
        port: it listens on.
        path: that is asked for.
    """
    connection = http.client.HTTPConnection(HOST, port, timeout=10)
    try:
        connection.request("GET", path)
        return connection.getresponse().status == http.HTTPStatus.OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def _number(path: Path) -> int:
    return int(path.name.partition("-")[0])


def _started(pid: int) -> str:
    """Return when a process started; nothing of one that has ended."""
    with suppress(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)  # one of our own would stay as its own shadow otherwise
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    except (FileNotFoundError, ProcessLookupError):
        return ""
    fields = stat.rpartition(")")[2].split()
    return "" if fields[0] in _OVER else fields[_STARTED]
