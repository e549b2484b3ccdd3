"""Hundreds of bad inputs: exit code, place and remedy; no traceback, and nothing spent."""

from __future__ import annotations

import os
import shlex
import socket
import sqlite3
import struct
import sys
import threading
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from accountant.ledger.ledger import Ledger
from stream.kafka import reach
from tests.support.badinputs.databases import DATABASES
from tests.support.badinputs.files import FILES
from tests.support.badinputs.shapes import EDITS, GOOD, GOOD_CASES, good_folder
from tests.support.badinputs.words import WORDS
from tests.support.commands import tocsin
from tests.support.procs import ran
from tests.support.tree import ROOT

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.badinputs.shapes import Call, Edit

KINDS = [kind for kind in EDITS if kind != "cases"]
CALLS = {"words": WORDS, "files": FILES, "databases": DATABASES}
HANG_S = 120
"""A guard: what hangs is ended; what takes long on a busy machine is not."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder that the command works in, without patience for what is not there."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(reach, "PATIENCE_S", 0.0)
    monkeypatch.setattr(reach, "SILENCE_S", 0.3)
    defaults = Ledger.open.__func__.__kwdefaults__  # type: ignore[attr-defined]  # of the function
    monkeypatch.setitem(defaults, "connect_timeout_s", 0.0)
    return tmp_path


def held(path: Path) -> bytes | None:
    """Return what a ledger's file holds, ``None`` where there is no file."""
    return path.read_bytes() if path.is_file() else None


def windows(path: Path) -> int:
    """Return how many entries of a ledger are about windows, 0 where there is none."""
    if not path.is_file():
        return 0
    asked = "SELECT COUNT(*) FROM tocsin_entries WHERE kind IN ('admitted', 'answered', 'ended')"
    with closing(sqlite3.connect(path)) as connection:
        ((count,),) = connection.execute(asked)
    return int(count)


def answered(call: Call, folder: Path) -> str:
    """Return what is wrong with the answer to a call, "" if nothing is."""
    good_folder(folder, call.config)
    if call.prepare is not None:
        call.prepare(folder)
    before = held(folder / "ledger.db")
    result = tocsin(*shlex.split(call.words))
    said = " ".join(result.output.split())
    if result.exit_code != call.code or call.phrase not in said:
        return f"{call.words}: {result.exit_code}, not {call.code}; {call.phrase!r} in {said!r}?"
    after = windows(folder / "ledger.db") if before is None else held(folder / "ledger.db")
    if "Traceback" in said or (after or None) != before:
        return f"{call.words}: a traceback, or the ledger was touched: {said!r}"
    return ""


def refused(edit: Edit, good: str, file: Path, *words: str) -> str:
    """Return what is wrong with the answer to an edited file, "" if nothing is."""
    old, new, place, phrase = edit
    assert good.count(old) == 1, old
    file.write_bytes(good.replace(old, new).encode("utf-8", "surrogatepass"))
    result = tocsin(*words)
    said = " ".join(result.output.split())
    wanted = f"{file.name}:{place}: " if place else "", " ".join(phrase.split())
    if result.exit_code != 2 or not all(part in said for part in wanted):
        return f"{new!r}: {result.exit_code}, {wanted} in {said!r}?"
    if "Traceback" in said or (file.parent / "ledger.db").exists():
        return f"{new!r}: a traceback, or a ledger was made: {said!r}"
    return ""


@pytest.mark.parametrize("kind", KINDS)
def test_a_bad_configuration_is_refused_at_its_place(kind: str, folder: Path) -> None:
    """Exit code 2, file, line and column, what to write instead; no ledger comes to be."""
    good_folder(folder)
    call = (GOOD, folder / "alarms.yaml", "run", "alarms.yaml", "--replay", "badges.jsonl")
    wrong = [told for edit in EDITS[kind] if (told := refused(edit, *call))]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("kind", CALLS)
