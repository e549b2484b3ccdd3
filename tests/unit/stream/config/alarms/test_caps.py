"""What caps mean is said in words, and what they keep from counting is warned of."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from stream.config.loading import examine
from stream.model.contributions import contribution_rule, plural

if TYPE_CHECKING:
    from pathlib import Path

    from stream.config.loading import Report

HOUR = "TUMBLE(ts, INTERVAL '1' HOUR)"
USER = "privacy_unit: user, epsilon_max: 40, period: 1d"


def examined(
    folder: Path,
    having: str,
    *,
    caps: str = "",
    budget: str = USER,
    group: str = "room",
    window: str = HOUR,
    fields: str = "",
) -> Report:
    """Examine one alarm.

    Args:
        folder: where the file is written.
        having: its condition.
        caps: ``contribution``, as YAML.
        budget: its other keys.
        group: what is grouped by; may be empty.
        window: of the SQL.
        fields: what stands in place of the room's field, or of the person's.
    """
    declared = {
        "person": "string",
        "room": "{domain: [lobby, hall, lab]}",
        "floor": "{type: integer, domain: [1, 2]}",
        "n": "{type: integer, clip: [0, 50]}",
        "ts": "timestamp",
    }
    name, _, written = fields.partition(": ")
    declared |= {name: written} if name else {}
    lines = "\n".join(f"      {key}: {value}" for key, value in declared.items())
    text = f"""\
feeds:
  badges:
    topic: building.badges
    time: ts
    unit: person
    fields:
{lines}
budget: {{{budget}{", contribution: " + caps if caps else ""}}}
alarms:
  crowd:
    sql: |
      SELECT {group or 1} FROM badges
      GROUP BY {group + ", " if group else ""}{window}
      HAVING {having}
    max_fnr: 0.05
    tolerance: 2
"""  # noqa: S608  # the language under test
    (folder / "alarms.yaml").write_text(text, encoding="utf-8")
    return examine(folder / "alarms.yaml", environ={})


DISTINCT = "COUNT(DISTINCT person) > 20"
RULES = [
    (DISTINCT, {}, "a person counts in the first room of the hour only"),
    (
        DISTINCT,
        {"caps": "{max_groups_per_window: 2}"},
        "a person counts in the first 2 rooms of the hour only",
    ),
    (
        DISTINCT,
        {"caps": "{max_groups_per_window: 9}"},
        "a person counts in every room of the hour",
    ),
    (
        "COUNT(*) > 20",
        {
            "caps": "{max_groups_per_window: 2, max_events_per_group: 3}",
            "window": "TUMBLE(ts, INTERVAL '1' DAY)",
        },
        "a person counts in the first 2 rooms of the day only, with at most 3 events in each",
    ),
    (DISTINCT, {"group": ""}, "a person counts once in the hour"),
    ("COUNT(*) > 20", {"group": ""}, "a person counts in the hour, with one event"),
    (
        DISTINCT,
        {"group": "room, floor", "caps": "{max_groups_per_window: 4}"},
        "a person counts in the first 4 combinations of room and floor of the hour only",
    ),
    (
        "SUM(n) > 1000",
        {"caps": "{max_events_per_group: 3}"},
        (
            "a person counts in the first room of the hour only, with at most 3 events"
            " (worth 0 to 50 of n); SUM(n) > 1000 takes 7 persons or more"
        ),
    ),
    (
        DISTINCT,
        {"window": "TUMBLE(ts, INTERVAL '90' MINUTE)"},
        "a person counts in the first room of the window of 90 minutes only",
    ),
    (
        "SUM(n) > 50",
        {"group": ""},
        (
            "a person counts in the hour, with one event (worth 0 to 50 of n); SUM(n) > 50 takes"
            " 2 persons or more"
        ),
    ),
    (
        "SUM(n) > 49",
        {"group": ""},
        (
            "a person counts in the hour, with one event (worth 0 to 50 of n); SUM(n) > 49 takes"
            " 1 person or more"
        ),
    ),
    (
        "COUNT(*) > 20",
        {"budget": "privacy_unit: event, epsilon_max: 4"},
        (
            "each event counts once, in its room and hour: one event is protected, not all that one"
            " person does"
        ),
    ),
    (
        "COUNT(*) > 20",
        {
            "budget": "privacy_unit: event, epsilon_max: 4",
            "window": "HOP(ts, INTERVAL '15' MINUTE, INTERVAL '1' HOUR)",
        },
        (
            "each event counts once, in its room and window of 1 hour, 4 windows at most: one event"
            " is protected, not all that one person does"
        ),
    ),
]


@pytest.mark.parametrize(("having", "settings", "rule"), RULES)
def test_the_rule_is_put_into_words(
    tmp_path: Path, having: str, settings: dict[str, str], rule: str
) -> None:
    """`check` and `plan` note what a unit counts for, at the alarm's SQL."""
    report = examined(tmp_path, having, **settings)
    assert report.alarms is not None, report.errors
    (query,) = report.alarms.queries.values()
    assert contribution_rule(query, report.alarms.budget) == rule
    (note,) = report.notes
    assert note.message == f"crowd: {rule}"
    assert note.line > 10


