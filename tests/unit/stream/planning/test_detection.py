"""At what count an alarm fires, from its file alone."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from operators.conditions.score import score_of
from stream.config.loading import load
from stream.decisions.mechanisms import operator_of
from stream.planning.detection import DetectionCurve, why_not
from tests.support.planned import Alarm, Config, fires_at


def loaded(folder, having, *, head="", **fields):
    """Return what a file of one alarm means."""
    alarm = Alarm(having=having, **{"tolerance": "0", **fields})
    path = Config({"one": alarm}, epsilon_max="400").write(folder)
    path.write_text(head + path.read_text())
    return load(path, environ={}).by_name["one"]


def test_twenty_seats_with_a_tolerance_of_nine_fire_at_ten(tmp_path):
    """The known case: 0.35 at 10 people, 0.83 at 16, and every true alarm but for 0.05."""
    query = loaded(tmp_path, "COUNT(DISTINCT person) > 20", tolerance="9")
    found = fires_at(query, 8, 10, 16, 21)
    assert found == pytest.approx((0.2131, 0.3455, 0.8327, 0.95), abs=5e-5)


@pytest.mark.parametrize(("comparison", "due"), [(">", 21), (">=", 20), ("<=", 20), ("<", 19)])
def test_a_curve_turns_at_the_threshold_as_written(tmp_path, comparison, due):
    """The first count that is due fires surely enough, the one before it does not."""
    query = loaded(tmp_path, f"COUNT(*) {comparison} 20", tolerance="9")
    assert DetectionCurve.of(query).marks(0) == (20,)
    counts = sorted(range(41), reverse="<" in comparison)
    chances = fires_at(query, *counts)
    assert list(chances) == sorted(chances)
    assert sum(chance < 0.95 for chance in chances) == counts.index(due)


def test_sums_are_in_the_fields_own_unit(tmp_path):
    """A sum of halves is read in whole steps of the resolution: 0.6 is nearest to 0.5."""
    query = loaded(tmp_path, "SUM(paid) >= 1.5", tolerance="0.5")
    assert DetectionCurve.of(query).marks(0) == (Fraction(3, 2),)
    near, half, due = fires_at(query, 0.6, 0.5, 1.5)
    assert near == half < 0.95 <= due


SEVERAL = "COUNT(*) > 9 AND (COUNT(DISTINCT person) > 4 OR SUM(paid) > 9)"
SHARED = "COUNT(*) > 9 AND COUNT(*) < 40 OR AVG(paid) > 3"
FPR = {"bounded_error": "fpr", "max_fpr": "0.1"}
MECHANISMS = [
    *(
        (name, more)
        for name in ("tslm", "ppwlm", "dppwlm")
        for more in ({}, FPR)
    ),
    ("svt", {"max_alarms": "3"}),
]  # fmt: skip


@pytest.mark.parametrize(("mechanism", "more"), MECHANISMS)
@pytest.mark.parametrize("having", [SEVERAL, SHARED, "MEDIAN(paid) >= 2"])
def test_a_condition_has_one_curve_in_its_score(tmp_path, having, mechanism, more):
    """Whatever it reads: the operator's own law where the score is that, and a step off is not."""
    query = loaded(tmp_path, having, extra={"mechanism": mechanism, **more})
    tolerances = tuple(range(5, 5 + len(query.aim.tolerances)))  # odd steps and even ones
    query = replace(query, aim=query.aim.widened(tolerances), fingerprint="")
    law, condition = DetectionCurve.of(query), query.condition
    rows = np.random.default_rng(1).integers(0, 30, (condition.statistics, 60), dtype=np.int64)
    turned = more is FPR
    score = score_of(condition.negated if turned else condition, tolerances)
    scores = ~score.of(1, rows) if turned else score.of(1, rows)
    exact = operator_of(query).chances(1, rows)
    assert law.chances(1, 2 * scores) == pytest.approx(exact, abs=1e-12)
    assert np.abs(law.chances(1, 2 * scores + 2) - exact).max() > 1e-3
    assert law.steps == score.steps


@pytest.mark.parametrize(
    ("having", "why"),
    [
        ("MEDIAN(paid) > 3", "it depends on how many values there are"),
        (
            "SUM(paid) > 9 AND SUM(paid) < 20.5",
            "probe-ent chooses between several noisy values",
        ),
    ],
)
def test_where_no_law_is_known_the_reason_is(tmp_path, having, why):
    """Nothing is approximated silently."""
    assert why_not(loaded(tmp_path, having, extra={"mechanism": "probe-ent"})) == why


def test_a_band_is_measured_from_its_reference(tmp_path):
    """Its edges lie a half-width from it, on both sides."""
    keys = {"mechanism": "decider", "decider": "lm", "reference": "100", "epsilon": '"0.2"'}
    query = loaded(tmp_path, "ABS(COUNT(*) - REFERENCE) >= 20", tolerance="", extra=keys)
    assert DetectionCurve.of(query).marks(0) == (80, 120)
    assert fires_at(query, 120) == pytest.approx((0.55,), abs=0.01)


def test_of_a_table_the_smallest_the_median_and_the_largest_are_shown(tmp_path):
    """Thresholds that differ by group: each has a curve of its own."""
    (tmp_path / "seats.csv").write_text("room,seats\nlab,20\nhall,120\nattic,8\n")
    head = "tables: {seats: seats.csv}\n"
    query = loaded(tmp_path, "COUNT(DISTINCT person) > seats[room]", head=head, tolerance="3")
    law = DetectionCurve.of(query)
    assert [law.thresholds[cell] for cell in law.cells()] == [8, 20, 120]
    smallest, median, _ = law.cells()
    assert median == law.median_cell
    assert fires_at(query, 9, cell=smallest) == fires_at(query, 21) == pytest.approx((0.95,))
