"""Where the process begins: its signals, its exit codes, its last sentence."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from tests.support.commands import configuration
from tests.support.processes import Command
from tests.support.procs import ran
from tests.support.tree import ROOT
from tests.support.waiting import PATIENCE_S, wait_until

SLOW = """\
import os, signal, sys, time
from stream.cli import entry

class Slow:
    def find_spec(self, name, path=None, target=None):
        if name == SLOW_AT:
            print("there", flush=True)
            for _ in range(int(WAIT_S * 100)):
                time.sleep(0.01)

sys.meta_path.insert(0, Slow())
entry.main()
"""
"""A process that takes its time at one import, so that it can be told to end just there.

It sleeps in short naps: a signal that comes just before the call does not end a sleep.
"""


def slow(at):
    """Return a process that waits while it imports ``at``."""
    return f"SLOW_AT, WAIT_S = {at!r}, {PATIENCE_S}\n{SLOW}"


def told(number, program, *arguments, written=None):
    """Start a process, send it a signal once it waits; return its code and last words.

    By then it has one file in the folder ``written``, where there is one.
    """
    with subprocess.Popen(
        [sys.executable, "-c", program, *arguments],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "there\n"
        assert written is None or len(list(written.iterdir())) == 1
        process.send_signal(number)
        _, said = process.communicate(timeout=PATIENCE_S)
    return process.returncode, said


@pytest.mark.parametrize(
    "at",
    ["click", "stream.cli.check", "yaml", "sqlglot"],
    ids=["before the command", "at its file", "at YAML", "at SQL"],
)
@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_signal_ends_a_command_at_once(tmp_path, at, number, code):
    """From the first import on, with one sentence, the signal's code and no traceback."""
    ended, said = told(number, slow(at), "check", configuration(tmp_path))
    assert ended == code
    assert said == f"tocsin: stopped by {number.name} before it was done\n"


OUTPUT = """\
import sys, time
from pathlib import Path
from stream.cli import entry, main
from stream.simulation.outputs import private_file

def wait(*_args, **_kwargs):
    with private_file(Path(sys.argv[-1]), force=False):
        print("there", flush=True)
        for _ in range(int(WAIT_S * 100)):
            time.sleep(0.01)

main.Later.make_context = wait
entry.main()
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_no_half_written_file_of_events_stays(tmp_path, number):
    """A closed terminal leaves no more of an export behind than Ctrl-C does."""
    folder = tmp_path / "exports"
    folder.mkdir()
    program = f"WAIT_S = {PATIENCE_S}\n{OUTPUT}"
    ended, _ = told(number, program, "export", str(folder / "events.parquet"), written=folder)
    assert ended == 128 + number
    assert list(folder.iterdir()) == []


def test_ctrl_c_ends_a_command(tmp_path):
    """With click's word and 1."""
    ended = told(signal.SIGINT, slow("sqlglot"), "check", configuration(tmp_path))
    assert ended == (1, "\nAborted!\n")


EXECUTED = """\
import sys
from stream.cli import entry, main

NAPS = '''
import time
for _ in range(int(WAIT_S * 100)):
    time.sleep(0.01)
'''

def wait(*_args, **_kwargs):
    print("there", flush=True)
    exec(NAPS, {"WAIT_S": WAIT_S})

main.Later.make_context = wait
entry.main()
"""
"""Libraries make classes by ``exec``; Python remembers an interrupt that passed through one."""


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 1)])
def test_the_exit_code_is_ours_wherever_the_signal_comes(number, code):
    """Python's own is that of SIGINT once an interrupt has passed through an ``exec``."""
    program = f"WAIT_S = {PATIENCE_S}\n{EXECUTED}"
    assert told(number, program, "check", "alarms.yaml")[0] == code


BROKEN = """\
import sys
from stream.cli import entry, main

def fail(*_args, **_kwargs):
    raise KeyError("p17 in room 3")

main.Later.make_context = fail
entry.main()
"""


def test_a_mistake_is_named_by_type_and_place():
    """Exit code 70, one line, and nothing that the error says."""
    said = ran(sys.executable, "-c", BROKEN, "check", "alarms.yaml", cwd=ROOT, code=70).stderr
    assert said.startswith("error: a mistake in Tocsin: KeyError at __main__:5 fail < click")
    assert said.count("\n") == 1
    assert "p17" not in said


def test_the_first_process_of_a_container_hears_sigterm(tmp_path):
    """The kernel keeps from it every signal that has no handler."""
    if subprocess.run(["unshare", "--pid", "--fork", "true"], check=False).returncode:
        pytest.skip("needs the right to make a PID namespace")
    pipe = tmp_path / "never.jsonl"
    os.mkfifo(pipe)  # opening it takes for ever
    path = configuration(tmp_path)
    command = Command.start(tmp_path / "err", "run", path, "--replay", str(pipe), first=True)
    try:
        wait_until("it has begun", lambda: command.handles(signal.SIGTERM), every_s=0.001)
        command.tell(signal.SIGTERM)
        assert command.ended() == 143, command.text()
    finally:
        command.stop()
