"""What stopped a worker outlives it, and writing it down never holds up its end."""

from __future__ import annotations

from threading import Event
from types import SimpleNamespace

import pytest

from accountant.errors import ClockError, DependencyError
from accountant.ledger.journal import START, Happened
from accountant.ledger.ledger import Ledger
from stream.kafka import refusals
from stream.kafka.refusals import note, noting_refusals


def _opened(path, now_ms):
    return Ledger.open(f"sqlite:///{path}/ledger.db", clock_ms=lambda: now_ms, entropy=bytes)


def test_starts_and_refusals_outlive_their_process(tmp_path):
    """Each kind with its number and its last time, also when the clock went back."""
    for now_ms in (9_000_000, 5_000):
        with _opened(tmp_path, now_ms) as ledger:
            note(ledger, START)
            with pytest.raises(ClockError), noting_refusals(ledger):
                raise ClockError("the clock went back")
    with _opened(tmp_path, 1) as ledger:
        expected = {START: Happened(2, 5_000), "ClockError": Happened(2, 5_000)}
        assert ledger.journal.entries() == expected
        assert list(ledger.reports.verify()) == []


def test_what_is_not_ours_is_noted_as_unexpected(tmp_path):
    """Its text may quote an event: nothing of it is kept, and it goes on as it is."""
    with _opened(tmp_path, 1_000) as ledger:
        with pytest.raises(KeyError, match="private"), noting_refusals(ledger):
            raise KeyError("private")
        assert ledger.journal.entries() == {"unexpected": Happened(1, 1_000)}
        with pytest.raises(KeyboardInterrupt), noting_refusals(ledger):
            raise KeyboardInterrupt
        assert set(ledger.journal.entries()) == {"unexpected"}


def test_a_ledger_that_is_away_or_hangs_holds_up_nothing(monkeypatch):
    """The error that stopped the worker goes on, without waiting for a database that hangs."""
    hangs = Event()

    def away(_):
        raise DependencyError("away")

    def hang(_):
        hangs.wait()

    monkeypatch.setattr(refusals, "_PATIENCE_S", 0.05)
    for write in (away, hang):
        ledger = SimpleNamespace(journal=SimpleNamespace(note=write))
        with pytest.raises(ClockError), noting_refusals(ledger):
            raise ClockError("the clock went back")
    hangs.set()
