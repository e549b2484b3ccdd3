"""Random histories of a ledger: the wall stands, and what is refused depends on no data."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from accountant import admission, schema
from accountant.filter import EventFilter, UserFilter
from accountant.records import Admission
from accountant.units import PrivacyUnit
from tests.support.ledgers import Series, deny, open_ledger, requests, set_up, settle

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from accountant.ledger import Ledger
    from accountant.overlap import Held

WALL = 5
LAST_MS = 120
EXAMPLES = {"sqlite": 15, "postgresql": 6}

Step = tuple[str, int, int]


def series_of(unit: PrivacyUnit) -> list[Series]:
    """Return tumbling, hopping and long windows of different costs."""
    period = 60 if unit is PrivacyUnit.USER else 0
    return [
        Series("a", units=1, period=period),
        Series("hop", size=20, step=10, units=2, period=period),
        Series("long", size=40, step=40, units=1, cells_per_unit=2 if period else 1, period=period),
    ]


def histories() -> st.SearchStrategy[list[Step]]:
    """Draw steps: ask for windows up to an instant, decide some windows of a query, open anew."""
    ask = st.tuples(st.just("ask"), st.integers(1, LAST_MS // 10), st.just(0))
    decide = st.tuples(st.just("decide"), st.integers(0, 2), st.integers(1, 3))
    refuse = st.tuples(st.just("deny"), st.integers(0, 2), st.just(1))
    again = st.tuples(st.just("open"), st.just(0), st.just(0))
    return st.lists(st.one_of(ask, decide, decide, refuse, again), min_size=4, max_size=12)


class History:
    """Plays steps on a ledger and checks the wall after each."""

    def __init__(self, url: str, unit: PrivacyUnit, *, denials: bool = True) -> None:
        self.url = url
        self.unit = unit
        self.denials = denials
        self.series = series_of(unit)
        self.ledger: Ledger = open_ledger(url)
        _clear(self.ledger)
        set_up(self.ledger, unit, WALL, self.series)

    def play(self, steps: Iterable[Step]) -> None:
        """Play all steps, then compare the ledger with its own export."""
        try:
            for step in steps:
                self._step(*step)
                if step[0] == "ask":  # nothing else can add to what is held
                    self._check_wall()
            assert self.ledger.verify() == []
            self._check_replay()
        finally:
            self.ledger.close()

    def _step(self, what: str, first: int, second: int) -> None:
        if what == "ask":
            self.ledger.admit("s", requests(self.series, first * 10))
        elif what == "open":
            self.ledger.close()
            self.ledger = open_ledger(self.url)
        else:
            for _ in range(second):
                self._decide(self.series[first], denied=what == "deny" and self.denials)

    def _decide(self, series: Series, *, denied: bool) -> None:
        index = self.ledger.cursor(series.query) // series.step
        frontier = self.ledger.frontier("s")
        if frontier is None or series.key(index) > frontier:
            return
        if self.ledger.admission(series.key(index)) is Admission.RESERVED and not denied:
            settle(self.ledger, series, index)
        else:
            deny(self.ledger, series, index)

    def _held(self) -> list[dict[str, Any]]:
        return [
            row
            for row in self.ledger.export()
            if row["record"] == "charges" and row["state"] in {"reserved", "settled"}
        ]

    def _check_wall(self) -> None:
        """Add up what every instant, or everyone in a period, may have lost."""
        loss: Counter[int] = Counter()
        for row in self._held():
            if self.unit is PrivacyUnit.EVENT:
                loss.update(dict.fromkeys(range(row["start_ms"], row["end_ms"]), row["loss_units"]))
            else:
                loss.update(dict.fromkeys(json.loads(row["periods"]), row["loss_units"]))
        worst = max(loss.values(), default=0)
        assert worst <= WALL
        assert self.ledger.status().scopes["s"].spent_units >= worst

    def _check_replay(self) -> None:
        """The exported charges give the totals that the ledger keeps."""
        totals: Counter[int] = Counter()
        for row in self._held():
            totals.update(dict.fromkeys(json.loads(row["periods"]), row["loss_units"]))
        stored = self.ledger.export()
        kept = {row["period_ms"]: row["held_units"] for row in stored if row["record"] == "totals"}
        assert {at: units for at, units in kept.items() if units} == +totals


def prove(property_: Callable[[list[Step]], None], examples: int) -> None:
    """Run a property over random histories; no shrinking: a counterexample is enough."""
    checked = settings(
        max_examples=examples,
        deadline=None,
        database=None,
        derandomize=True,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    checked(given(histories())(property_))()


def walls_stand(url: str, unit: PrivacyUnit) -> None:
    """Check random histories of one budget."""
    kind = "sqlite" if url.startswith("sqlite") else "postgresql"
    prove(lambda steps: History(url, unit).play(steps), EXAMPLES[kind])


@pytest.mark.parametrize("unit", list(PrivacyUnit))
def test_the_wall_stands(ledger_url: str, unit: PrivacyUnit) -> None:
    """Whatever is asked, decided, denied and reopened in any order, the wall is never passed."""
    walls_stand(ledger_url, unit)


def test_refusals_depend_on_the_schedule_alone(tmp_path: Any) -> None:
    """However deciding interleaves with asking, the same windows are refused."""
    url = f"sqlite:///{tmp_path}/ledger.db"
    found: set[tuple[str, ...]] = set()

    def play(steps: list[Step]) -> None:
        history = History(url, PrivacyUnit.EVENT, denials=False)
        history.play([*steps, ("ask", LAST_MS // 10, 0)])
        with open_ledger(url) as ledger:
            asked = requests(history.series, LAST_MS)
            found.add(tuple(ledger.admission(one.charge.key).value for one in asked))

    prove(play, 6)
    assert len(found) == 1
    assert {"reserved", "refused"} == set(found.pop())


class ForgetsReservations(EventFilter):
    """Broken twin: counts nothing that it didn't see itself."""

    def __init__(self, epsilon_max_units: int, held: Iterable[Held]) -> None:
        del held
        super().__init__(epsilon_max_units, [])


