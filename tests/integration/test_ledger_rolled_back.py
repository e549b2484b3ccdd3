"""A ledger that lost what it knew is refused until it is charged; how it is copied and put back."""

from __future__ import annotations

import fcntl
import json
import sys
import threading
from contextlib import closing
from itertools import islice
from pathlib import Path
from shutil import copyfile

import pytest

from accountant.errors import DependencyError, LedgerError, LedgerRolledBackError
from accountant.store.store import Store
from stream.build import assemble, open_ledger
from stream.config.loading import load
from stream.replay.replay import Replay
from tests.support.commands import configuration, events, json_lines, tocsin
from tests.support.files import edit
from tests.support.processes import Command
from tests.support.procs import ran
from tests.support.tree import ROOT
from tests.support.waiting import PATIENCE_S

WINDOWS = 48


def _configured(folder):
    """Return a configuration of many windows on one budget."""
    folder.mkdir(exist_ok=True)
    path = Path(configuration(folder, unit="user", epsilon_max="400"))
    edit(path, "'1' HOUR", "'30' MINUTE")
    return path


def _ledger(folder, suffix=""):
    return folder / ".tocsin" / f"alarms.db{suffix}"


def _replay(path, *, last=WINDOWS):
    """Decide windows in this process until so many have left.

    At every decision that is handed out, the file on the disk has the ledger's heads.
    """
    alarms = load(path, environ={})
    with open_ledger(alarms) as ledger:
        running = Replay(alarms, ledger, {"badges": [Path(events(path.parent))]}).run()
        for decision in islice(running, last):
            noted = _ledger(path.parent, ".heads").read_text().splitlines()
            assert ledger.decision(decision.key) is not None
            assert [ledger.ledger_id, ledger.heads.now()] in [json.loads(line) for line in noted]
        running.close()


def _run(path, code=0):
    return tocsin("run", path, "--replay", events(path.parent), "--json", code=code)


def _spent(path):
    budgets = json_lines(tocsin("ledger", path, "status", "--json"))
    return sum(float(line["spent"]) for line in budgets if line["record"] == "budget")


def _decisions(text):
    """Return the decisions among printed records, by the start of their window."""
    records = [json.loads(line) for line in text.splitlines()]
    return {one["window_start"]: one for one in records if "outcome" in one}


_LOST = ("fingerprint", "alarms_digest")
"""Fields of a decision that are empty once it was taken over from what was published."""


def _assert_put_right(path, saved, *command):
    """Charge what was published, and see that no window of it is drawn again."""
    known = _decisions(saved.read_text())
    charged = tocsin("ledger", path, *command, "--published", saved, code=0)
    assert f"of {len(known)} compared" in charged.stdout
    assert _spent(path) > 0.999 * sum(float(one["epsilon"]) for one in known.values())
    shown = _decisions(_run(path).stdout)
    for start in known.keys() & shown.keys():  # shown again: configuration and alarms may be lost
        told = {field: shown[start][field] or known[start][field] for field in _LOST}
        assert {**shown[start], **told} == known[start]
    assert len(known.keys() | shown.keys()) == WINDOWS
    assert tocsin("ledger", path, "verify").stdout.startswith("ok\n")


