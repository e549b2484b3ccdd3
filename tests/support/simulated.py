"""What tests of simulations share: one alarm, its counts, and a simulation in this process."""

from __future__ import annotations

import os
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from rich.console import Console

from accountant.units import Contribution, PrivacyUnit
from operators.base import Plan
from operators.conditions.atoms import IntegerTest
from operators.conditions.comparison import Comparison
from operators.conditions.condition import Aim, Condition
from operators.conditions.weights import Weight
from stream.model.alarms import Alarms, Budget, Settings
from stream.model.feeds import Codec, Domain, Feed
from stream.model.queries import AggregateSpec, FirstTolerances, Query
from stream.simulation.crew import try_out
from stream.simulation.history import CountedAlarm
from stream.simulation.results import AlarmResults, Measured, Simulation
from stream.simulation.settings import Setting, settings_of
from stream.simulation.tables import simulation_tables
from stream.simulation.trials import Bench
from stream.windows.calendars import FixedCalendar

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


HOUR_MS = 3_600_000
THRESHOLD = 40
SQL = "SELECT room FROM badges GROUP BY room, TUMBLE(ts, ...) HAVING COUNT(*) > 40 -- <b>&"


def counted_alarm(statistics: NDArray[np.int64], *, query: str = "crowd") -> CountedAlarm:
    """Return statistics, shape (windows, statistics, cells), as they are counted."""
    windows, number, cells = statistics.shape
    flat = statistics.reshape(windows, -1)
    entries = [np.flatnonzero(row) for row in flat]
    return CountedAlarm(
        query=query,
        starts_ms=np.arange(windows, dtype=np.int64) * HOUR_MS,
        statistics=number,
        cells=cells,
        ends=np.cumsum([0, *map(len, entries)], dtype=np.int64),
        index=np.concatenate(entries).astype(np.int64),
        value=np.concatenate([row[at] for row, at in zip(flat, entries, strict=True)]),
    )


def alarm(cells: int, *, tolerance: int = 9, mechanism: str = "tslm") -> Query:
    """Return an alarm for more than 40 events in a room."""
    return Query(
        id="crowd",
        feed=Feed("badges", "t", Codec.JSON, "ts", "person", None, {}),
        domain=Domain(("room",), (tuple(f"room {at}" for at in range(cells)),)),
        calendar=FixedCalendar(HOUR_MS, HOUR_MS),
        where=None,
        aggregates=(AggregateSpec(Weight.COUNT),),
        condition=Condition.single(
            IntegerTest(Comparison.GT, np.full(cells, THRESHOLD, dtype=np.int64), 1)
        ),
        aim=Aim(Fraction(1, 20), (tolerance,)),
        first=FirstTolerances((12,)),
        texts=("COUNT(*) > 40",),
        mechanism=mechanism,
        grace_ms=0,
        publish_delay_ms=0,
        decide_timeout_ms=1,
        max_age_ms=1,
        sql=SQL,
        fingerprint="",
    )


def bench_of(query: Query, counted: CountedAlarm, *settings: Setting) -> Bench:
    """Return a bench of one alarm whose people reach two cells, and whose runs end with it."""
    one = query.id
    stretches = {one: (range(counted.windows),)}
    return Bench({one: counted}, {one: query.condition}, {one: 2}, settings, stretches)


def own(query: Query, mechanism: str = "tslm") -> Setting:
    """Return the alarm's own aim with a mechanism."""
    return Setting(query.id, mechanism, Fraction(1), query.aim, configured=True)


def near_the_threshold(windows: int, cells: int, *, seed: int = 1) -> NDArray[np.int64]:
    """Return statistics around the threshold and its uncertain region, a true one among them."""
    drawn = np.random.default_rng(seed).integers(15, 50, size=(windows, 1, cells))
    drawn[0, 0, 0] = THRESHOLD + 1
    return drawn.astype(np.int64)


def simulated(
    query: Query,
    statistics: NDArray[np.int64],
    *,
    runs: int = 3,
    mechanisms: Sequence[str] = ("tslm", "ppwlm", "nlm"),
    fits: float = 100.0,
) -> Simulation:
    """Return a simulation in this process; settings fit up to a worst case of ``fits``."""
    counted = counted_alarm(statistics)
    settings, untried = settings_of(query, mechanisms=mechanisms)
    tried = try_out(bench_of(query, counted, *settings), runs)
    measured = [
        Measured(setting, one.plan, float(one.plan.epsilon) <= fits, one.tally)
        for setting, one in zip(settings, tried, strict=True)
        if isinstance(one.plan, Plan)
    ]
    budget = Budget(PrivacyUnit.USER, Fraction(4), None, Contribution(2, 1))
    alarms = Alarms(
        file="<alarms>.yaml",
        feeds={"badges": query.feed},
        queries={query.id: query},
        budget=budget,
        kafka=None,
        settings=Settings("sqlite://", ("", 0), ("", 0)),
    )
    results = AlarmResults(query, counted, tuple(measured), tuple(untried))
    return Simulation(alarms, runs, (results,), {query.id: 2})


def shown(simulation: Simulation) -> str:
    """Return what a terminal shows."""
    console = Console(width=100, record=True, file=open(os.devnull, "w"))  # noqa: PTH123, SIM115 -- closed with the console
    console.print(*simulation_tables(simulation), sep="\n")
    console.file.close()
    return console.export_text()