class ResetsEveryPeriod(EventFilter):
    """Broken twin: forgives an event what it lost in an earlier period of 30 ms."""

    def reserve(self, charge: Any) -> bool:
        """Forget what started before the period of this window's end."""
        since = (charge.key.end_ms - 1) // 30 * 30
        self._held = [one for one in self._held if one.start_ms >= since]
        return super().reserve(charge)


class ForgetsPeriods(UserFilter):
    """Broken twin: looks at the first period only."""

    def reserve(self, charge: Any) -> bool:
        """Ask for one period, hold all."""
        first = charge.periods[0]
        return self._held_units.get(first, 0) + charge.loss_units <= self._wall


@pytest.mark.parametrize("twin", [ForgetsReservations, ResetsEveryPeriod, ForgetsPeriods])
def test_broken_filters_are_caught(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch, twin: Any
) -> None:
    """The same check finds filters that forget."""
    unit = PrivacyUnit.USER if issubclass(twin, UserFilter) else PrivacyUnit.EVENT

    def broken(_unit: object, wall: int, *, held: Any, held_units: Any) -> Any:
        return twin(wall, held_units if unit is PrivacyUnit.USER else held)

    monkeypatch.setattr(admission, "filter_for", broken)
    with pytest.raises(AssertionError):
        walls_stand(f"sqlite:///{tmp_path}/ledger.db", unit)


def _clear(ledger: Ledger) -> None:
    """Empty every table but the ledger's own row."""
    with ledger._store.write() as tx:
        numbered = ("partials", "charges", "decisions", "sequences")
        for name in (*numbered, "totals", "queries", "logs", "scopes"):
            tx._connection.execute(getattr(schema, name).delete())