def test_a_bad_call_is_answered_with_its_remedy(kind: str, folder: Path) -> None:
    """Exit code and remedy; a ledger that is there stays as it was."""
    wrong = []
    for number, call in enumerate(CALLS[kind]):
        place = folder / str(number)
        place.mkdir()
        os.chdir(place)
        told = answered(call, place)
        wrong += [told] if told else []
    assert not wrong, "\n".join(wrong)


def test_a_bad_file_of_tests_is_refused_at_its_place(folder: Path) -> None:
    """Exit code 2, file, line and column, what to write instead; the good one passes."""
    good_folder(folder)
    file = folder / "cases.yaml"
    file.write_text(GOOD_CASES)
    before = sorted(folder.iterdir())
    tocsin("test", file, code=0)
    call = (GOOD_CASES, file, "test", "cases.yaml")
    wrong = [told for edit in EDITS["cases"] if (told := refused(edit, *call))]
    assert not wrong, "\n".join(wrong)
    assert sorted(folder.iterdir()) == before


def listener(code: int, stop: threading.Event) -> socket.socket:
    """Return a socket where a thread answers every SASL handshake with an error code of Kafka."""
    server = socket.create_server(("127.0.0.1", 0))
    server.settimeout(0.05)

    def serve() -> None:
        while not stop.is_set():
            try:
                wire, _ = server.accept()
            except (TimeoutError, OSError):
                continue
            with wire:
                wire.settimeout(0.3)
                try:
                    asked = wire.recv(1024)
                    answer = asked[8:12] + struct.pack(">hi", code, 1) + b"\x00\x05PLAIN"
                    if asked[4:6] == b"\x00\x11":
                        wire.sendall(struct.pack(">i", len(answer)) + answer)
                except OSError:
                    continue

    threading.Thread(target=serve, daemon=True).start()
    return server


_SASL = (
    "security: {security_protocol: SASL_PLAINTEXT, sasl_mechanism: MECHANISM, "
    "sasl_username: u, sasl_password: hunter2}"
)
_EVERY_CLIENT = (
    "topics check alarms.yaml",
    "watch alarms.yaml",
    "export alarms.yaml badges out.parquet",
)


def broker_refused(folder: Path, words: str, address: str, phrase: str, security: str = "") -> None:
    """Call a command against what is no broker, and check what it says."""
    extra = f", {security}" if security else ""
    good_folder(folder, GOOD.replace('"127.0.0.1:9092"', f'"{address}"{extra}'))
    result = tocsin(*words.split())
    said = " ".join(result.output.split())
    assert (result.exit_code, phrase in said) == (4, True), said
    assert "hint:" in said
    assert "hunter2" not in said
    assert held(folder / "ledger.db") is None


@pytest.mark.parametrize("words", _EVERY_CLIENT)
def test_what_is_no_broker_is_told_apart(folder: Path, words: str) -> None:
    """A closed port, an unknown host, a silent listener; what else answers: ``test_reach.py``."""
    broker_refused(folder, words, "127.0.0.1:1", "connection refused")
    broker_refused(folder, words, "no-such-host.invalid:9092", "host is not known")
    with closing(socket.create_server(("127.0.0.1", 0))) as silent:
        port = silent.getsockname()[1]
        broker_refused(folder, words, f"127.0.0.1:{port}", "no Kafka answer")


@pytest.mark.parametrize(
    ("code", "mechanism", "phrase"),
    [
        (34, "PLAIN", "the listener takes no SASL"),
        (33, "SCRAM-SHA-512", "sasl_mechanism is one of PLAIN"),
    ],
)
def test_another_protocol_is_named(folder: Path, code: int, mechanism: str, phrase: str) -> None:
    """SASL that a listener does not take is no broker that does not answer."""
    stop = threading.Event()
    with closing(listener(code, stop)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
        security = _SASL.replace("MECHANISM", mechanism)
        broker_refused(folder, "topics check alarms.yaml", address, phrase, security)
        stop.set()


def test_the_process_ends_as_the_command_does(folder: Path) -> None:
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