WARNED = [
    (DISTINCT, {}, "whoever moves is counted in the first room of the hour only"),
    (DISTINCT, {"group": "room, floor"}, "counted in the first room and floor of the hour only"),
    (
        DISTINCT,
        {"group": "room, floor", "fields": "floor: {type: integer, domain: [1, 2], fixed: true}"},
        "counted in the first room of the hour only",
    ),
    ("COUNT(*) > 20", {"group": ""}, "COUNT counts the first event of each person"),
    ("SUM(n) > 20", {"group": ""}, "SUM adds up the first event of each person only"),
    (
        "COUNT(person) > 20",
        {"group": "", "caps": "{max_events_per_group: 3}"},
        "COUNT(person) counts events, not persons: a person counts up to 3 times",
    ),
    (
        "COUNT(person) FILTER (WHERE n > 1) > 20",
        {"group": "", "caps": "{max_events_per_group: 3}"},
        "COUNT(person) FILTER(WHERE n > 1) counts events, not persons",
    ),
    (
        "COUNT(person) > 20",
        {"budget": "privacy_unit: event, epsilon_max: 4"},
        "COUNT(person) counts events, not persons: a person counts with every event",
    ),
    ("COUNT(person) > 20", {"group": ""}, "COUNT counts the first event of each person"),
    (
        "SUM(person) > 20",
        {
            "group": "",
            "caps": "{max_events_per_group: 3}",
            "fields": "person: {type: integer, clip: [0, 50]}",
        },
        "SUM(person) takes ids for amounts",
    ),
    (
        "MEDIAN(person) > 20",
        {"group": "", "fields": "person: {type: integer, clip: [0, 50]}"},
        "MEDIAN(person) takes ids for amounts",
    ),
]


@pytest.mark.parametrize(("having", "settings", "said"), WARNED)
def test_what_caps_keep_from_counting_is_warned_of(
    tmp_path: Path, having: str, settings: dict[str, str], said: str
) -> None:
    """One warning says who does not count, and what to write."""
    report = examined(tmp_path, having, **settings)
    assert report.alarms is not None, report.errors
    (warning,) = [one for one in report.warnings if "nothing was counted" not in one.message]
    assert said in warning.message
    assert warning.hint


def test_what_counts_another_thing_than_units_is_shown_where_it_stands(tmp_path: Path) -> None:
    """Of two counts, the one that looks like a count of people is pointed at, and told instead."""
    having = "COUNT(*) > 20 AND COUNT(person) > 30"
    report = examined(tmp_path, having, group="", caps="{max_events_per_group: 3}")
    (warning,) = report.warnings
    lines = (tmp_path / "alarms.yaml").read_text(encoding="utf-8").splitlines()
    assert lines[warning.line - 1][warning.column - 1 :].startswith("COUNT(person) > 30")
    assert "write COUNT(DISTINCT person) if persons are meant" in warning.hint
    assert "COUNT(*) if events are" in warning.hint


SILENT = [
    (DISTINCT, {"caps": "{max_groups_per_window: 2}"}),
    (DISTINCT, {"group": ""}),
    (DISTINCT, {"fields": "room: {domain: [lobby]}"}),
    (DISTINCT, {"fields": "room: {domain: [lobby, hall], fixed: true}"}),
    ("COUNT(*) > 20", {"group": "", "caps": "{max_events_per_group: 2}"}),
    ("COUNT(*) > 20", {"budget": "privacy_unit: event, epsilon_max: 4"}),
    ("COUNT(n) > 20", {"group": "", "caps": "{max_events_per_group: 2}"}),
    (DISTINCT, {"budget": "privacy_unit: event, epsilon_max: 4"}),
]


@pytest.mark.parametrize(("having", "settings"), SILENT)
def test_caps_that_do_what_is_asked_are_not_warned_of(
    tmp_path: Path, having: str, settings: dict[str, str]
) -> None:
    """Where nobody is left out, nothing is said."""
    report = examined(tmp_path, having, **settings)
    assert report.alarms is not None, report.errors
    assert report.warnings == ()


def test_plurals() -> None:
    """Names of fields have their regular plurals."""
    nouns = ("room", "country", "day", "branch", "bus")
    assert [plural(noun) for noun in nouns] == ["rooms", "countries", "days", "branches", "buses"]
