"""Realised losses per cell: against adding up by hand, over restarts, changes and archives."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from msgspec import structs

from accountant.audit import realised
from accountant.costs.charges import Charge, UniformCost, WindowKey
from accountant.costs.levels import LevelCosts
from accountant.costs.minentropy import min_entropy
from accountant.errors import LedgerError
from accountant.ledger.ledger import Ledger
from accountant.log.entries import Ended, decode, encode, window_name
from accountant.records import (
    Answer,
    BudgetTerms,
    Outcome,
    QueryRegistration,
    Request,
    SeenDecision,
)
from accountant.regions.shapes import ANYWHERE, Shape
from accountant.store.tables import ENTRIES
from accountant.units import UNITS_PER_EPSILON, PrivacyUnit
from tests.support.archived import move_all

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from numpy.typing import NDArray

CELLS = 5
MOST = 100
DAY = 100


@pytest.fixture
def file(tmp_path: Path) -> str:
    """URL of a ledger that does not exist yet."""
    return f"sqlite:///{tmp_path}/ledger.db"


@pytest.fixture
def ledger(file: str) -> Iterator[Ledger]:
    """A ledger without a budget."""
    with _open(file) as opened:
        yield opened


def _open(url: str) -> Ledger:
    return Ledger.open(url, clock_ms=lambda: 10**6, entropy=os.urandom)


@dataclass
class _Life:
    """One query's windows, decided in turn, with everything they cost noted beside the ledger."""

    ledger: Ledger
    unit: PrivacyUnit
    query: str = "q"
    size: int = 10
    step: int = 10
    cells: int = CELLS
    fingerprint: str = "f1"
    shape: Shape = ANYWHERE
    next: int = 0
    costs: list[tuple[WindowKey, NDArray[np.int64]]] = field(default_factory=list)

    def __post_init__(self) -> None:
        wall = 10**6 * UNITS_PER_EPSILON
        self.ledger.pins.register_budget(
            BudgetTerms("s", self.unit, wall, "" if self.event else "1d")
        )
        self.ledger.pins.register_query(self._registration())

    @property
    def event(self) -> bool:
        """Whether the unit is one event."""
        return self.unit is PrivacyUnit.EVENT

    def key(self, index: int) -> WindowKey:
        """Return a window."""
        return WindowKey(index * self.step + self.size, self.query, index * self.step)

    def periods(self, key: WindowKey) -> tuple[int, ...]:
        """Return the periods that a window touches."""
        first = key.start_ms // DAY * DAY
        return () if self.event else tuple(range(first, key.end_ms, DAY))

    def reserve(self) -> WindowKey:
        """Ask for the next window."""
        key = self.key(self.next)
        cost = UniformCost(MOST * UNITS_PER_EPSILON // 100, self.cells)
        charge = Charge(key, cost, 1 if self.event else 2, self.periods(key))
        self.ledger.admit("s", [Request(charge, self.fingerprint)])
        assert self.ledger.answer(key) is Answer.RESERVED
        return key

    def settle(self, *units: int) -> None:
        """Decide the next window at so many loss units per cell, or at the same for all."""
        key = self.reserve()
        uniform = len(units) == 1
        cost = UniformCost(units[0], self.cells) if uniform else LevelCosts.of(np.array(units))
        self.ledger.settle(key, cost=cost, alarms=b"[]", alarm_count=0, **self._end(key))
        self.ledger.mark_published(key)
        self.costs.append((key, np.array(units * (self.cells if uniform else 1))))
        self.next += 1

    def deny(self) -> None:
        """Deny the next window, reserved as it is."""
        key = self.reserve()
        self.ledger.deny(key, reason="incomplete", **self._end(key))
        self.ledger.mark_published(key)
        self.next += 1

    def change(self, fingerprint: str, cells: int, shape: Shape = ANYWHERE) -> None:
        """Go on under another configuration."""
        self.fingerprint, self.cells, self.shape = fingerprint, cells, shape
        self.ledger.pins.accept_change(self._registration(), self.key(self.next).start_ms)

    def seen(self, index: int, units: int, outcome: Outcome = Outcome.DECIDED) -> SeenDecision:
        """Return a window as another ledger decided it."""
        key = self.key(index)
        return SeenDecision(
            *("other", self.query, "s", key.start_ms, key.end_ms, index + 1, outcome, units, 0),
            next_start_ms=self.key(index + 1).start_ms,
            periods=self.periods(key),
        )

    def realised(self, period: int | None = None) -> realised.Realised:
        """Ask the ledger."""
        return self.ledger.reports.realised(self.query, period, cells=self.cells)

    def check(self, *, past: bool = True) -> None:
        """Compare the ledger's answer with adding up by hand, for every period or the latest."""
        latest = max(self.costs, key=lambda one: one[0].start_ms)[0]
        if self.event:
            at = latest.start_ms
            added = [cost for key, cost in self.costs if key.start_ms <= at < key.end_ms]
            self._same(self.realised(), added, instant_ms=at)
            return
        periods = {period for key, _ in self.costs for period in self.periods(key)}
        latest_period = self.periods(latest)[-1]
        for period in (None, *(sorted(periods) if past else ())):
            target = latest_period if period is None else period
            added = [cost for key, cost in self.costs if target in self.periods(key)]
            self._same(self.realised(period), added, period=target)

    def _same(
        self,
        found: realised.Realised,
        costs: list[NDArray[np.int64]],
        *,
        period: int | None = None,
        instant_ms: int | None = None,
    ) -> None:
        total = np.sum(costs, axis=0)
        assert found.costs.tolist() == total.tolist()
        assert (found.period, found.instant_ms) == (period, instant_ms)
        assert (found.windows, found.complete) == (len(costs), True)
        assert found.worst_units == max(total)
        epsilons = (total / UNITS_PER_EPSILON).tolist()
        assert found.min_entropy.value == pytest.approx(min_entropy(epsilons).value, abs=1e-12)
        assert found.min_entropy.lower <= found.min_entropy.value <= found.min_entropy.upper

    def _registration(self) -> QueryRegistration:
        named = (self.query, "s", "feed", self.fingerprint, "{}")
        return QueryRegistration(*named, first_start_ms=0, shape=self.shape)

    def _end(self, key: WindowKey) -> dict[str, Any]:
        return {
            "fingerprint": self.fingerprint,
            "next_start_ms": self.key(self.next + 1).start_ms,
            "release_ms": key.end_ms,
        }


# ── Sums ─────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.long
@pytest.mark.parametrize("unit", list(PrivacyUnit))
@pytest.mark.parametrize(("size", "step"), [(10, 10), (40, 10), (30, 20), (250, 50)])
def test_sums_are_those_of_adding_up_by_hand(
    ledger: Ledger, file: str, unit: PrivacyUnit, size: int, step: int
) -> None:
    """Uniform, mixed and denied windows over several periods, read now and then and afterwards."""
    rng = np.random.default_rng([size, step])
    life = _Life(ledger, unit, size=size, step=step)
    other = _Life(ledger, unit, query="r", size=size, step=step)
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
    with _open(file) as again:
        replace(life, ledger=again).check()


def test_nothing_has_settled_yet(ledger: Ledger) -> None:
    """With windows that are denied or open nothing is lost, and everything is uncertain."""
    life = _Life(ledger, PrivacyUnit.USER)
    life.deny()
    life.reserve()
    for period in (None, 0):
        found = life.realised(period)
        assert (found.windows, found.worst_units, found.period) == (0, 0, period)
        assert found.complete
        assert found.min_entropy.value == pytest.approx(np.log(CELLS))
        assert found.costs.shape == (CELLS,)


def test_costs_cannot_be_written_to(ledger: Ledger) -> None:
    """What one reader holds, no other reader changes, and later windows leave it as it is."""
    life = _Life(ledger, PrivacyUnit.USER)
    life.settle(3, 1, 4, 1, 5)
    first = life.realised()
    life.settle(1, 1, 1, 1, 2)
    assert life.realised().costs.tolist() == [4, 2, 5, 2, 7]
    assert first.costs.tolist() == [3, 1, 4, 1, 5]
    with pytest.raises(ValueError, match="read-only"):
        first.costs[0] = 0


# ── What is read, and how often ──────────────────────────────────────────────────────────────────


def test_a_window_is_unpacked_once(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    """Later readings unpack what is new, and no more."""
    unpacked: list[bytes] = []
    decode = LevelCosts.decode

    def counted(text: bytes) -> LevelCosts:
        unpacked.append(text)
        return decode(text)

    monkeypatch.setattr(LevelCosts, "decode", counted)
    life = _Life(ledger, PrivacyUnit.USER)
    for _ in range(4):
        life.settle(1, 2, 3, 4, 5)
    first = life.realised()
    assert len(unpacked) == 4
    assert life.realised().costs.tolist() == first.costs.tolist() == [4, 8, 12, 16, 20]
    assert len(unpacked) == 4
    life.settle(1, 2, 3, 4, 5)
    life.settle(7)
    assert life.realised().worst_units == 32
    assert len(unpacked) == 5


def test_one_reading_unpacks_a_bounded_number(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """More cells than one reading takes are left for the next ones, and it says so."""
    life = _Life(ledger, PrivacyUnit.USER)
    for _ in range(5):
        life.settle(1, 2, 3, 4, 5)
    monkeypatch.setattr(realised, "MOST_CELLS_READ", 2 * CELLS + 1)
    seen = [(found.windows, found.complete) for found in (life.realised() for _ in range(3))]
    assert seen == [(2, False), (4, False), (5, True)]
    monkeypatch.setattr(realised, "MOST_CELLS_READ", 1)
    life.settle(1, 2, 3, 4, 5)
    assert (life.realised().windows, life.realised().complete) == (6, True)


# ── Archives, changes, other timelines ───────────────────────────────────────────────────────────


@pytest.mark.parametrize("unit", list(PrivacyUnit))
def test_archived_windows_are_missing_and_it_says_so(
    ledger: Ledger, file: str, unit: PrivacyUnit
) -> None:
    """Who read them before still knows them; who starts afterwards says that the sum is short."""
    life = _Life(ledger, unit, size=40 if unit is PrivacyUnit.EVENT else 10)
    for _ in range(5):
        life.settle(1, 2, 3, 4, 5)
    before = life.realised()
    assert before.complete
    assert (move_all(ledger, life.key(2).start_ms) > 0) is not life.event
    assert life.realised().costs.tolist() == before.costs.tolist()
    with _open(file) as again:
        found = replace(life, ledger=again).realised()
        assert (found.period, found.instant_ms) == (before.period, before.instant_ms)
        assert found.complete is life.event, "no window goes that one to come may overlap"
        assert found.windows == before.windows - (0 if life.event else 2)
    life.ledger.pins.remove_alarm("q")
    assert move_all(ledger, 10**6, "g") > 0
    for one in (ledger, again):
        found = one.reports.realised("q", cells=CELLS)
        assert (found.windows, found.complete) == (0, False)


def test_a_later_period_is_complete_whatever_was_archived(ledger: Ledger, file: str) -> None:
    """An archive of past periods takes nothing from the present one."""
    life = _Life(ledger, PrivacyUnit.USER)
    for _ in range(15):
        life.settle(1, 2, 3, 4, 5)
    assert move_all(ledger, DAY) > 10
    with _open(file) as again:
        copy = replace(life, ledger=again)
        assert copy.realised().complete
        assert copy.realised().costs.tolist() == [5, 10, 15, 20, 25]
        assert not copy.realised(0).complete
        assert copy.realised(0).windows == 0


def test_a_window_gone_while_it_waited_is_missed(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An archive between two readings takes what was put down to be unpacked."""
    life = _Life(ledger, PrivacyUnit.USER)
    for _ in range(5):
        life.settle(1, 2, 3, 4, 5)
    monkeypatch.setattr(realised, "MOST_CELLS_READ", 1)
    assert life.realised().windows == 1
    assert move_all(ledger, 40) > 4
    for _ in range(4):
        found = life.realised()
    assert (found.windows, found.complete) == (2, False)


def test_other_cells_cost_every_cell_the_dearest(ledger: Ledger) -> None:
    """After a change of the cells nobody knows whose loss it was; nobody's is understated."""
    life = _Life(ledger, PrivacyUnit.USER)
    life.settle(1, 2, 3, 4, 5)
    life.settle(10)
    life.change("f2", 3)
    life.settle(100, 0, 0)
    found = life.realised()
    assert found.costs.tolist() == [115, 15, 15]
    assert (found.windows, found.complete) == (3, True)


def test_the_same_cells_stay_apart_over_a_change(ledger: Ledger) -> None:
    """A change that keeps the grouping keeps what each cell has lost."""
    rooms = Shape(grouping="room")
    life = _Life(ledger, PrivacyUnit.USER, shape=rooms)
    life.settle(1, 2, 3, 4, 5)
    life.change("f2", CELLS, rooms)
    life.settle(1, 1, 1, 1, 2)
    assert life.realised().costs.tolist() == [2, 3, 4, 5, 7]
    life.change("f3", CELLS, Shape(grouping="floor"))
    assert life.realised().costs.tolist() == [7] * CELLS


@pytest.mark.parametrize("unit", list(PrivacyUnit))
def test_decisions_of_other_timelines_and_spent_windows_count(
    ledger: Ledger, unit: PrivacyUnit
) -> None:
    """Both at their worst, for every cell; an adopted denial costs nothing."""
    life = _Life(ledger, unit, size=50, step=10)
    life.settle(1, 2, 3, 4, 5)
    worst = MOST * UNITS_PER_EPSILON // 100
    life.reserve()
    ledger.upkeep.reconcile([life.seen(2, 70), life.seen(3, 0, Outcome.DENIED), life.seen(4, 30)])
    assert life.realised().costs.tolist() == [one + worst + 100 for one in range(1, 6)]
    assert (life.realised().windows, life.realised().complete) == (4, True)


def test_only_adopted_decisions(ledger: Ledger) -> None:
    """A ledger that lost everything still shows what the topic proves."""
    life = _Life(ledger, PrivacyUnit.USER)
    ledger.upkeep.reconcile([life.seen(0, 70), life.seen(11, 30)])
    assert (life.realised().period, life.realised().worst_units) == (DAY, 30)
    assert life.realised(0).worst_units == 70


def test_what_does_not_fit_is_shown_at_the_most(ledger: Ledger) -> None:
    """Nothing wraps around, however much another timeline claims to have spent."""
    life = _Life(ledger, PrivacyUnit.EVENT)
    life.settle(1, 2, 3, 4, 5)
    for name in "abc":
        ledger.upkeep.reconcile([replace(life.seen(0, 2**61), ledger_id=name)])
    assert life.realised().costs.tolist() == [2**62] * CELLS


# ── Reservations ─────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("unit", "size", "worst"),
    [
        (PrivacyUnit.EVENT, 10, 1),  # disjoint: no event is in two of them
        (PrivacyUnit.EVENT, 30, 3),
        (PrivacyUnit.USER, 10, 5 * 2),  # two reachable cells in each
        (PrivacyUnit.USER, 70, 5 * 2),
    ],
)
def test_reserved_is_what_open_reservations_hold_of_the_worst_off(
    ledger: Ledger, unit: PrivacyUnit, size: int, worst: int
) -> None:
    """Open reservations alone, each at its worst; settled and denied windows are no longer in."""
    life = _Life(ledger, unit, size=size)
    life.settle(1, 2, 3, 4, 5)
    life.deny()
    for _ in range(5):
        life.reserve()
        life.next += 1
    status = ledger.reports.status().scopes["s"]
    assert status.reserved_units == worst * (MOST * UNITS_PER_EPSILON // 100)
    assert status.reserved_units <= status.spent_units
    assert (status.reservations, status.pending) == (5, 0)


# ── Bad input ────────────────────────────────────────────────────────────────────────────────────


def test_bad_questions_are_refused(ledger: Ledger) -> None:
    """An unknown query, a period where there is none, an impossible number of cells."""
    life = _Life(ledger, PrivacyUnit.EVENT)
    with pytest.raises(LedgerError, match="'nobody' is not registered"):
        ledger.reports.realised("nobody", cells=1)
    with pytest.raises(ValueError, match="no periods"):
        life.realised(0)
    for cells in (0, -1, 2**24 + 1):
        with pytest.raises(ValueError, match="cells"):
            ledger.reports.realised("q", cells=cells)


def test_damaged_costs_name_their_window_and_nothing_is_counted_twice(ledger: Ledger) -> None:
    """The error says which window and what to do; once it is repaired the sum is right."""
    life = _Life(ledger, PrivacyUnit.USER)
    life.settle(1, 2, 3, 4, 5)
    assert life.realised().worst_units == 5
    life.settle(7)
    life.settle(1, 2, 3, 4, 5)
    stored = _put_costs(ledger, life.key(2), b"damaged")
    for _ in range(2):
        with pytest.raises(LedgerError, match=r"window \[20, 30\) of 'q'.*damaged") as caught:
            life.realised()
        assert "verify" in str(caught.value)
    _put_costs(ledger, life.key(2), stored)
    life.check()


def _put_costs(ledger: Ledger, key: WindowKey, costs: bytes | None) -> bytes | None:
    """Change the costs of a window behind the ledger's back; return what they were."""
    name = window_name(key.query, key.start_ms)
    (row,) = (one for one in ledger.reports.entries() if (one.kind, one.key) == (Ended.kind, name))
    entry = decode(row.kind, row.payload)
    assert isinstance(entry, Ended)
    payload = encode(structs.replace(entry, costs=costs))
    with ledger._store.write() as tx:
        change = ENTRIES.update().where(ENTRIES.c.seq == row.seq).values(payload=payload)
        tx.connection.execute(change)
    return entry.costs
