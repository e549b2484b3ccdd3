"""The stranger's path: the commands of the README's first ten minutes, as they are printed.

In an empty folder, in one shell, with a real broker. Only its port is put in the place of 9092.
The command is on the path already (what installs it is run by ``tests/deploy/test_packaging.py``),
and so runs the broker that `make kafka` starts.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

from tests.support.procs import children
from tests.support.tree import ROOT, text_of
from tests.support.waiting import PATIENCE_S, wait_until

if TYPE_CHECKING:
    from tests.support.kafka import Broker

README: Final = text_of("README.md")
SECTION: Final = README.split("\n## Ten minutes\n")[1].split("\n## ")[0]
BLOCKS: Final = re.findall(r"```sh\n(.*?)```", SECTION, flags=re.DOTALL)
ALARM: Final = "2025-03-03 14:00 to 2025-03-03 15:00 UTC  crowd  lobby\n"
"""What ``watch`` prints of the window in which the sample's alarm is due; a false one is rare."""


def test_nothing_but_the_command_is_typed() -> None:
    """Two blocks of commands: on files, and on the broker that `make kafka` runs."""
    files, kafka = BLOCKS
    typed = [line.split()[0] for line in (files + kafka).splitlines()]
    assert typed == ["tocsin"] * 9 + ["kill"]
    assert "`make kafka`" in SECTION


@pytest.mark.integration
def test_ten_minutes(broker: Broker, tmp_path: Path) -> None:
    """The replay shows one alarm, and so does Kafka; every command ends with 0."""
    ten_minutes(broker, tmp_path)


def ten_minutes(broker: Broker, tmp_path: Path, installed: Path | None = None) -> None:
    """Type the README's commands, and see what they must show."""
    files, kafka = BLOCKS
    commands = f"{files}echo replayed\n{kafka}"
    shown = played(tmp_path, commands, broker, watched=ALARM, installed=installed)
    replayed, _, live = shown.partition("replayed\n")
    assert re.search(r"crowd +│ +lobby +│ +[1-9] +│ .*2025-03-03 14:00", replayed)
    assert "15 windows, 15 decided now" in replayed
    assert live.count(ALARM) == 1


def played(
    tmp_path: Path,
    commands: str,
    broker: Broker | None = None,
    *,
    watched: str = "",
    installed: Path | None = None,
) -> str:
    """Run commands in one shell, in an empty folder, and return what they print.

    Args:
        tmp_path: of the test.
        commands: as printed; all end with 0.
        broker: that stands for the one on port 9092.
        watched: what ``tocsin watch`` shows; then it is told to end by Ctrl-C.
        installed: the folder of the command, where it is not the checkout's.
    """
    folder, errors = tmp_path / "empty", tmp_path / "errors"
    folder.mkdir()
    port = broker.bootstrap.rpartition(":")[2] if broker else "9092"
    script = f"set -e\n{commands}wait\n".replace("9092", port)
    shown = tmp_path / "shown"
    with errors.open("wb") as stderr, shown.open("wb") as stdout:
        shell = subprocess.Popen(
            ["env", "--default-signal=INT", "bash", "-c", script],  # nohup and `&` ignore it
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=stderr,
            env={
                **os.environ,
                "PATH": f"{installed or _command(tmp_path)}:{os.environ['PATH']}",
                "PYTHONPATH": "" if installed else str(ROOT),
            },
            start_new_session=True,
        )
    try:
        if watched:
            wait_until(
                "the alarm is seen, or the shell has ended",
                lambda: watched in shown.read_text() or shell.poll() is not None,
            )
            assert shell.poll() is None, errors.read_text()
            (watching,) = [pid for pid in children(shell.pid) if b"watch" in _words(pid)]
            os.kill(watching, signal.SIGINT)  # Ctrl-C
        assert shell.wait(PATIENCE_S) == 0, errors.read_text()
    finally:
        with suppress(ProcessLookupError):
            os.killpg(shell.pid, signal.SIGKILL)
        shell.wait()
    return shown.read_text()


def _words(pid: int) -> list[bytes]:
    return Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")


def _command(folder: Path) -> Path:
    """Return a folder that has the command, as whoever installed it has."""
    found = folder / "bin"
    found.mkdir()
    tocsin = found / "tocsin"
    tocsin.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m stream.cli.entry "$@"\n')
    tocsin.chmod(0o755)
    return found
