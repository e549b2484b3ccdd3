"""A process that has read more of the log than the ledger has now never asks it again."""

from __future__ import annotations

import shutil

import pytest

from accountant.errors import LedgerRolledBackError
from accountant.ledger import door
from accountant.records import Answer
from tests.support.ledgers import EVENT, Series, admit, open_ledger, set_up, settle

DATABASES = ["sqlite"]


@pytest.mark.parametrize("goes_on", [False, True])
def test_a_copy_put_back_under_a_process_is_refused(tmp_path, monkeypatch, goes_on):
    """The process has read what the copy lacks: it grants nothing, however often it is asked."""
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
        if goes_on:  # another entry stands under the number that was read last
            with open_ledger(f"sqlite:///{path}") as copy:
                settle(copy, a, 0, units=0)
                admit(copy, 30, a)
                admit(copy, 40, a)
                assert copy._door._state.head.number == ledger._door._state.head.number
        for _ in range(2):
            with pytest.raises(LedgerRolledBackError, match="another copy was put in its place"):
                ledger.answer(a.key(1))
            with pytest.raises(LedgerRolledBackError):
                admit(ledger, 30, a)
        # Broken twin: reads whatever is there anew, as if this process had known nothing.
        monkeypatch.setattr(door, "_goes_on", lambda *_: False)
        admit(ledger, 30, a)
