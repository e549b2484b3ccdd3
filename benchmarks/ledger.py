"""Ledger commits per second on SQLite and PostgreSQL, both writing through to the disk."""

from __future__ import annotations

import os
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from accountant.ledger.ledger import Ledger
from accountant.units import PrivacyUnit
from tests.support.ledgers import Series, partial, requests, set_up, settle
from tests.support.postgres import Postgres

if TYPE_CHECKING:
    from collections.abc import Callable

WINDOWS = 200
QUERIES = 4
CELLS = 100_000


def run() -> dict[str, float]:
    """Return commits per second by store and kind, and milliseconds for a large partial."""
    with tempfile.TemporaryDirectory() as directory:
        results = _measure("sqlite", f"sqlite:///{directory}/ledger.db")
    with Postgres(durable=True) as server:
        results |= _measure("postgresql", server.new_database())
    return results


def _measure(name: str, url: str) -> dict[str, float]:
    all_series = [Series(f"q{number}") for number in range(QUERIES)]
    with Ledger.open(url, clock_ms=lambda: time.time_ns() // 10**6, entropy=os.urandom) as ledger:
        set_up(ledger, PrivacyUnit.EVENT, QUERIES, all_series)
        asked = requests(all_series, WINDOWS * 10)
        began_s = time.perf_counter()
        ledger.admit("s", asked)
        admitted_s = time.perf_counter() - began_s

        def decide(series: Series) -> None:
            for index in range(WINDOWS // 2, WINDOWS):
                settle(ledger, series, index)

        def prepare(series: Series) -> None:
            for index in range(WINDOWS // 2):
                settle(ledger, series, index)

        first = all_series[0]
        stored = _rate(
            lambda: [ledger.counts.put_partial(partial(first, index)) for index in range(WINDOWS)],
            WINDOWS,
        )
        alone = _rate(lambda: list(map(prepare, all_series)), WINDOWS // 2 * QUERIES)
        with ThreadPoolExecutor(QUERIES) as pool:
            together = _rate(
                lambda: list(pool.map(decide, all_series)), (WINDOWS - WINDOWS // 2) * QUERIES
            )
        vector = np.arange(CELLS, dtype=np.int64)
        large = replace(partial(first, WINDOWS), cells=CELLS, index=vector, value=vector)
        large_per_s = _rate(lambda: ledger.counts.put_partial(large), 1)
    return {
        f"{name}_admissions_per_s": len(asked) / admitted_s,
        f"{name}_partials_per_s": stored,
        f"{name}_decisions_per_s": alone,
        f"{name}_decisions_per_s_{QUERIES}_threads": together,
        f"{name}_partial_of_{CELLS}_cells_ms": 1000 / large_per_s,
    }


def _rate(work: Callable[[], object], commits: int) -> float:
    began_s = time.perf_counter()
    work()
    return commits / (time.perf_counter() - began_s)
