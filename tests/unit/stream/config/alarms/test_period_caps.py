"""Caps over a period: what they do not go with is refused where it is written, with a hint."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from stream.config.loading import examine

if TYPE_CHECKING:
    from pathlib import Path

    from stream.config.loading import Report


def examined(folder: Path, budget: str, *, alarm: str = "") -> Report:
    """Examine an alarm by the hour under a budget, and some further keys of it."""
    text = f"""\
feeds:
  badges:
    topic: building.badges
    time: ts
    unit: person
    fields: {{person: string, room: {{domain: [hall]}}, ts: timestamp}}
budget:
  {{{budget}}}
alarms:
  crowd:
    sql: |
      SELECT room FROM badges GROUP BY room, TUMBLE(ts, INTERVAL '1' HOUR)
      HAVING COUNT(DISTINCT person) > 20
    active: "Mon-Fri 07:00-22:00"
    max_fnr: 0.05
    tolerance: 5
{alarm}
"""  # noqa: S608  # the language under test
    (folder / "alarms.yaml").write_text(text, encoding="utf-8")
    return examine(folder / "alarms.yaml", environ={})


def day(most: object) -> str:
    """Return a budget by the day with a cap."""
    caps = f"{{max_windows_per_period: {most}}}"
    return f'privacy_unit: user, epsilon_max: "9", period: 1d, contribution: {caps}'


MISTAKES = [
    (day(0), "", "windows_per_period is a whole number from 1", 8),
    (day(3).replace("1d", "lifetime"), "", "needs one that ends", 8),
    (
        'privacy_unit: event, epsilon_max: "9", contribution: {max_windows_per_period: 3}',
        "",
        "privacy_unit: user",
        8,
    ),
    (day(3), "    share: 0.5", "shares of a budget whose periods have caps", 17),
    (
        day(3),
        "    mechanism: {svt: {max_alarms: 3}}",
        "a run of svt is charged",
        17,
    ),
]


@pytest.mark.parametrize(("budget", "alarm", "said", "line"), MISTAKES)
def test_mistakes_are_refused_where_they_stand(
    tmp_path: Path, budget: str, alarm: str, said: str, line: int
) -> None:
    """With the line, and what to write instead."""
    errors = examined(tmp_path, budget, alarm=alarm).errors
    (error,) = [one for one in errors if said in str(one)]
    assert error.line == line
    assert error.hint


@pytest.mark.parametrize(("most", "refused"), [(2, True), (3, False)])
def test_a_cap_below_what_overlaps_is_refused(tmp_path: Path, most: int, refused: bool) -> None:
    """An event of a window in three would count in two of them: true totals could not fire."""
    examined(tmp_path, day(most))
    path = tmp_path / "alarms.yaml"
    hop = "HOP(ts, INTERVAL '20' MINUTE, INTERVAL '1' HOUR)"
    text = path.read_text(encoding="utf-8").replace("TUMBLE(ts, INTERVAL '1' HOUR)", hop)
    path.write_text(text, encoding="utf-8")
    found = [str(one) for one in examine(path, environ={}).errors]
    assert any("lies in 3 windows at once" in one for one in found) is refused
    assert refused or not found


def test_a_cap_is_said_in_words(tmp_path: Path) -> None:
    """Also where it is as large as the period; the first windows count, not the largest."""
    for most, said in ((1, "in the first window of a period"), (15, "in the first 15 windows")):
        report = examined(tmp_path, day(most))
        assert not report.errors
        assert any(said in str(note) for note in report.notes)
