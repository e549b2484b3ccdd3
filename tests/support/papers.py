"""The data of the papers: made up, and a slice of the real ones."""

from __future__ import annotations

import numpy as np

from benchmarks.papers.data import Events
from benchmarks.papers.workloads import SUBQUERIES
from tests.support.tree import ROOT

SLICE = ROOT / "tests" / "benchmarks" / "data"

SPANS = {workload.data: (workload.reference.first, workload.span.until) for workload in SUBQUERIES}


def made_up(name: str, events: int = 20_000, groups: int = 40) -> Events:
    """Return events of a data set's columns and days, a few groups having most of them."""
    rng = np.random.default_rng(7)
    first, until = SPANS[name]
    group = np.minimum(rng.exponential(4, events).astype(np.int64), groups - 1)
    return Events(
        groups=groups,
        group=group,
        day=rng.integers(first, until, events),
        hour=rng.integers(0, 24, events),
        unit=rng.integers(-1, 200, events),
        columns={
            "miles": rng.exponential(3, events),
            "minutes": rng.integers(0, 60, events),
            "leaves_borough": rng.random(events) < 0.2,
            "quantity": rng.integers(-5, 150, events),
            "price": rng.exponential(4, events),
        },
    )
