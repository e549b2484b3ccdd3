"""Realised losses per cell: against adding up by hand, over restarts, changes and archives."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from msgspec import structs

from accountant.audit import realised
from accountant.costs.levels import LevelCosts
from accountant.costs.minentropy import min_entropy
from accountant.errors import LedgerError
from accountant.log.entries import decode, encode, window_name
from accountant.records import Answer
from accountant.regions.shapes import Shape
from accountant.store.tables import ENTRIES
from accountant.units import UNITS_PER_EPSILON
from tests.support.archived import move_all
from tests.support.ledgers import (
    CELLS,
    EVENT,
    USER,
    Series,
    deny,
    each_unit,
    open_ledger,
    registration,
    set_up,
    settle,
)

if TYPE_CHECKING:
    from accountant.ledger.ledger import Ledger

MOST, WORST = 100, UNITS_PER_EPSILON
DAY = 100


@pytest.fixture
def file(tmp_path):
    """URL of a ledger that does not exist yet."""
    return f"sqlite:///{tmp_path}/ledger.db"


@pytest.fixture
def ledger(file):
    """A ledger without a budget."""
    with open_ledger(file) as opened:
        yield opened


@dataclass
class Life:
    """One query's windows, decided in turn, with everything they cost noted beside the ledger."""

    ledger: Ledger
    series: Series
    next: int = 0
    costs: dict[int, tuple[int, ...]] = field(default_factory=dict)

    def reserve(self):
        """Ask for the next window."""
        self.ledger.admit("s", [self.series.request(self.next)])
        key, self.next = self.series.key(self.next), self.next + 1
        assert self.ledger.answer(key) is Answer.RESERVED
        return key

    def settle(self, *units):
        """Decide the next window at so many loss units per cell, or at the same for all."""
        key, alike = self.reserve(), len(units) == 1
        cells = None if alike else units
        settle(self.ledger, self.series, self.next - 1, units=units[0], cells=cells)
        self.ledger.mark_published(key)
        self.costs[self.next - 1] = units * CELLS if alike else units

    def deny(self):
        """Deny the next window, reserved as it is."""
        key = self.reserve()
        deny(self.ledger, self.series, self.next - 1)
        self.ledger.mark_published(key)

    def realised(self, period=None, cells=CELLS):
        """Ask the ledger."""
        return self.ledger.reports.realised(self.series.query, period, cells=cells)

    def periods(self, index):
        """Return the periods that a window touches."""
        return self.series.request(index).charge.periods

    def check(self, *, past=True):
        """Compare the ledger's answer with adding up by hand, for every period or the latest."""
        start_ms = self.series.key(max(self.costs)).start_ms
        every = sorted({period for index in self.costs for period in self.periods(index)})
        for asked in (None, *(every if past else ())):
            period = every[-1] if every and asked is None else asked
            costs = [
                cost
                for index, cost in self.costs.items()
                if (period in self.periods(index) if every else start_ms < self.end_ms(index))
            ]
            found, total = self.realised(asked), np.sum(costs, axis=0)
            assert found.costs.tolist() == total.tolist()
            assert (found.period, found.instant_ms) == (period, None if every else start_ms)
            assert (found.windows, found.complete) == (len(costs), True)
            assert found.worst_units == max(total)
            assert found.min_entropy == min_entropy((total / UNITS_PER_EPSILON).tolist())

    def end_ms(self, index):
        """Return where a window ends."""
        return self.series.key(index).end_ms


def lived(ledger, unit=USER, *costs, **of):
    """Return a life whose first windows were settled so."""
    kind = {"period": DAY, "cells_per_unit": 2} if unit is USER else {}
    life = Life(ledger, Series(**{"query": "q", "units": WORST, **kind, **of}))
    set_up(ledger, unit, 10**6 * WORST, [life.series])
    for each in costs:
        life.settle(*each)
    return life


RISING = (1, 2, 3, 4)


@pytest.mark.long
@each_unit
@pytest.mark.parametrize(("size", "step"), [(10, 10), (40, 10), (30, 20), (250, 50)])
def test_sums_are_those_of_adding_up_by_hand(ledger, file, unit, size, step):
    """Uniform, mixed and denied windows over several periods, read now and then and afterwards."""
    rng = np.random.default_rng([size, step])
    life = lived(ledger, unit, size=size, step=step)
    other = lived(ledger, unit, query="r", size=size, step=step)
    for _ in range(20):
        match rng.integers(4):
            case 0:
                life.settle(int(rng.integers(MOST)))
            case 1:
                life.deny()
            case _:
                life.settle(*map(int, rng.integers(rng.integers(1, 5), size=CELLS)))
        other.settle(MOST)
        if life.costs and rng.integers(2) == 0:
            life.check(past=False)
    life.check()
    with open_ledger(file) as again:
        replace(life, ledger=again).check()


def test_a_window_is_unpacked_once(ledger, monkeypatch):
    """Later readings unpack what is new, and change nothing of what was read before."""
    unpacked = []
    decode = LevelCosts.decode
    monkeypatch.setattr(LevelCosts, "decode", lambda text: unpacked.append(text) or decode(text))
    life = lived(ledger, USER, *[RISING] * 4)
    first = life.realised()
    life.settle(*RISING)
    life.settle(7)
    assert [life.realised().worst_units for _ in range(2)] == [27, 27]
    assert len(unpacked) == 5
    assert first.costs.tolist() == [4, 8, 12, 16]
    with pytest.raises(ValueError, match="read-only"):
        first.costs[0] = 0