def _killed(path):
    """Replay in a process that is killed in the middle; return what it had printed."""
    command = ("run", path, "--replay", events(path.parent), "--json")
    running = Command.start(path.parent / "errors", *command)
    # A pipe that holds some decisions and not all of them.
    fcntl.fcntl(running.process.stdout, fcntl.F_SETPIPE_SZ, 4096)
    lines = [running.process.stdout.readline() for _ in range(WINDOWS // 2)]
    running.process.kill()
    return b"".join([*lines, running.process.communicate()[0]]).decode()


def _without_its_wal(folder):
    assert _ledger(folder, "-wal").stat().st_size > 0
    for suffix in ("-wal", "-shm"):
        _ledger(folder, suffix).unlink()


def _gone(folder):
    _without_its_wal(folder)
    _ledger(folder).unlink()


@pytest.mark.parametrize("lose", [_without_its_wal, _gone])
def test_a_ledger_that_forgot_is_refused_until_it_is_charged(tmp_path, lose):
    """Killed by signal 9, and what it wrote is lost: nothing is registered, the way out is said.

    Other commands open it. An older copy in its place is what ``test_restore_drill`` has.
    """
    path = _configured(tmp_path)
    saved = tmp_path / "saved.jsonl"
    saved.write_text(_killed(path))
    assert WINDOWS // 4 < len(_decisions(saved.read_text())) < WINDOWS
    lose(tmp_path)

    refused = _run(path, 2)
    assert refused.stdout == ""
    assert "`tocsin ledger FILE take-ownership --replay" in refused.stderr
    assert tocsin("ledger", path, "verify", code=2).stdout == ""
    for command in (("status",), ("export",), ("backup", str(tmp_path / "another.db"))):
        tocsin("ledger", path, *command, code=0)
    alarms = load(path, environ={})
    with open_ledger(alarms) as ledger:  # by the same door a worker would start
        with pytest.raises(LedgerRolledBackError, match="heads of ledger"):
            assemble(alarms, ledger, identities={}, first_start_ms={"crowd": 0})
        assert (ledger.pins.budgets(), ledger.pins.queries()) == ([], [])
    _assert_put_right(path, saved, "take-ownership", "--yes", "--replay", events(tmp_path))


def test_a_copy_made_while_a_writer_runs_is_whole(tmp_path):
    """It verifies with its own checkpoint, and nobody else may read it."""
    path = _configured(tmp_path / "live")
    alarms, begun, copied = load(path, environ={}), threading.Event(), threading.Event()

    def write():
        files = {"badges": [Path(events(tmp_path))]}
        with open_ledger(alarms) as ledger:
            for number, _ in enumerate(Replay(alarms, ledger, files).run()):
                if number == WINDOWS // 8:
                    begun.set()
                if number == WINDOWS - 8:
                    copied.wait(PATIENCE_S)

    writer = threading.Thread(target=write)
    writer.start()
    assert begun.wait(PATIENCE_S)
    copy = tmp_path / "copies" / "one.db"
    copy.parent.mkdir()
    told = tocsin("ledger", path, "backup", copy)
    copied.set()
    writer.join()
    assert told.exit_code == 0, told.output
    first, checkpoint = told.stdout.splitlines()
    assert first == f"copied to {copy}"
    assert [one.name for one in copy.parent.iterdir()] == ["one.db"]
    assert copy.stat().st_mode & 0o077 == 0

    restored = _configured(tmp_path / "restored")
    _ledger(restored.parent).parent.mkdir()
    copyfile(copy, _ledger(restored.parent))
    noted = checkpoint.removeprefix("checkpoint ")
    tocsin("ledger", restored, "verify", "--checkpoint", noted, code=0)
    with open_ledger(load(restored, environ={})) as ledger:
        assert WINDOWS // 8 <= ledger.reports.status().queries["crowd"].decided < WINDOWS


@pytest.mark.parametrize("place", ["taken", "nowhere/copy.db", "file/copy.db"])
def test_a_place_that_cannot_hold_a_copy_is_refused(tmp_path, place):
    """What is there is never overwritten, and a missing directory is said."""
    (tmp_path / "taken").write_text("mine")
    (tmp_path / "file").touch()
    before = set(tmp_path.iterdir())
    error = LedgerError if place == "taken" else DependencyError
    store = Store.open(f"sqlite:///{tmp_path}/ledger.db", connect_timeout_s=1)
    with closing(store), pytest.raises(error, match=r"copied|taken") as caught:
        store.backup(tmp_path / place)
    assert caught.value.hint
    assert (tmp_path / "taken").read_text() == "mine"
    assert {one for one in tmp_path.iterdir() if "ledger.db" not in one.name} == before


def test_what_a_cut_off_copy_left_is_written_over(tmp_path):
    """A copy that was killed leaves a part under another name; the next one begins anew."""
    (tmp_path / ".copy.db.part").write_bytes(b"x" * 4096)
    with closing(Store.open(f"sqlite:///{tmp_path}/ledger.db", connect_timeout_s=1)) as store:
        store.backup(tmp_path / "copy.db")
    assert not (tmp_path / ".copy.db.part").exists()
    assert (tmp_path / "copy.db").read_bytes().startswith(b"SQLite format 3")


@pytest.mark.integration
def test_postgresql_is_copied_by_its_own_tools(postgres, tmp_path):
    """Which the error names; ``test_restore_drill`` runs them beside a worker."""
    store = Store.open(postgres.new_database(), connect_timeout_s=1)
    with closing(store), pytest.raises(LedgerError, match="PostgreSQL") as caught:
        store.backup(tmp_path / "ledger.dump")
    assert "pg_dump --format=custom" in caught.value.hint


def test_a_ledger_of_an_older_version_has_its_heads_noted(tmp_path):
    """It starts without the file, and writes it: from then on it cannot go back."""
    path = _configured(tmp_path)
    _replay(path, last=5)
    _ledger(tmp_path, ".heads").unlink()
    tocsin("ledger", path, "backup", tmp_path / "older.db")
    _replay(path, last=20)
    assert _ledger(tmp_path, ".heads").stat().st_mode & 0o077 == 0
    copyfile(tmp_path / "older.db", _ledger(tmp_path))
    assert "more was appended than this ledger has" in _run(path, 2).stderr


@pytest.mark.parametrize("text", ["", "nonsense\n", '{"outcome": "decided"}\n'])
def test_what_shows_no_decision_is_refused(tmp_path, text):
    """Or a wrong file would put a ledger right that lacks everything."""
    path = _configured(tmp_path)
    _replay(path, last=3)
    _ledger(tmp_path).unlink()
    saved = tmp_path / "saved.jsonl"
    saved.write_text(text)
    told = tocsin("ledger", path, "reconcile", "--published", saved, code=2)
    assert "saved.jsonl" in told.stderr
    _run(path, 2)


_MOUNTED = """
mount -t tmpfs none "$1" && touch "$1/ledger.db" && mount --bind "$1/ledger.db" "$2" && shift 2
exec "$@"
"""


def test_a_ledger_that_is_mounted_as_one_file_is_refused(tmp_path):
    """Its ``-wal`` and its heads would lie in the container and be lost with it."""
    if ran("unshare", "--mount", "true", code=None).returncode:
        pytest.skip("needs the right to mount")
    path = _configured(tmp_path)
    apart = tmp_path / "apart"
    for folder in (apart, _ledger(tmp_path).parent):
        folder.mkdir()
    _ledger(tmp_path).touch()
    told = ran(
        *("unshare", "--mount", "sh", "-c", _MOUNTED, "sh", apart, _ledger(tmp_path)),
        *(sys.executable, "-m", "stream.cli.entry", "run", path, "--replay", events(tmp_path)),
        code=None,
        cwd=ROOT,
    )
    assert (told.returncode, told.stdout) == (2, ""), told.stderr
    where = f"the ledger {_ledger(tmp_path)} is mounted as a single file"
    assert f"{where}, so its -wal and .heads files are lost with the container" in told.stderr
    assert "hint: mount its folder" in told.stderr
