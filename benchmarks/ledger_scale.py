"""Admission and settlement in a ledger that is already full: ``python -m benchmarks.ledger_scale``.

``--write`` puts the table into ``reports/ledger-scale.md``.
"""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from accountant.costs.charges import UniformCost
from accountant.costs.levels import LevelCosts
from accountant.ledger.ledger import Ledger
from accountant.records import Answer
from accountant.units import PrivacyUnit
from benchmarks.papers.pages import table
from benchmarks.report import written
from tests.support.aged import age
from tests.support.ledgers import Series, set_up

if TYPE_CHECKING:
    from collections.abc import Iterator

SIZES = (1_000, 10_000, 100_000, 1_000_000)
PERIODS = (1, 1_000, 100_000)
ADMISSIONS = 101
CELLS, LEVELS = 100_000, 12
WALL = 10**15
REPORT = Path(__file__).parent / "reports" / "ledger-scale.md"

__all__ = ["main", "run"]


def run(sizes: tuple[int, ...] = SIZES, periods: tuple[int, ...] = PERIODS) -> dict[str, float]:
    """Return milliseconds by number of charges and of past periods, and for a charge on levels."""
    results: dict[str, float] = {}
    for size in sizes:
        for unit in PrivacyUnit:
            results[f"{unit.value}_{size}_charges_admit_ms"] = _admit_ms(unit, size, size)
    for many in periods if sizes else ():
        label = f"user_{max(sizes)}_charges_{many}_periods_admit_ms"
        results[label] = _admit_ms(PrivacyUnit.USER, max(sizes), many)
    return results | _levels()


def _admit_ms(unit: PrivacyUnit, charges: int, periods: int) -> float:
    """Return the median time of admitting one more window, with its commit on the disk."""
    per_period = max(charges // periods, 1)
    series = Series("q", period=10 * per_period if unit is PrivacyUnit.USER else 0)
    with tempfile.TemporaryDirectory() as directory, _ledger(directory) as ledger:
        age(ledger, unit, WALL, [series], charges)
        took_s: list[float] = []
        for index in range(charges, charges + ADMISSIONS):
            request = series.request(index)
            began_s = time.perf_counter()
            ledger.admit("s", [request])
            took_s.append(time.perf_counter() - began_s)
        if ledger.answer(series.key(charges)) is not Answer.RESERVED:
            raise RuntimeError("the benchmark's windows are not admitted")
    return statistics.median(took_s) * 1000


def _levels() -> dict[str, float]:
    """Return how large a charge on levels is and how long it takes to settle."""
    series = Series("q", units=LEVELS)
    rng = np.random.default_rng(7)
    with tempfile.TemporaryDirectory() as directory, _ledger(directory) as ledger:
        set_up(ledger, PrivacyUnit.EVENT, WALL, [series])
        took_s: list[float] = []
        size = 0
        for index in range(11):
            request = series.request(index)
            wide = UniformCost(units=LEVELS, cells=CELLS)
            charge = type(request.charge)(request.charge.key, wide, 1)
            ledger.admit("s", [type(request)(charge, request.fingerprint)])
            units = rng.integers(1, LEVELS + 1, CELLS)
            began_s = time.perf_counter()
            cost = LevelCosts.of(units)
            ledger.settle(
                series.key(index),
                fingerprint=series.fingerprint,
                cost=cost,
                alarms=b"[]",
                alarm_count=0,
                next_start_ms=series.key(index + 1).start_ms,
                release_ms=0,
            )
            took_s.append(time.perf_counter() - began_s)
            size = len(cost.encode())
    return {
        f"settle_{CELLS}_cells_on_{LEVELS}_levels_ms": statistics.median(took_s) * 1000,
        f"stored_{CELLS}_cells_on_{LEVELS}_levels_kb": size / 1000,
    }


def _ledger(directory: str) -> Ledger:
    url = f"sqlite:///{directory}/ledger.db"
    return Ledger.open(url, clock_ms=lambda: time.time_ns() // 10**6, entropy=os.urandom)


def _lines() -> Iterator[str]:
    yield f"""\
`python -m benchmarks.ledger_scale --write` fills a SQLite ledger with settled charges, admits
{ADMISSIONS} more windows one by one, each with its commit on the disk, and takes the median; the
aim is 5 ms. The last lines change the number of past periods, not of charges; and settle windows of
{CELLS:,} predicates whose costs lie on {LEVELS} levels at random. Where the disk takes its time
over a commit, so does an admission, whatever the size of the ledger. What a year of windows costs a
start, verification, status and archiving stands in [what age costs a ledger](ledger-age.md).
"""
    yield from table(
        ("what", "measured"), ((f"`{name}`", f"{value:,.2f}") for name, value in run().items())
    )


def main() -> None:
    """Measure, print, and write the report where asked."""
    written(REPORT, "The ledger at scale", _lines)


if __name__ == "__main__":
    main()
