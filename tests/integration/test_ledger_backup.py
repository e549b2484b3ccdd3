"""Backup and restore as ``docs/how-to/back-up-and-restore.md`` has them, while a writer goes on."""

from __future__ import annotations

import threading
from pathlib import Path
from shutil import copyfile
from typing import TYPE_CHECKING

import pytest

from accountant.errors import DependencyError, LedgerError
from accountant.store.store import Store
from stream.build import open_ledger
from stream.config.loading import load
from stream.decisions.records import decode_decision, encode
from stream.decisions.release import decision_record, seen_decision
from stream.replay.replay import Replay
from tests.support.commands import configuration, events, json_lines, tocsin
from tests.support.ledgers import must_verify
from tests.support.waiting import PATIENCE_S

if TYPE_CHECKING:
    from accountant.records import SeenDecision, StoredDecision
    from stream.model.alarms import Alarms
    from tests.support.postgres import Postgres

WINDOWS = 96


def configured(folder: Path) -> str:
    """Return a configuration of many windows."""
    folder.mkdir()
    path = Path(configuration(folder, unit="user", epsilon_max="400"))
    text = path.read_text().replace("'1' HOUR", "'15' MINUTE")
    path.write_text(text)
    return str(path)


def checkpoint_of(path: str) -> str:
    """Return the checkpoint to note, as ``verify --checkpoint`` takes it."""
    lines = tocsin("ledger", path, "verify").stdout.splitlines()
    assert lines[0] == "ok", lines
    return lines[1].removeprefix("checkpoint ")


def spent(path: str) -> float:
    """Return what the one budget has spent."""
    lines = json_lines(tocsin("ledger", path, "status", "--json"))
    (budget,) = (line for line in lines if line["record"] == "budget")
    return float(budget["spent"])


def published(alarms: Alarms, decisions: list[StoredDecision]) -> list[SeenDecision]:
    """Return decisions as they are read back from the decisions topic."""
    query = alarms.by_name["crowd"]
    records = [encode(decision_record(query, alarms, one)) for one in decisions]
    return [seen_decision(decode_decision(record)) for record in records]


def test_a_copy_made_while_a_writer_runs_is_restored(tmp_path: Path) -> None:
    """The copy verifies with its own checkpoint, not with a later one; the gap is adopted."""
    path = configured(tmp_path / "live")
    alarms = load(Path(path), environ={})
    released: list[StoredDecision] = []
    some, copied = threading.Event(), threading.Event()

    def write() -> None:
        with open_ledger(alarms) as ledger:
            for decision in Replay(alarms, ledger, {"badges": [Path(events(tmp_path))]}).run():
                released.append(decision)
                if len(released) == WINDOWS // 8:
                    some.set()
                if len(released) == WINDOWS - 8:
                    copied.wait(PATIENCE_S)

    writer = threading.Thread(target=write)
    writer.start()
    assert some.wait(PATIENCE_S)
    copy = tmp_path / "copies" / "one.db"
    copy.parent.mkdir()
    told = tocsin("ledger", path, "backup", copy)
    copied.set()
    writer.join()
    assert told.exit_code == 0, told.output
    assert len(released) == WINDOWS
    first, checkpoint = told.stdout.splitlines()
    assert first == f"copied to {copy}"
    assert [one.name for one in copy.parent.iterdir()] == ["one.db"]
    assert copy.stat().st_mode & 0o077 == 0

    restored = configured(tmp_path / "restored")
    (tmp_path / "restored" / ".tocsin").mkdir()
    copyfile(copy, tmp_path / "restored" / ".tocsin" / "alarms.db")
    noted = checkpoint.removeprefix("checkpoint ")
    tocsin("ledger", restored, "verify", "--checkpoint", noted, code=0)
    older = tocsin("ledger", restored, "verify", "--checkpoint", checkpoint_of(path))
    assert (older.exit_code, older.stdout) == (2, "")
    assert "the log is shorter" in older.stderr

    again = load(Path(restored), environ={})
    seen = published(again, released)
    with open_ledger(again) as ledger:
        held = ledger.reports.status().queries["crowd"]
        assert WINDOWS // 8 <= held.decided < WINDOWS
        lost = ledger.upkeep.unknown_decisions(seen)
        assert lost == seen[held.decided :]
        assert ledger.upkeep.reconcile(seen) == len(lost)
        assert ledger.upkeep.unknown_decisions(seen) == []
        must_verify(ledger)
    assert spent(restored) >= spent(path)
    tocsin("ledger", restored, "verify", "--checkpoint", noted, code=0)
    shown = tocsin("run", restored, "--replay", events(tmp_path))
    assert "0 decided now" in " ".join(shown.stdout.split())


@pytest.mark.parametrize("place", ["taken", "nowhere/copy.db", "file/copy.db"])
def test_a_place_that_cannot_hold_a_copy_is_refused(tmp_path: Path, place: str) -> None:
    """What is there is never overwritten, and a missing directory is said."""
    (tmp_path / "taken").write_text("mine")
    (tmp_path / "file").touch()
    before = sorted(tmp_path.iterdir())
    store = Store.open(f"sqlite:///{tmp_path}/ledger.db", connect_timeout_s=1)
    error = LedgerError if place == "taken" else DependencyError
    with pytest.raises(error, match=r"copied|taken") as caught:
        store.backup(tmp_path / place)
    store.close()
    assert caught.value.hint
    assert (tmp_path / "taken").read_text() == "mine"
    assert {one for one in tmp_path.iterdir() if "ledger.db" not in one.name} == set(before)


def test_what_a_cut_off_copy_left_is_written_over(tmp_path: Path) -> None:
    """A copy that was killed leaves a part under another name; the next one begins anew."""
    (tmp_path / ".copy.db.part").write_bytes(b"x" * 4096)
    store = Store.open(f"sqlite:///{tmp_path}/ledger.db", connect_timeout_s=1)
    store.backup(tmp_path / "copy.db")
    store.close()
    assert not (tmp_path / ".copy.db.part").exists()
    assert (tmp_path / "copy.db").read_bytes().startswith(b"SQLite format 3")


@pytest.mark.integration
def test_postgresql_is_copied_by_its_own_tools(postgres: Postgres, tmp_path: Path) -> None:
    """Which the error names; ``test_restore_drill`` runs them beside a worker."""
    store = Store.open(postgres.new_database(), connect_timeout_s=1)
    with pytest.raises(LedgerError, match="PostgreSQL") as caught:
        store.backup(tmp_path / "ledger.dump")
    store.close()
    assert "pg_dump --format=custom" in caught.value.hint
