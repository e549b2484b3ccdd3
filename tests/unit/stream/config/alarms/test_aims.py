"""What alarms promise: tolerances by comparison, and conditions that make no sense.

Bad inputs stand in one good file; the mark ``⟦`` (removed before reading) stands where the error
must point to.
"""

from __future__ import annotations

from fractions import Fraction

import pytest

from operators.conditions.condition import Aim
from tests.support.configurations import MARK, assert_named
from tests.unit.stream.config.given import examined

GOOD = """\
tables: {capacity: capacity.csv}
feeds:
  badges:
    topic: building.badges
    time: ts
    unit: person
    fields:
      person: string
      room: {domain: [lobby, lab, attic]}
      floor: {type: integer, domain: [1, 2]}
      load: {type: float, clip: [-1.5, 10], resolution: "0.5"}
      owed: {type: integer, clip: [-9, 0]}
      tall: {type: integer, clip: [0, 9]}
      free: float
      ts: timestamp
budget:
  privacy_unit: user
  epsilon_max: "4"
  period: 1d
  contribution: {max_groups_per_window: 2, max_events_per_group: 3}
alarms:
  fire-code:
    sql: |
      SELECT room FROM badges
      GROUP BY room, TUMBLE(ts, INTERVAL '1' HOUR)
      HAVING CONDITION
    max_fnr: 0.05
    LINES
"""
CAPACITY = "room,seats\nlobby,120\nlab,80\nattic,30\n"


def text_of(having, *lines):
    """Return the good file with this HAVING and these lines."""
    rest = "\n    ".join(lines)
    return GOOD.replace("CONDITION", having).replace("LINES", rest or "timing: {grace: 30s}")


def report_of(folder, having, *lines):
    """Return what that file comes to."""
    return examined(folder, text_of(having, *lines), capacity=CAPACITY)


def test_what_keeps_empty_groups_quiet_keeps_the_tolerances(tmp_path):
    """The hint has them all, and done as it says, nothing is left to warn of."""
    warned, *_ = report_of(tmp_path, "AVG(load) > 5", "tolerance: 20", "baseline: 4").warnings
    line = 'tolerance: {"AVG(load) > 5": 20, "COUNT(*) >= 20": 9}'
    assert warned.hint == f"write AND COUNT(*) >= 20, with {line} and no baseline"
    assert report_of(tmp_path, "AVG(load) > 5 AND COUNT(*) >= 20", line).warnings == ()


FLAGSHIP = "(COUNT(*) > 50 AND AVG(load) > 6.5) OR COUNT(DISTINCT person) > 80"


def test_a_tree_of_conditions_becomes_statistics_atoms_and_an_aim(tmp_path):
    """Three aggregates arrive whole, with tolerances by comparison."""
    report = report_of(
        tmp_path,
        FLAGSHIP,
        "mechanism: probe",
        'tolerance: {"count(*) > 50": 5, "AVG(load) > 6.50": 20, "80 < COUNT(DISTINCT person)": 8}',
    )
    assert report.errors == report.warnings == ()
    query = report.alarms.by_name["fire-code"]
    assert [spec.kind.value for spec in query.aggregates] == ["count", "offset", "distinct_units"]
    assert str(query.condition.formula) == "a1 AND a2 OR a3"
    assert query.condition.sensitivities == (3, 3 * 16, 1)
    assert query.texts == (
        "COUNT(*) > 50",
        "AVG(load) > 6.5",
        "COUNT(DISTINCT person) > 80",
    )
    assert query.aim == Aim(
        Fraction(1, 20),
        tolerances=(5, 40, 8),
        first_tolerances=(15, 200, 24),
    )


@pytest.mark.parametrize(
    ("having", "lines", "tolerances", "first"),
    [
        ("COUNT(*) > 50", (), (0,), ()),
        ("COUNT(*) > 50 OR COUNT(DISTINCT person) < 9", ("tolerance: 4",), (4, 4), ()),
        ("COUNT(*) = 50", ("tolerance: 4",), (4, 4), ()),
        ("COUNT(*) = 50", ('tolerance: {"COUNT(*) = 50": 4}',), (4, 4), ()),
        ("COUNT(*) = 50", ('tolerance: {"COUNT(*) > 50": 3, "COUNT(*) >= 50": 4}',), (4, 3), ()),
        ("NOT COUNT(*) = 50", ('tolerance: {"COUNT(*) = 50": 4}',), (4, 4), ()),
        ("AVG(load) BETWEEN -1.5 AND 5", ("tolerance: 2",), (4, 0), ()),
        ("SUM(load) > 9 OR AVG(load) > 5", ("tolerance: 4.5",), (9, 9), ()),
        ("AVG(load) > 5.25", ("tolerance: 0.25",), (1,), ()),
        ("MEDIAN(load) > 5 AND COUNT(*) > 20", ("tolerance: 2",), (2, 2), ()),
        ("AVG(load) <= 5", ("tolerance: 2",), (4, 0), ()),
        ("AVG(load) <= 5", ('tolerance: {"AVG(load) <= 5": 2, "COUNT(load) > 0": 0}',), (4, 0), ()),
        ("COUNT(*) > 50", ("tolerance: 20", "mechanism: probe-ent"), (20,), (20,)),
        ("COUNT(*) > 50", ("mechanism: probe",), (0,), (15,)),
        ("COUNT(*) <= 50", ("mechanism: probe",), (0,), (15,)),
        ("COUNT(*) > capacity[room]", ("mechanism: probe",), (0,), (36,)),
        ("SUM(load) > -9", ("mechanism: probe", "tolerance: 1"), (2,), (5,)),
        ("MEDIAN(load) > 5", ("mechanism: probe", "tolerance: 2"), (2,), (10,)),
        ("MEDIAN(load) < 5", ("mechanism: probe", "tolerance: 2"), (2, 0), (10, 0)),
    ],
)
def test_tolerances_are_in_units_of_the_statistics(tmp_path, having, lines, tolerances, first):
    """Counts and ranks count events, sums and averages granules; first phases have defaults."""
    aim = report_of(tmp_path, having, *lines).alarms.by_name["fire-code"].aim
    assert (aim.tolerances, aim.first_tolerances) == (tolerances, first)


def test_too_many_tests_are_refused(tmp_path):
    """Ways to be true may be 2^16, as one noise decides all; too many tests are an error."""
    counts = [f"COUNT(*) FILTER (WHERE floor = {at}) > 9" for at in range(16)]
    pairs = [f"({counts[at]} OR NOT {counts[at ^ 1]})" for at in range(16)]
    assert not report_of(tmp_path, " AND ".join(pairs)).errors
    having = " OR ".join(f"({a} AND {b})" for a in counts for b in counts[:3])
    marked = f"({MARK}{having[1:]}"
    found = report_of(tmp_path, marked).errors
    assert_named(found, text_of(marked), "comparisons; the limit is 64")


@pytest.mark.parametrize(
    ("having", "tolerance"),
    [(FLAGSHIP, "7"), ("COUNT(*) > 50 AND MIN(load) < 3 OR AVG(load) > 4", "9")],
)
def test_the_mapping_in_a_hint_is_taken(tmp_path, having, tolerance):
    """What is suggested instead of one number can be pasted."""
    (error,) = report_of(tmp_path, having, f"tolerance: {tolerance}").errors
    assert not report_of(tmp_path, having, error.hint.removeprefix("write ")).errors
