"""What tests of simulations share: one alarm, its counts, and a simulation in this process."""

from __future__ import annotations

import io
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from rich.console import Console

from accountant.units import Contribution, PrivacyUnit
from operators.conditions.atoms import IntegerTest
from operators.conditions.comparison import Comparison
from operators.conditions.condition import Aim, Condition
from operators.conditions.weights import Weight
from operators.noise.source import NoiseSource
from stream.model.alarm import AggregateSpec, Alarm, FirstTolerances
from stream.model.alarms import Alarms, Budget, Settings
from stream.model.feeds import Codec, Domain, Feed, Field, FieldType
from stream.simulation.history import CountedAlarm
from stream.simulation.plays import Played
from stream.simulation.results import results_of
from stream.simulation.shown import terminal
from stream.windows.calendars import FixedCalendar
from stream.windows.cumulative import CumulativeCalendar
from stream.windows.periods import Periods

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from stream.simulation.results import Simulation
    from stream.simulation.tally import Tally


HOUR_MS = 3_600_000
THRESHOLD = 40
SQL = "SELECT room FROM badges GROUP BY room, TUMBLE(ts, ...) HAVING COUNT(*) > 40 -- <b>&"


def counted_alarm(statistics: NDArray[np.int64]) -> CountedAlarm:
    """Return statistics, shape (windows, statistics, cells), as they are counted."""
    windows, number, cells = statistics.shape
    flat = statistics.reshape(windows, -1)
    entries = [np.flatnonzero(row) for row in flat]
    return CountedAlarm(
        alarm="crowd",
        starts_ms=np.arange(windows, dtype=np.int64) * HOUR_MS,
        statistics=number,
        cells=cells,
        ends=np.cumsum([0, *map(len, entries)], dtype=np.int64),
        index=np.concatenate(entries).astype(np.int64),
        value=np.concatenate([row[at] for row, at in zip(flat, entries, strict=True)]),
    )


def alarm(cells: int, *, tolerance: int = 9, mechanism: str = "tslm") -> Alarm:
    """Return an alarm for more than 40 events in a room."""
    return Alarm(
        id="crowd",
        feed=Feed(
            "badges",
            "t",
            Codec.JSON,
            "ts",
            "person",
            None,
            {"room": Field("room", FieldType.STRING)},
        ),
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


def file_of(*queries: Alarm, epsilon_max: Fraction = Fraction(10**5)) -> Alarms:
    """Return a file of some alarms: people reach two cells, and the budget is never renewed."""
    budget = Budget(PrivacyUnit.USER, epsilon_max, Periods.lifetime(), Contribution(2, 1))
    return Alarms(
        file="<alarms>.yaml",
        feeds={"badges": queries[0].feed},
        by_name={query.id: query for query in queries},
        budget=budget,
        kafka=None,
        settings=Settings("sqlite://", ("", 0), ("", 0)),
    )


def tried(
    query: Alarm,
    statistics: NDArray[np.int64],
    runs: int,
    *,
    epsilon_max: Fraction = Fraction(10**5),
) -> Tally:
    """Return what came of an alarm in so many replays, in this process."""
    alarms = file_of(query, epsilon_max=epsilon_max)
    file = Played(alarms, {query.id: counted_alarm(statistics)}, {})
    return file.replays(runs, lambda *_: None)[query.id]


def stepped(query: Alarm, counts: NDArray[np.int64], looks: int) -> Tally:
    """Return what came of an early alarm whose steps counted these, shape (steps, cells)."""
    query = replace(query, calendar=CumulativeCalendar(HOUR_MS, HOUR_MS // looks))
    starts_ms = np.arange(len(counts), dtype=np.int64) * (HOUR_MS // looks)
    steps = replace(counted_alarm(counts[:, None]), starts_ms=starts_ms, looks=looks)
    budget = Budget(PrivacyUnit.EVENT, Fraction(1000), None, Contribution(1, 1))
    file = Played(replace(file_of(query), budget=budget), {query.id: steps}, {})
    return file.replay(NoiseSource())[query.id]


def near_the_threshold(windows: int, cells: int) -> NDArray[np.int64]:
    """Return statistics around the threshold and its uncertain region, a true one among them."""
    drawn = np.random.default_rng(1).integers(15, 50, size=(windows, 1, cells))
    drawn[0, 0, 0] = THRESHOLD + 1
    return drawn.astype(np.int64)


def simulated(
    query: Alarm,
    statistics: NDArray[np.int64],
    *,
    runs: int = 3,
    epsilon_max: Fraction = Fraction(10**5),
) -> Simulation:
    """Return a simulation in this process."""
    counted, alarms = {query.id: counted_alarm(statistics)}, file_of(query, epsilon_max=epsilon_max)
    found = Played(alarms, counted, {}).replays(runs, lambda *_: None)
    return results_of(alarms, [query.id], counted, found, runs)


def shown(simulation: Simulation, width: int = 80) -> str:
    """Return what a terminal shows."""
    out = io.StringIO()
    Console(width=width, file=out).print(*terminal(simulation), sep="\n")
    return out.getvalue()
