"""Tolerances that are printed: pasted into a configuration they mean what was planned or tried."""

from __future__ import annotations

import itertools
import json
from fractions import Fraction
from typing import TYPE_CHECKING, Any, cast

import pytest
import yaml
from click.testing import CliRunner

from operators.base import Plan
from stream.cli.main import main
from stream.config.alarms.tolerances import tolerance_text
from stream.config.loading import examine
from stream.config.sql.text import name_in_sql
from stream.config.yamlfile import quoted
from stream.model.queries import FirstTolerances
from stream.planning.changes import ChangeKind
from stream.planning.outlook import outlook
from stream.simulation.advice import described
from stream.simulation.draws.tally import Tally
from stream.simulation.report import report
from stream.simulation.results import AlarmResults, Measured, Simulation
from stream.simulation.settings import Untried, settings_of

if TYPE_CHECKING:
    from pathlib import Path

    from stream.config.loading import Report
    from stream.model.queries import Query

FILE = """\
tables: {{fine: fine.csv}}
feeds:
  badges:
    topic: building.badges
    time: ts
    unit: person
    fields:
      person: string
      kind: string
      room: {{domain: [lab, hall, attic]}}
      age: {{type: integer, clip: [0, 10]}}
      paid: {{type: float, clip: [-2, 3], granule: "0.5"}}
      third: {{type: float, clip: [0, 5], granule: 1/3}}
      ts: timestamp
budget: {{unit: event, epsilon_max: "{epsilon_max}"}}
alarms:
  a:
    sql: |
      SELECT room FROM badges GROUP BY room, TUMBLE(ts, INTERVAL '1' HOUR)
      HAVING {having}
    max_fnr: {max_fnr}
"""


def examined(
    folder: Path,
    having: str,
    *lines: str,
    epsilon_max: str = "1000",
    max_fnr: str = "0.05",
    tolerance: str | None = None,
) -> Report:
    """Return what a file with this HAVING and these lines means."""
    (folder / "fine.csv").write_text("room,age\nlab,0.3\nhall,2.75\nattic,9.125\n")
    text = FILE.format(having=having, epsilon_max=epsilon_max, max_fnr=max_fnr)
    if tolerance is not None:
        lines = (*lines, f"tolerance: {tolerance}")
    path = folder / "alarms.yaml"
    path.write_text(text + "".join(f"    {line}\n" for line in lines), encoding="utf-8")
    return examine(path, environ={})


def query_of(folder: Path, having: str, *lines: str, **rest: str) -> Query:
    """Return the query of a file that has no error."""
    found = examined(folder, having, *lines, **rest)
    assert found.alarms is not None, [str(error) for error in found.errors]
    return found.alarms.queries["a"]


SUGGESTED = [
    ("COUNT(*) > 60", "1", "mechanism: probe"),
    ("COUNT(*) > 60", "1", "mechanism: probe-ent"),
    ("COUNT(*) > 60", "1", "mechanism: probe"),
    ("AVG(age) <= 4.25", "1", "mechanism: probe"),
    ("MEDIAN(age) > 4 OR COUNT(*) > 90", "1", "mechanism: probe-ent"),
    ("COUNT(*) > 60 AND SUM(age) > 200", '{"COUNT(*)": 1, "SUM(age)": 1}', "mechanism: probe"),
    ("COUNT(*) FILTER (WHERE \"kind\" = 'a\\b') > 50 AND COUNT(*) > 60", "0", "mechanism: tslm"),
]


@pytest.mark.long
@pytest.mark.parametrize(("having", "tolerance", "lines"), SUGGESTED)
@pytest.mark.parametrize("epsilon_max", ["0.5", "1.5"])
def test_suggested_changes_can_be_pasted(
    tmp_path: Path, having: str, tolerance: str, lines: str, epsilon_max: str
) -> None:
    """Written into the file, a suggestion passes the check, and the plan fits as promised."""
    found = examined(tmp_path, having, lines, epsilon_max=epsilon_max, tolerance=tolerance)
    assert found.alarms is not None, [str(error) for error in found.errors]
    (scope,) = outlook(found.alarms)
    assert not scope.plan.fits
    for change in scope.changes:
        if change.possible and change.kind in {ChangeKind.TOLERANCE, ChangeKind.MAX_FNR}:
            changed = {
                "tolerance": tolerance,
                "max_fnr": "0.05",
                change.kind.value: change.values["a"],
            }
            again = examined(tmp_path, having, lines, epsilon_max=epsilon_max, **changed)
            assert again.alarms is not None, [str(error) for error in again.errors]
            (after,) = outlook(again.alarms)
            assert after.plan.fits, change


def test_tables_show_whole_comparisons(tmp_path: Path) -> None:
    """What looks like a style to the terminal's library, ``fine[room]``, is printed as it is."""
    having = "AVG(age) > fine[room] AND COUNT(*) > 60"
    tolerance = '{"AVG(age)": 100, "COUNT(*)": 0}'
    examined(tmp_path, having, epsilon_max="0.9", tolerance=tolerance)
    shown = CliRunner().invoke(main, ["plan", str(tmp_path / "alarms.yaml")]).stdout
    assert "recommended: tolerance" in shown
    assert shown.count('"AVG(age) > fine[room]"') == 2


