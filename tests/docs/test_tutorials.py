"""The tutorials' commands, as they are printed, each page in an empty folder and one shell.

With a real broker, which stands for the one on port 9092. The command is on the path already (what
installs it is run by ``tests/deploy/test_packaging.py``), and so runs the broker that `make kafka`
starts.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest

from tests.support.procs import children
from tests.support.tree import ROOT, blocks, text_of
from tests.support.waiting import PATIENCE_S, wait_until

ALARM = "2025-03-03 14:00 to 2025-03-03 15:00 UTC  crowd  lobby\n"
"""What ``watch`` prints of the window in which the sample's alarm is due; a false one is rare."""


def script(page):
    """Return the commands of a tutorial."""
    text = text_of(f"docs/tutorials/{page}.md")
    return "".join(blocks(text, "sh"))


OFFICE = (
    "with probability 0.999 at 154, 0.001 at 49",
    "3.597 of epsilon_max 4",
    "3 tests, 0 failed",
    "15 windows, 15 decided now",
    "15, 231",
    "tolerance",
)
CHAIN = (
    "north, food │     118 │       4 │                      6, 286",
    "with probability 0.999 at 114, 0.001 at 30",
    "5 in a period; after 6 alarms",
    "4   5.049     all  rush",
    "2   0.726     all  queue",
    "3 tests, 0 failed",
)


@pytest.fixture(scope="module")
def pages(broker, tmp_path_factory):
    """What each tutorial prints: all are played side by side, as that on Kafka mostly waits."""
    with ThreadPoolExecutor() as pool:
        yield {
            page: pool.submit(played, tmp_path_factory.mktemp(page), script(page), *more)
            for page, *more in (("on-kafka", broker, ALARM), ("first-alarm",), ("your-own-data",))
        }


@pytest.mark.integration
def test_the_first_alarm(pages):
    """It is written, planned, run, changed and tried again, with the page's figures."""
    shown = pages["first-alarm"].result()
    assert [said for said in OFFICE if said not in shown] == []
    assert re.search(r"crowd +│ +lobby +│ +[1-9] +│ .*2025-03-03 14:00", shown)


@pytest.mark.integration
def test_own_data(pages):
    """The chain's alarm fits its budget and fires in the rush."""
    shown = pages["your-own-data"].result()
    assert [said for said in CHAIN if said not in shown] == []
    assert re.search(r"rush +│ +north, food +│ +[1-9] ", shown)


@pytest.mark.integration
def test_on_kafka(pages):
    """The dry run shows the alarm; the live worker is ready and ends; each has its ledger."""
    shown = pages["on-kafka"].result()
    assert shown.count(ALARM) == 1
    assert "live.db" in shown


def played(tmp_path, commands, broker=None, watched="", *, installed=None):
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


def _words(pid):
    return Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")


def _command(folder):
    """Return a folder that has the command, as whoever installed it has."""
    found = folder / "bin"
    found.mkdir()
    tocsin = found / "tocsin"
    tocsin.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m stream.cli.entry "$@"\n')
    tocsin.chmod(0o755)
    return found
