"""Tolerances that are printed: pasted into a configuration they mean what was planned or tried."""

from __future__ import annotations

import itertools

import pytest
import yaml
from click.testing import CliRunner

from stream.cli.main import main
from stream.config.alarms.tolerances import tolerance_text
from stream.config.sql.text import name_in_sql
from stream.config.yamlfile import quoted
from tests.unit.stream.config.given import loaded

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
      paid: {{type: float, clip: [-2, 3], resolution: "0.5"}}
      third: {{type: float, clip: [0, 5], resolution: 1/3}}
      ts: timestamp
budget: {{privacy_unit: event, epsilon_max: "{epsilon_max}"}}
alarms:
  a:
    sql: |
      SELECT room FROM badges GROUP BY room, TUMBLE(ts, INTERVAL '1' HOUR)
      HAVING {having}
    max_fnr: 0.05
"""


def alarms_of(folder, having, *lines, epsilon_max="1000", tolerance=None):
    """Return what a file with this HAVING and these lines means, which has no error."""
    text = FILE.format(having=having, epsilon_max=epsilon_max)
    if tolerance is not None:
        lines = (*lines, f"tolerance: {tolerance}")
    text += "".join(f"    {line}\n" for line in lines)
    (folder / "alarms.yaml").write_text(text)
    return loaded(folder, text, fine="room,age\nlab,0.3\nhall,2.75\nattic,9.125\n")


def query_of(folder, having, *lines, **rest):
    """Return the query of a file that has no error."""
    return alarms_of(folder, having, *lines, **rest).by_name["a"]


def test_changes_show_whole_comparisons(tmp_path):
    """What looks like a style to a terminal's library, ``fine[room]``, is printed as it is."""
    having = "AVG(age) > fine[room] AND COUNT(*) > 60"
    tolerance = '{"AVG(age) > fine[room]": 100, "COUNT(*) > 60": 0}'
    alarms_of(tmp_path, having, epsilon_max="0.9", tolerance=tolerance)
    shown = CliRunner().invoke(main, ["plan", str(tmp_path / "alarms.yaml")]).stdout
    assert '"AVG(age) > fine[room]"' in shown


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
def test_tolerances_are_published_as_they_are_written(tmp_path, having, tolerance, published):
    """Alarms and plans say the field's own unit, whatever the statistic counts in."""
    query = query_of(tmp_path, having, tolerance=tolerance)
    assert query.tolerance == published
    text = tolerance_text(query, query.aim.tolerances)
    assert query_of(tmp_path, having, tolerance=text).aim == query.aim


ODD = 'a "b" \\ \' é ☃ 😀 \n\t\x07 \x7f \x85 \u2028 \ufeff ${x}: {y}, # z'


def test_quoted_texts_are_yaml():
    """Any text comes back from its quotes, on one line."""
    for text in (ODD, *map("".join, itertools.permutations("\\\"'n", 3))):
        assert "\n" not in quoted(text)
        assert yaml.safe_load("{" + quoted(text) + ": 1}") == {text: 1}


def test_names_are_quoted_where_sql_needs_it():
    """Plain names stay plain; names that SQL would read as something else do not."""
    plain = ["ts", "order", "time", "timestamp"]
    assert [name_in_sql(name) for name in plain] == plain
    odd = ["a b", "event.time", "select", "a, b", "a)--", "null", "1"]
    assert [name_in_sql(name) for name in odd] == [f'"{name}"' for name in odd]
