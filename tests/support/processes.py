"""The command ``tocsin`` as a process of its own: its signals, its last sentence, its log."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.support.procs import children, handles
from tests.support.tree import ROOT
from tests.support.waiting import PATIENCE_S, wait_until

if TYPE_CHECKING:
    import signal


@dataclass
class Command:
    """A running command.

    Args:
        process: what was started, the command itself or what gave it a world of its own.
        pid: of the command.
        errors: the file that standard error goes to.
    """

    process: subprocess.Popen[bytes]
    pid: int
    errors: Path

    @classmethod
    def start(
        cls, errors: Path, *arguments: str | Path, first: bool = False, folder: Path | None = None
    ) -> Command:
        """Start a command.

        Args:
            errors: where standard error goes.
            arguments: of ``tocsin``.
            first: as the first process of a container is: no signal ends it but by a handler.
            folder: for temporary files.
        """
        world = ["unshare", "--pid", "--fork", "--kill-child"] if first else []
        with errors.open("wb") as stderr:
            process = subprocess.Popen(
                [*world, sys.executable, "-m", "stream.cli.entry", *map(str, arguments)],
                cwd=ROOT,
                stdout=subprocess.PIPE,
                stderr=stderr,
                env={**os.environ, **({"TMPDIR": str(folder)} if folder else {})},
            )
        started = cls(process, process.pid, errors)
        if first:
            wait_until("the command is there", lambda: children(process.pid), every_s=0.001)
            started.pid = children(process.pid)[0]
        return started

    @property
    def alive(self) -> bool:
        """Whether it runs."""
        return self.process.poll() is None

    def handles(self, number: signal.Signals) -> bool:
        """Tell whether a handler of its own is called for a signal."""
        return handles(self.pid, number)

    def sockets(self) -> int:
        """Return how many sockets it has open."""
        found = 0
        for file in Path(f"/proc/{self.pid}/fd").iterdir():
            with suppress(FileNotFoundError):  # closed meanwhile
                found += str(file.readlink()).startswith("socket:")
        return found

    def tell(self, number: signal.Signals) -> None:
        """Send it a signal."""
        os.kill(self.pid, number)

    def ended(self) -> int:
        """Wait until it ends and return its exit code; minus the signal if one ended it."""
        try:
            return self.process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"runs on after {PATIENCE_S:.0f} s:\n{self.text()}") from None

    def stop(self) -> None:
        """End it, whatever it does."""
        if self.alive:
            self.process.kill()
        self.process.communicate()

    def text(self) -> str:
        """Return what it wrote to standard error."""
        return self.errors.read_text()

    def lines(self) -> list[dict[str, Any]]:
        """Return its log, which is JSON."""
        whole = self.text().rpartition("\n")[0]
        return [json.loads(line) for line in whole.splitlines() if line.startswith("{")]

    def beside_its_log(self) -> list[str]:
        """Return what it wrote to standard error after its log began, and not as a line of it."""
        lines = self.text().splitlines()
        begins = next((n for n, line in enumerate(lines) if line.startswith("{")), len(lines))
        return [line for line in lines[begins:] if not line.startswith("{")]

    def says(self, event: str, **fields: Any) -> bool:
        """Tell whether a line of its log holds this."""
        wanted = {"event": event, **fields}.items()
        return any(wanted <= line.items() for line in self.lines())
