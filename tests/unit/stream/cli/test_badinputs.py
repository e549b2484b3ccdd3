"""Hundreds of bad inputs: exit code, place and remedy; no traceback, and nothing spent."""

from __future__ import annotations

import os
import shlex
import socket
import sqlite3
import sys
from contextlib import closing

import pytest

from accountant.ledger.ledger import Ledger
from stream.kafka import topics
from tests.support.badinputs.databases import DATABASES
from tests.support.badinputs.files import FILES
from tests.support.badinputs.shapes import EDITS, GOOD, GOOD_CASES, Call, good_folder
from tests.support.badinputs.words import WORDS
from tests.support.commands import tocsin
from tests.support.procs import ran
from tests.support.tree import ROOT

CALLS = {"words": WORDS, "files": FILES, "databases": DATABASES}
HANG_S = 120
"""A guard: what hangs is ended; what takes long on a busy machine is not."""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Return the folder that the command works in, without patience for what is not there."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(topics, "PATIENCE_MS", 300)
    defaults = Ledger.open.__func__.__kwdefaults__
    monkeypatch.setitem(defaults, "connect_timeout_s", 0.0)
    return tmp_path


def held(path):
    """Return what a ledger's file holds, ``None`` where there is no file."""
    return path.read_bytes() if path.is_file() else None


def windows(path):
    """Return how many entries of a ledger are about windows, 0 where there is none."""
    if not path.is_file():
        return 0
    asked = "SELECT COUNT(*) FROM tocsin_entries WHERE kind IN ('admitted', 'answered', 'ended')"
    with closing(sqlite3.connect(path)) as connection:
        ((count,),) = connection.execute(asked)
    return count


def answered(call, folder, place=""):
    """Return what is wrong with the answer to a call, "" if nothing is."""
    good_folder(folder, call.config)
    if call.prepare is not None:
        call.prepare(folder)
    before = held(folder / "ledger.db")
    result = tocsin(*shlex.split(call.words))
    said = " ".join(result.output.split())
    if result.exit_code != call.code or call.phrase not in said or place not in said:
        return f"{call}: {result.exit_code}, {call.phrase!r} and {place!r} in {said!r}?"
    after = windows(folder / "ledger.db") if before is None else held(folder / "ledger.db")
    if "Traceback" in said or "hunter2" in said or (after or None) != before:
        return f"{call}: a traceback, a secret, or the ledger was touched: {said!r}"
    return ""


def calls(kind):
    """Yield the calls of a kind, and the place that each answer has to name."""
    yield from ((call, "") for call in CALLS.get(kind, ()))
    name, good, words = "alarms.yaml", GOOD, "run alarms.yaml --replay badges.jsonl"
    if kind == "cases":
        name, good, words = "cases.yaml", GOOD_CASES, "test cases.yaml"
    for old, new, place, phrase in EDITS.get(kind, ()):
        assert good.count(old) == 1, old
        text = good.replace(old, new).encode("utf-8", "surrogatepass")

        def edit(folder, text=text):
            (folder / name).write_bytes(text)

        yield Call(words, " ".join(phrase.split()), prepare=edit), place and f"{name}:{place}: "


@pytest.mark.parametrize("kind", [*EDITS, *CALLS])
def test_a_bad_input_is_answered_with_its_remedy(kind, folder):
    """Exit code, file, line and column, what to write instead; a ledger stays as it was."""
    wrong = []
    for number, (call, place) in enumerate(calls(kind)):
        own = folder / str(number)
        own.mkdir()
        os.chdir(own)
        wrong += [told] if (told := answered(call, own, place)) else []
    assert not wrong, "\n".join(wrong)


def test_the_good_file_of_tests_passes(folder):
    """It leaves nothing behind."""
    good_folder(folder)
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
            config = GOOD.replace("127.0.0.1:9092", address)
            phrase = f"Kafka is unreachable at {address}"
            assert answered(Call(words, phrase, 4, config=config), folder, "hint:") == ""


def test_the_process_ends_as_the_command_does(folder):
    """Through the real entry, one after the other: exit code, one sentence, no traceback."""
    good_folder(folder)
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
