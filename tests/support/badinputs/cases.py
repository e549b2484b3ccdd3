"""Files of tests that cannot be used: keys, predicates, numbers, probabilities, events, windows."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.support.badinputs.shapes import Edit

__all__ = ["CASES", "GOOD_CASES"]

GOOD_CASES = """\
alarms: alarms.yaml
tests:
  - name: a full lab rings
    alarm: crowd
    counts: {lab: 60, hall: 3}
    ring: {lab: ">= 0.95", hall: "<= 0.05"}
  - name: sixty people in the lab
    events: badges.jsonl
    windows:
      - start: 2025-03-03T10:00
        counts: {lab: 60}
        ring: {lab: ">= 0.95"}
  - name: some in the hall
    events:
      - {repeat: 3, person: "p{i}", room: hall, floor: 1, ts: "2025-03-03T09:00:00Z"}
      - {person: p1, room: attic, floor: 1, ts: "2025-03-03T09:00:00Z"}
    dropped: {out_of_domain: 1}
    windows:
      - start: 2025-03-03T10:00
        counts: {hall: 3}
        left_out: {beyond_events: 0}
"""
"""Tests of the good configuration that pass."""

# ruff: noqa: E501  # a row is a line
# fmt: off
CASES: tuple[Edit, ...] = (
    ("alarms: alarms.yaml\n", "", "1:1", "`alarms` is missing hint: write alarms: alarms.yaml"),
    ("alarms: alarms.yaml", "alarm: alarms.yaml", "1:1", "did you mean `alarms`?"),
    ("alarms: alarms.yaml", "alarms: other.yaml", "", "other.yaml:1:1: cannot read the file: No such file or directory"),
    ("alarms: alarms.yaml", "alarms: [alarms.yaml, alarms.yaml]", "1:23", "alarm `crowd` stands in alarms.yaml already"),
    ("alarms: alarms.yaml", "alarms: {a: b}", "1:9", "a list belongs here"),
    ("alarms: alarms.yaml", 'alarms: "a\\0.yaml"', "1:9", "this is no name of a file"),
    ("alarms: alarms.yaml", "alarms: .", "", "cannot read the file: Is a directory"),
    ("events: badges.jsonl", 'events: "a\\0.jsonl"', "7:11", "not a path"),
    ("events: badges.jsonl", "events: .", "7:11", "a folder, not a file"),
    ("start: 2025-03-03T10:00\n        counts: {lab: 60}", "start: 9999-12-31T23:00Z\n        counts: {lab: 60}", "10:16", "the window ends after the year 9999"),
    ("alarms: alarms.yaml", "alarms: ''", "1:9", "the value is empty"),
    ("tests:\n", "tests: []\nothers:\n", "3:1", "`others` is not a key here"),
    ("  - name: a full lab rings\n    alarm", "  - alarm", "3:5", "`name` is missing hint: write name: a full hall rings"),
    ("alarm: crowd", "alarm: crowds", "4:12", "did you mean `crowd`?"),
    ("alarm: crowd", "alarms: crowd", "4:5", "did you mean `alarm`?"),
    ("alarm: crowd", "mood: good", "4:5", "`mood` is not a key here"),
    ("    counts: {lab: 60, hall: 3}\n", "", "3:5", "write counts: {hall: 200} for one window's aggregates, or events"),
    ("counts: {lab: 60, hall: 3}", "counts: {lob: 60}", "5:14", "did you mean `lab`?"),
    ("counts: {lab: 60, hall: 3}", "counts: 60", "5:13", "write {lab: ...}"),
    ("counts: {lab: 60, hall: 3}", "counts: {lab: many}", "5:19", "write COUNT(*) as a number, as 200"),
    ("counts: {lab: 60, hall: 3}", "counts: {lab: 1.5}", "5:19", "write 1 or 2"),
    ("counts: {lab: 60, hall: 3}", "counts: {lab: -1}", "5:19", "COUNT(*) is never below 0"),
    ("counts: {lab: 60, hall: 3}", "counts: {lab: 1e30}", "5:19", "write a smaller number"),
    ("counts: {lab: 60, hall: 3}", "counts: {lab: [60, 3]}", "5:19", "write COUNT(*) alone"),
    ("counts: {lab: 60, hall: 3}", "counts: {lab: {a: 3}}", "5:19", "write COUNT(*) as a number"),
    ("counts: {lab: 60, hall: 3}", "counts: {lab: 60, lab: 3}", "5:23", "`lab` is written twice"),
    ("counts: {lab: 60, hall: 3}", "counts:", "5:12", "the value is empty"),
    ("counts: {lab: 60, hall: 3}", "counts: {lab: 60}\n    references: {lab: 3}", "6:5", "has no reference that a feed says hint: remove it"),
    ("counts: {lab: 60, hall: 3}", "counts: {lab: 60}\n    dropped: {late: 3}", "6:5", "write events instead of counts"),
    ("counts: {lab: 60, hall: 3}", "counts: {lab: 60}\n    windows: []", "6:5", "write events instead of counts"),
    ("counts: {lab: 60, hall: 3}", "counts: {lab: 60}\n    sampled: 3", "6:14", "write a whole number from 100 to 100000"),
    ("counts: {lab: 60, hall: 3}", "counts: {lab: 60}\n    sampled: some", "6:14", "write a number, as 0.05"),
    ('    ring: {lab: ">= 0.95", hall: "<= 0.05"}\n', "", "3:5", "nothing is expected of the counts"),
    ('{lab: ">= 0.95", hall: "<= 0.05"}', "{cellar: '< 0.1'}", "6:12", "known here: hall, lab"),
    ('{lab: ">= 0.95", hall: "<= 0.05"}', '">= 0.95"', "6:11", "this does not say which room it is about"),
    ('{lab: ">= 0.95", hall: "<= 0.05"}', "{lab: >= 0.95}", "6:17", "put the value in quotes"),
    ('{lab: ">= 0.95", hall: "<= 0.05"}', "\n      lab: >= 0.95", "7:13", "put the value in quotes"),
    ('{lab: ">= 0.95", hall: "<= 0.05"}', "\n      lab: > 0.95", "7:14", "put the value in quotes"),
    ('{lab: ">= 0.95", hall: "<= 0.05"}', "{lab: often}", "6:17", 'write ">= 0.99", "< 0.01", "0.2 to 0.4", or 0.35'),
    ('{lab: ">= 0.95", hall: "<= 0.05"}', "{lab: 95%}", "6:17", "a probability is written as a number: 0.95"),
    ('{lab: ">= 0.95", hall: "<= 0.05"}', "{lab: 1}", "6:17", "compared in its digits behind the point"),
    ('{lab: ">= 0.95", hall: "<= 0.05"}', "{lab: [0.2, 0.4]}", "6:17", "one probability belongs here"),
    ('{lab: ">= 0.95", hall: "<= 0.05"}', "{lab: 0.4 to 0.2}", "6:17", "the first number is the larger one"),
    ("events: badges.jsonl", "events: badge.jsonl", "7:11", "badge.jsonl: no such file hint: check the path"),
    ("events: badges.jsonl", "events: alarms.yaml", "7:11", "write one of .parquet, .csv, .jsonl"),
    ("events: badges.jsonl", "events: [badges.jsonl, badges.jsonl]", "7:11", "badges.jsonl is given twice"),
    ("events: badges.jsonl", "events: {badge: badges.jsonl}", "8:14", "did you mean `badges`?"),
    ("events: badges.jsonl", "events: {badges: {a: b}}", "8:22", "a list of events belongs here, or a file"),
    ("events: badges.jsonl", "counts: {lab: 1}\n    events: badges.jsonl", "7:5", "the test has counts and events"),
    ("events: badges.jsonl", "events: badges.jsonl\n    ring: {lab: '> 0.5'}", "9:5", "of events, write it into windows"),
    ('        counts: {lab: 60}\n        ring: {lab: ">= 0.95"}\n', "", "10:9", "nothing is expected of the window"),
    ("      - start: 2025-03-03T10:00\n        counts: {lab: 60}\n", "      - counts: {lab: 60}\n", "10:9", "`start` is missing hint: write start: 2025-03-03T09:00"),
    ("start: 2025-03-03T10:00\n        counts: {lab: 60}", "start: 2025-03-03T10:30\n        counts: {lab: 60}", "10:16", "the next one starts at 2025-03-03 11:00 (Europe/Berlin)"),
    ("start: 2025-03-03T10:00\n        counts: {lab: 60}", "start: ten\n        counts: {lab: 60}", "10:16", "is not an ISO date or instant"),
    ("start: 2025-03-03T10:00\n        counts: {lab: 60}", "start: 2025-03-30T02:30\n        counts: {lab: 60}", "10:16", "does not exist in Europe/Berlin"),
    ("start: 2025-03-03T10:00\n        counts: {lab: 60}", 'start: 2025-03-03T10:00\n        ring: {lab: "> 0.5"}\n      - start: 2025-03-03T09:00Z', "12:16", "this window is there already"),
    ("    windows:\n      - start: 2025-03-03T10:00\n        counts: {hall: 3}\n        left_out: {beyond_events: 0}\n", "", "13:5", "nothing is expected of the events"),
    ("{repeat: 3,", "{repeat: some,", "15:18", "an event is repeated a whole number of times"),
    ("{repeat: 3,", "{repeat: 1000001,", "15:9", "write a file of events, and name it"),
    ('person: "p{i}"', 'persons: "p{i}"', "15:21", "did you mean `person`?"),
    ('person: "p{i}"', "person: [a, b]", "15:29", "a field has one value"),
    ('- {person: p1, room: attic, floor: 1, ts: "2025-03-03T09:00:00Z"}', "- nobody", "16:9", "an event is a mapping"),
    ("dropped: {out_of_domain: 1}", "dropped: {lost: 1}", "17:21", "`lost` is no reason why events do not count"),
    ("dropped: {out_of_domain: 1}", "dropped: {out_of_domain: few}", "17:30", "write a number, as 0.05"),
    ("left_out: {beyond_events: 0}", "left_out: {beyond: 0}", "21:28", "known here: repeats, beyond_predicates, beyond_events"),
)
# fmt: on
"""What was replaced in the good tests, what by, where the error must point, and its remedy."""
