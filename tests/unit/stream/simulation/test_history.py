"""History is counted as a run counts it."""

from __future__ import annotations

from typing import Any

import numpy as np

from stream.decisions.judge import statistics_of


def test_partitions_are_added_up_saturating() -> None:
    """Sparse counts of several partitions add up cell by cell, clamped as decisions clamp them."""
    random = np.random.default_rng(5)
    limit = (1 << 62) - 1
    for _ in range(50):
        total = [0] * 6
        parts = []
        for _ in range(3):
            index = np.flatnonzero(random.random(6) < 0.5)
            value = random.choice([-(1 << 62), -3, 2, 1 << 62], len(index)).astype(np.int64)
            part: Any = type("P", (), {"index": index, "value": value, "complete": True})
            parts.append(part)
            for at, each in zip(index.tolist(), value.tolist(), strict=True):
                clamped = min(max(each, -limit), limit)
                total[at] = min(max(total[at] + clamped, -limit), limit)
        assert statistics_of(parts, 2, 3).reshape(-1).tolist() == total
