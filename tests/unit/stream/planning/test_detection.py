"""At what count an alarm rings, from its file alone."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from operators.conditions.score import score_of
from stream.config.loading import load
from stream.decisions.mechanisms import operator_of
from stream.planning.detection import DetectionCurve, why_not
from tests.support.detection import curves, ring_probability
from tests.support.planned import Alarm, Config

if TYPE_CHECKING:
    from pathlib import Path

    from stream.model.alarm import Alarm as Query


def loaded(folder: Path, having: str, *, head: str = "", **fields: Any) -> Query:
    """Return what a file of one alarm means."""
    alarm = Alarm(having=having, **{"tolerance": "0", **fields})
    path = Config({"one": alarm}, epsilon_max="400").write(folder)
    path.write_text(head + path.read_text())
    return load(path, environ={}).by_name["one"]


def test_twenty_seats_with_a_tolerance_of_nine_ring_at_ten(tmp_path: Path) -> None:
    """The known case: 0.35 at 10 people, 0.83 at 16, and every true alarm but for 0.05."""
    query = loaded(tmp_path, "COUNT(DISTINCT person) > 20", tolerance="9")
    known = {8: 0.2131, 10: 0.3455, 16: 0.8327, 21: 0.95}
    at = {count: ring_probability(query, count) for count in known}
    assert at == pytest.approx(known, abs=5e-5)


@pytest.mark.parametrize("comparison", [">", ">=", "<=", "<"])
def test_a_curve_has_its_counts_beside_its_percents(tmp_path: Path, comparison: str) -> None:
    """Counts are per cents of the threshold as written, not of the integer test's."""
    (only,) = curves(loaded(tmp_path, f"COUNT(*) {comparison} 20", tolerance="9"))
    assert only.threshold == 20
    assert list(map(float, only.counts)) == [0, 5, 10, 15, 18, 20, 22]
    rising = list(only.chances) == sorted(only.chances)
    assert rising == (">" in comparison)
    due = only.chances[{">": -1, "<": -3}.get(comparison, -2)]
    assert due >= 0.95


def test_sums_are_in_the_fields_own_unit(tmp_path: Path) -> None:
    """A sum of halves is looked at in whole granules; 25 per cent of 1.5 is nearest to 0.5."""
    (only,) = curves(loaded(tmp_path, "SUM(paid) >= 1.5", tolerance="0.5"))
    assert only.threshold == Fraction(3, 2)
    assert list(map(float, only.counts)) == [0, 0.5, 1, 1, 1.5, 1.5, 1.5]


SEVERAL = "COUNT(*) > 9 AND (COUNT(DISTINCT person) > 4 OR SUM(paid) > 9)"
SHARED = "COUNT(*) > 9 AND COUNT(*) < 40 OR AVG(paid) > 3"


@pytest.mark.parametrize("promise", ["misses", "false_alarms"])
@pytest.mark.parametrize("mechanism", ["tslm", "ppwlm", "dppwlm", "svt"])
@pytest.mark.parametrize("having", [SEVERAL, SHARED, "MEDIAN(paid) >= 2"])
def test_a_condition_has_one_curve_in_its_score(
    tmp_path: Path, having: str, mechanism: str, promise: str
) -> None:
    """Whatever it reads: the operator's own law where the score is that, and a step off is not."""
    if mechanism == "svt" and promise != "misses":
        return
    extra = {"mechanism": mechanism} | ({"max_alarms": "3"} if mechanism == "svt" else {})
    if promise != "misses":
        extra |= {"bounded_error": "fpr", "max_fpr": "0.1"}
    query = replace(loaded(tmp_path, having, extra=extra), fingerprint="")
    tolerances = tuple(range(5, 5 + len(query.aim.tolerances)))  # odd steps and even ones
    query = replace(query, aim=query.aim.widened(tolerances))
    law, condition = DetectionCurve.of(query), query.condition
    rows = np.random.default_rng(1).integers(0, 30, (condition.statistics, 60), dtype=np.int64)
    if promise == "misses":
        score = score_of(condition, tolerances)
        scores = score.of(1, rows)
    else:
        score = score_of(condition.negated, tolerances)
        scores = ~score.of(1, rows)
    exact = operator_of(query).chances(1, rows)
    found = law.chances(1, 2 * scores)
    assert found == pytest.approx(exact, abs=1e-12)
    off = law.chances(1, 2 * scores + 2)
    assert np.abs(off - exact).max() > 1e-3
    assert law.steps == score.steps


@pytest.mark.parametrize(
    ("having", "mechanism", "why"),
    [
        ("MEDIAN(paid) > 3", "probe-ent", "it depends on how many values there are"),
        (
            "SUM(paid) > 9 AND SUM(paid) < 20.5",
            "probe-ent",
            "probe-ent chooses between several noisy values",
        ),
    ],
)
def test_where_no_law_is_known_the_reason_is(
    tmp_path: Path, having: str, mechanism: str, why: str
) -> None:
    """Nothing is approximated silently."""
    query = loaded(tmp_path, having, extra={"mechanism": mechanism})
    assert why_not(query) == why
    assert curves(query) is None
    assert ring_probability(query, 5) is None


def test_bands_are_looked_at_from_their_reference_on(tmp_path: Path) -> None:
    """Per cents of a band are those of its half-width, above the reference."""
    extra = {"mechanism": "decider", "decider": "lm", "reference": "100", "epsilon": '"0.2"'}
    band = Alarm(having="ABS(COUNT(*) - REFERENCE) >= 20", tolerance="0", extra=extra)
    text = band.text("band").replace("    tolerance: 0\n", "")
    path = Config({}, epsilon_max="400").write(tmp_path)
    path.write_text(path.read_text() + text)
    alarms = load(path, environ={})
    found = curves(alarms.by_name["band"])
    assert list(map(float, found[0].counts)) == [100, 105, 110, 115, 118, 120, 122]
    assert found[0].chances[5] == pytest.approx(0.55, abs=0.01)


def test_of_a_table_the_smallest_the_median_and_the_largest_are_shown(tmp_path: Path) -> None:
    """Thresholds that differ by cell: three curves, and probabilities of the cell asked about."""
    (tmp_path / "seats.csv").write_text("room,seats\nlab,20\nhall,120\nattic,8\n")
    head = "tables: {seats: seats.csv}\n"
    query = loaded(tmp_path, "COUNT(DISTINCT person) > seats[room]", head=head, tolerance="3")
    found = curves(query)
    assert [each.threshold for each in found] == [8, 20, 120]
    assert ring_probability(query, 9, threshold=8) == pytest.approx(0.95, abs=1e-3)
    assert ring_probability(query, 9) == DetectionCurve(query).at(0, [Fraction(9)])[0]  # type: ignore[index]
    with pytest.raises(ValueError, match="threshold 9"):
        ring_probability(query, 9, threshold=9)
