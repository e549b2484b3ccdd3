"""What is a matter of this machine's time, and therefore of `make bench` and not of `make test`.

pytest collects this file only where it is named.
"""

from __future__ import annotations

from benchmarks import ledger_scale


def test_one_more_admission_costs_the_same_in_a_fuller_ledger() -> None:
    """Neither twenty times the charges nor a thousand times the past periods slow it down."""
    few, many = 500, 10_000
    times_ms = ledger_scale.run((few, many), (1, 1_000))
    for unit in ("event", "user"):
        before = times_ms[f"{unit}_{few}_charges_admit_ms"]
        assert times_ms[f"{unit}_{many}_charges_admit_ms"] < 4 * before
    one = times_ms[f"user_{many}_charges_1_periods_admit_ms"]
    assert times_ms[f"user_{many}_charges_1000_periods_admit_ms"] < 4 * one