def test_one_reading_unpacks_a_bounded_number(ledger, monkeypatch):
    """More cells than one reading takes are left for the next ones, and it says so."""
    life = lived(ledger, USER, *[RISING] * 5)
    monkeypatch.setattr(realised, "MOST_CELLS_READ", 2 * CELLS + 1)
    seen = [(found.windows, found.complete) for found in (life.realised() for _ in range(3))]
    assert seen == [(2, False), (4, False), (5, True)]
    monkeypatch.setattr(realised, "MOST_CELLS_READ", 1)
    life.settle(*RISING)
    assert (life.realised().windows, life.realised().complete) == (6, True)


def test_a_window_gone_while_it_waited_is_missed(ledger, monkeypatch):
    """An archive between two readings takes what was put down to be unpacked."""
    life = lived(ledger, USER, *[RISING] * 5)
    monkeypatch.setattr(realised, "MOST_CELLS_READ", 1)
    assert life.realised().windows == 1
    assert move_all(ledger, 40) > 4
    for _ in range(4):
        found = life.realised()
    assert (found.windows, found.complete) == (2, False)


def changed(life, fingerprint, grouping, *units):
    """Go on under another configuration, with a window that costs so much."""
    life.series = replace(life.series, fingerprint=fingerprint, shape=Shape(grouping=grouping))
    start_ms = life.series.key(life.next).start_ms
    life.ledger.pins.accept_change(registration(life.series), start_ms)
    life.settle(*units)


def test_other_cells_cost_every_cell_the_dearest(ledger, monkeypatch):
    """After a change of the cells nobody knows whose loss it was; nobody's is understated."""
    life = lived(ledger, USER, RISING, (10,))
    monkeypatch.setattr("tests.support.ledgers.CELLS", 3)
    changed(life, "f2", "", 100, 0, 0)
    found = life.realised(cells=3)
    assert (found.costs.tolist(), found.windows, found.complete) == ([114, 14, 14], 3, True)


def test_the_same_cells_stay_apart_over_a_change(ledger):
    """A change that keeps the grouping keeps what each cell has lost."""
    life = lived(ledger, USER, RISING, shape=Shape(grouping="room"))
    changed(life, "f2", "room", 1, 1, 1, 2)
    assert life.realised().costs.tolist() == [2, 3, 4, 6]
    changed(life, "f3", "floor", 0)
    assert life.realised().costs.tolist() == [6] * CELLS


@pytest.mark.parametrize("few", [1, 2, 5])
@pytest.mark.parametrize("room", [realised.MOST_CELLS_READ, 1])
def test_the_dearest_few_windows_of_each_cell_are_added(ledger, few, room, monkeypatch):
    """Against adding up by hand; where there is no room to tell them apart, all are added."""
    costs = np.random.default_rng(few).integers(0, 50, size=(8, CELLS))
    costs[3] = 40  # uniform, as a window is stored whose cells cost the same
    monkeypatch.setattr(realised, "MOST_CELLS_READ", room)
    each = [(40,) if at == 3 else tuple(cost) for at, cost in enumerate(costs.tolist())]
    life = lived(ledger, USER, *each, windows=few)
    found = life.realised()
    while not found.complete:
        found = life.realised()
    dearest = np.sort(costs, axis=0)[-few if room > 1 else 0 :].sum(axis=0)
    assert found.costs.tolist() == dearest.tolist()
    assert found.windows == len(costs)


def test_bad_questions_are_refused(ledger):
    """An unknown query, a period where there is none, an impossible number of cells."""
    life = lived(ledger, EVENT)
    with pytest.raises(LedgerError, match="'nobody' is not registered"):
        ledger.reports.realised("nobody", cells=1)
    with pytest.raises(ValueError, match="no periods"):
        life.realised(0)
    for cells in (0, -1, 2**24 + 1):
        with pytest.raises(ValueError, match="cells"):
            life.realised(cells=cells)


def test_damaged_costs_name_their_window_and_nothing_is_counted_twice(ledger):
    """The error says which window and what to do; once it is repaired the sum is right."""
    life = lived(ledger, USER, RISING)
    assert life.realised().worst_units == 4
    life.settle(7)
    life.settle(*RISING)
    (row,) = (one for one in ledger.reports.entries() if one.key == window_name("q", 20))
    damaged = encode(structs.replace(decode(row.kind, row.payload), costs=b"damaged"))
    store(ledger, row._replace(payload=damaged))
    said = "window of alarm 'q' from 20 ms to 30 ms: stored costs are damaged"
    for _ in range(2):
        with pytest.raises(LedgerError, match=said) as caught:
            life.realised()
        assert "verify" in str(caught.value)
    store(ledger, row)
    life.check()


def store(ledger, row):
    """Change an entry behind the ledger's back."""
    with ledger._store.write() as tx:
        change = ENTRIES.update().where(ENTRIES.c.seq == row.seq).values(payload=row.payload)
        tx.connection.execute(change)
