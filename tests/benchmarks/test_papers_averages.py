"""ProBE's averages in short: what is counted, and that a report comes out."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.papers.averages import study
from benchmarks.papers.workloads import SUBQUERIES
from tests.support.papers import made_up


def test_a_centred_sum_is_positive_where_the_average_is_above():
    """Every cell agrees with averaging its clipped values one by one; empty ones do not fire."""
    events = made_up("retail", 4_000, groups=6)
    found = study.averages_of("retail", events)
    workload = next(each for each in SUBQUERIES if each.data == "retail")
    values = dict(events.columns)
    values["value"] = values["price"] * values["quantity"]
    cells = (events.day - workload.span.first) * 6 + events.group
    seen = 0
    for mean, one in zip(study.AVERAGES["retail"], found.every, strict=True):
        granules = np.rint(values[mean.total.column] * mean.total.per_one)
        clipped = np.clip(granules, 0, one.clip)
        wanted = True if mean.total.where is None else mean.total.where(events)
        for cell in range(workload.span.rows * 6):
            held = (cells == cell) & wanted
            above = bool(held.any()) and clipped[held].mean() > one.threshold
            assert (one.centred[cell] > 0, one.counted[cell]) == (above, held.sum())
            seen += above
        assert one.moved == max(one.threshold, one.clip - one.threshold)
    assert seen > 10


def test_naive_averages_cost_what_their_noise_does():
    """Every mechanism is measured, the naive one at its own epsilon."""
    found = study.scenes({"retail": made_up("retail", 6_000, groups=4)})
    measured = study.by_size(found, 2, sizes=(1, 2))
    assert set(measured["retail"]["2"]) == set(study.MECHANISMS)
    naive = measured["retail"]["1"]["naive"].value("worst")
    assert naive == pytest.approx(study.naive_epsilon(found["retail"].columns, 0))
