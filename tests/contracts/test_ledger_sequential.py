"""A ledger agrees with a sequential accountant, written from the page on accounting."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING

import pytest

from accountant.errors import LedgerError
from accountant.ledger.upkeep import Upkeep
from accountant.units import PrivacyUnit
from tests.support.ledgers import each_unit
from tests.support.sequential import History

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from accountant.records import SeenDecision

    Twin = Callable[[Sequence[SeenDecision]], list[SeenDecision]]

HISTORIES = 20  # of each unit; `make histories` plays 500
WINDOWS = 10
FOR_A_TWIN = 30


def live(folder, unit, number):
    """Live through one history, in a folder of its own."""
    home = folder / f"{unit}-{number}"
    home.mkdir()
    history = History(home, Random(f"{unit} {number}"), unit)
    history.run(WINDOWS)
    return history.happened


@pytest.mark.long
@each_unit
def test_every_answer_and_every_sum_is_the_accountants(tmp_path, unit, pytestconfig):
    """Whatever is restarted, copied, put back, archived or renamed, both say the same."""
    happened = Counter()
    for number in range(500 if pytestconfig.getoption("--full") else HISTORIES):
        happened += live(tmp_path, unit, number)
    wanted = {"restart", "copy", "restore", "archive", "rename", "reserved", "refused"}
    assert wanted | {"clock: on", "clock: a little back", "clock: far back"} <= set(happened)
    assert min(happened.values()) > 1


def forgets_one(seen):
    """Broken twin: does not charge what was published last."""
    return list(seen[:-1])


def halves(seen):
    """Broken twin: charges half of what was stated."""
    return [replace(one, epsilon_units=one.epsilon_units // 2) for one in seen]


@pytest.mark.parametrize(
    ("twin", "unit"),
    [*((forgets_one, unit) for unit in PrivacyUnit), *((halves, unit) for unit in PrivacyUnit)],
)
def test_a_ledger_that_charges_less_after_a_restore_is_found(tmp_path, monkeypatch, twin, unit):
    """The same comparison finds it: other sums, or a window that the ledger is not at."""
    own = Upkeep.reconcile
    monkeypatch.setattr(Upkeep, "reconcile", lambda self, seen: own(self, twin(seen)))

    def live_many():
        for number in range(FOR_A_TWIN):
            live(tmp_path, unit, number)

    with pytest.raises((AssertionError, LedgerError)):
        live_many()