TRIED = [
    ("COUNT(*) > 19", "1"),
    ("SUM(paid) > 9.5", "0.5"),
    ("AVG(age) > 6", "4"),
    ("AVG(age) > fine[room]", "0.025"),
    ("COUNT(*) > 19 AND AVG(age) <= 6", '{"AVG(age)": 4}'),
]


@pytest.mark.parametrize(("having", "tolerance"), TRIED)
def test_what_is_tried_is_what_a_configuration_gets(
    tmp_path: Path, having: str, tolerance: str
) -> None:
    """A simulated setting, written out as its description says, is that very aim."""
    for own in ("tslm", "probe"):
        query = query_of(tmp_path, having, f"mechanism: {own}", tolerance=tolerance)
        settings, _ = settings_of(query, mechanisms=["tslm", "probe", "probe-ent"])
        assert [each.mechanism for each in settings if each.configured] == [own]
        results = AlarmResults(query, cast("Any", None), (), ())
        for each in settings:
            one = Measured(each, Plan("", Fraction(1), 1.0), True, Tally())
            text = described(one, results)
            pasted = yaml.safe_load("{" + text + "\n}")
            written = [f"{key}: {json.dumps(value)}" for key, value in pasted.items()]
            written = [line for line in written if not line.startswith("max_fnr")]
            got = query_of(tmp_path, having, *written)
            assert (got.mechanism, got.aim) == (each.mechanism, each.aim), text


def test_reports_have_first_tolerances(tmp_path: Path) -> None:
    """The JSON of a simulation says both tolerances as a configuration writes them."""
    found = examined(tmp_path, "SUM(paid) > 9.5", "mechanism: probe", tolerance="0.5")
    assert found.alarms is not None
    query = found.alarms.queries["a"]
    settings, _ = settings_of(query, mechanisms=["tslm", "probe"], factors=[Fraction(1)])
    facts = {"windows": 1, "incomplete": 0, "cells": 3, "looks": 1}
    counted: Any = type("Counted", (), facts)()
    counted.starts_ms = [0, 1]
    untried = tuple(Untried(each, "") for each in settings)
    results = AlarmResults(query, counted, (), untried)
    (one,) = report(Simulation(found.alarms, 1, (results,), {"a": 1}))["alarms"]
    said = [(each["tolerance"], each["first_tolerance"]) for each in one["untried"]]
    assert said == [("0.5", None), ("0.5", "2.5")]


@pytest.mark.parametrize(
    ("having", "tolerance", "published"),
    [
        ("COUNT(*) > 50", "4", "4"),
        ("SUM(paid) > 9", "2.5", "2.5"),
        ("AVG(age) > fine[room]", "4", "4"),
        ("AVG(age) > fine[room]", "0.025", "0.025"),
        ("SUM(third) > 9", "1/3", "1/3"),
        ("AVG(paid) <= 1", "40", {"AVG(paid) <= 1": "40", "COUNT(paid) > 0": "0"}),
    ],
)
def test_tolerances_are_published_as_they_are_written(
    tmp_path: Path, having: str, tolerance: str, published: str | dict[str, str]
) -> None:
    """Alarms and plans say the field's own unit, whatever the statistic counts in."""
    query = query_of(tmp_path, having, tolerance=tolerance)
    assert query.tolerance == published
    text = tolerance_text(query, query.aim.tolerances)
    assert (json.loads(text) if text.startswith("{") else text) is not None
    assert query_of(tmp_path, having, tolerance=text).aim == query.aim


def test_first_tolerances_are_never_below_the_others() -> None:
    """They follow from the threshold or the tolerance, and none is smaller than that."""
    first = FirstTolerances((30, 30, None))
    assert first.beside((2, 2, 2)) == (30, 30, 10)
    assert first.beside((9, 40, 0)) == (30, 40, 0)


ODD = 'a "b" \\ \' é ☃ 😀 \n\t\x07 \x7f \x85 \u2028 \ufeff ${x}: {y}, # z'


def test_quoted_texts_are_yaml() -> None:
    """Any text comes back from its quotes, on one line."""
    for text in (ODD, *map("".join, itertools.permutations("\\\"'n", 3))):
        assert "\n" not in quoted(text)
        assert yaml.safe_load("{" + quoted(text) + ": 1}") == {text: 1}


def test_names_are_quoted_where_sql_needs_it() -> None:
    """Plain names stay plain; names that SQL would read as something else do not."""
    plain = ["ts", "order", "time", "timestamp"]
    assert [name_in_sql(name) for name in plain] == plain
    odd = ["a b", "event.time", "select", "a, b", "a)--", "null", "1"]
    assert [name_in_sql(name) for name in odd] == [f'"{name}"' for name in odd]
