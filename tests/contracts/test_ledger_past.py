"""What a process remembers of the log is what the database holds, or it is not used."""

from __future__ import annotations

import shutil

import pytest

from accountant.errors import LedgerError
from accountant.ledger import door
from accountant.records import Answer
from tests.support.ledgers import EVENT, Series, admit, open_ledger, set_up, settle

DATABASES = ["sqlite"]


def restored(tmp_path):
    """Decide on a ledger, put an older copy back under the running process, decide otherwise.

    Returns:
        What a window is answered beside one that only the lost timeline paid for.
    """
    a = Series("a", size=20, units=4)
    path, backup = tmp_path / "ledger.db", tmp_path / "backup.db"
    with open_ledger(f"sqlite:///{path}") as ledger:
        set_up(ledger, EVENT, 4, [a])
        admit(ledger, 20, a)
        ledger._store.close()
        shutil.copy(path, backup)
        settle(ledger, a, 0)
        admit(ledger, 30, a)
        assert ledger.answer(a.key(1)) is Answer.REFUSED
        ledger._store.close()
        shutil.copy(backup, path)
        settle(ledger, a, 0, units=0)
        admit(ledger, 30, a)
        return ledger.answer(a.key(1))


def test_a_copy_that_was_put_back_is_read_anew(tmp_path, monkeypatch):
    """Its log has another entry under the number that was remembered."""
    assert restored(tmp_path) is Answer.RESERVED
    # Broken twin: takes every chain for the one that was read.
    (tmp_path / "twin").mkdir()
    monkeypatch.setattr(door, "_goes_on", lambda *_: True)
    with pytest.raises(LedgerError):
        restored(tmp_path / "twin")
