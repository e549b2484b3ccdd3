"""What is no broker, and how the process ends; all other bad inputs: ``tests/golden/messages``."""

from __future__ import annotations

import os
import socket
import sys
from contextlib import closing

import pytest

from stream.kafka import topics
from tests.support.badinputs.shapes import GOOD, GOOD_CASES, good_folder
from tests.support.commands import tocsin
from tests.support.procs import ran
from tests.support.tree import ROOT

HANG_S = 120
"""A guard: what hangs is ended; what takes long on a busy machine is not."""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Return the good folder, in which the command works, without patience for what is away."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(topics, "PATIENCE_MS", 300)
    good_folder(tmp_path)
    return tmp_path


def test_the_good_file_of_tests_passes(folder):
    """It leaves nothing behind."""
    (folder / "cases.yaml").write_text(GOOD_CASES)
    before = sorted(folder.iterdir())
    tocsin("test", "cases.yaml", code=0)
    assert sorted(folder.iterdir()) == before


@pytest.mark.parametrize(
    "words",
    ["topics check alarms.yaml", "watch alarms.yaml", "export alarms.yaml badges out.parquet"],
)
def test_what_is_no_broker_is_named(folder, words):
    """A closed port, an unknown host, a silent listener."""
    with closing(socket.create_server(("127.0.0.1", 0))) as silent:
        for address in (
            "127.0.0.1:1",
            "no-such-host.invalid:9092",
            f"127.0.0.1:{silent.getsockname()[1]}",
        ):
            (folder / "alarms.yaml").write_text(GOOD.replace("127.0.0.1:9092", address))
            said = " ".join(tocsin(*words.split(), code=4).output.split())
            assert f"Kafka is unreachable at {address}" in said
            assert "hint:" in said
            assert not (folder / "ledger.db").exists()


def test_the_process_ends_as_the_command_does(folder):
    """Through the real entry, one after the other: exit code, one sentence, no traceback."""
    os.mkfifo(folder / "pipe.yaml")
    program = (
        "import sys\nfrom stream.cli import entry\n"
        "for words in sys.argv[1:]:\n"
        "    sys.argv = ['tocsin', *words.split()]\n"
        "    try:\n        entry.main()\n"
        "    except SystemExit as ending:\n        print(ending.code, flush=True)\n"
    )
    calls = [
        "check alarms.yaml",
        "chek alarms.yaml",
        "check pipe.yaml",
        "check missing.yaml",
        "run alarms.yaml --replay alarms.yaml",
        "run alarms.yaml --replay badges.jsonl badges.jsonl",
        "ledger alarms.yaml status",
    ]
    environ = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = ran(sys.executable, "-c", program, *calls, cwd=folder, env=environ, timeout=HANG_S)
    assert done.stdout.split() == ["ok", "0", *["2"] * (len(calls) - 1)], done.stderr
    assert "Traceback" not in done.stderr
    assert "Usage: tocsin" in done.stderr
