"""History is counted as a run counts it."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from stream.decisions.judge import statistics_of


def test_partitions_are_added_up_saturating():
    """Sparse counts of several partitions add up cell by cell, clamped as decisions clamp them."""
    random, limit = np.random.default_rng(5), (1 << 62) - 1

    def clamped(value):
        return min(max(value, -limit), limit)

    for _ in range(50):
        rows = random.choice([-(1 << 62), -3, 0, 2, 1 << 62], (3, 6))
        parts = [
            SimpleNamespace(index=np.flatnonzero(row), value=row[row != 0], complete=True)
            for row in rows
        ]
        total = [0] * 6
        for row in rows.tolist():
            total = [clamped(one + other) for one, other in zip(total, row, strict=True)]
        assert statistics_of(parts, 2, 3).reshape(-1).tolist() == total
