"""The papers' claims at their own scale, in short: that crowds are what they are said to be."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.papers.regime import report, study
from benchmarks.papers.regime.crowds import repeated, resampled
from benchmarks.papers.tally import Aggregate, Span, tally
from benchmarks.papers.trials import Measured
from tests.support.papers import SPANS, made_up


def test_repeated_events_repeat_every_count():
    """Counts, distinct people and sums are the same multiple in every cell."""
    events = made_up("retail", 2_000, groups=5)
    span = Span(*SPANS["retail"])
    for aggregate in (Aggregate(), Aggregate("distinct"), Aggregate("sum", "quantity", clip=100)):
        once, often = (tally(each, aggregate, span) for each in (events, repeated(events, 7)))
        assert (often == 7 * once).all()


def test_resampled_events_are_those_there_were():
    """Rows are drawn whole, as many as said, all alike likely; nobody known stays nobody."""
    events = made_up("badges", 500, groups=5)
    often = resampled(events, 40, np.random.default_rng(5))
    assert often.group.size == 40 * 500
    miles, at = np.unique(events.columns["miles"], return_index=True)
    row = at[np.searchsorted(miles, often.columns["miles"])]
    assert (events.columns["miles"][row] == often.columns["miles"]).all()
    assert (events.group[row] == often.group).all()
    assert (events.unit[row] == np.where(often.unit < 0, -1, often.unit // 40)).all()
    drawn = np.bincount(row, minlength=500)
    assert abs(drawn.var() / 40 - 1) < 0.3  # nearly Poisson; repeated would have none


def test_the_report_counts_what_was_cheaper(tmp_path):
    """A case counts as won where the mean over its runs is below naive's, and only there."""
    pytest.importorskip("matplotlib")
    data = study.grown({"taxi": made_up("taxi", 3_000)}, times=3)
    cases = list(study.scenes(data))
    assert [each.how for each in cases] == ["repeated"] * 3 + ["resampled"] * 3
    assert all(set(each.cells.distances % 3) == {0} for each in cases[:2:2])
    text = "\n".join(
        report.lines_of(
            cases,
            study.by_query(cases[-2:], 2) | study.by_query(cases[:1], 2),
            study.by_tolerance(cases[-1], 1, (1, 4)),
            [_trial(1, below=True), _trial(1, below=False), _trial(12, below=True)],
            tmp_path,
        )
    )
    assert "| 1% | ProBE | 1 of 2 |" in text
    assert "| 12% | ProBE | 1 of 1 | 0.50 | 1 of 1 | 0 of 0 |" in text
    assert (tmp_path / "tolerance.png").is_file()


def test_naive_is_kept_within_alpha():
    """The oracle is the widest tolerance whose false alarms are few; ProBE's is as asked for."""
    data = {"badges": made_up("badges", 3_000)}
    trials = study.by_last_tolerance(data, 2, times=(1,), sizes=(2,), percents=(6,))
    assert [each.kind for each in trials] == ["conjunction", "combination", "disjunction"]
    for each in trials:
        assert each.kept.fpr <= 0.1
        assert each.kept_percent == 30 or each.kept.value("mean") > 0
        assert set(each.probes) == set(study.PROBES)


def _trial(percent, *, below):
    probes = dict.fromkeys(study.PROBES, _measured(0.5 if below else 2.0))
    return study.Trial("taxi", "conjunction", 2, 1, percent, _measured(1.0), None, 0, probes)


def _measured(epsilon):
    every, none = np.array([epsilon]), np.array([0])
    return Measured(every, every, every, none, none, 1, 1, none, 1)
