"""How YAML is written, and the kinds of fields: what a newcomer gets wrong first."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.support.badinputs.shapes import Edit

__all__ = ["FORMS"]

# ruff: noqa: E501  # a row is a line
# fmt: off
FORMS: tuple[Edit, ...] = (
    ("tolerance: 9", "tolerance: 9%", "32:16", "write it as a number: 0.09"),
    ("    max_fnr: 0.05", "\tmax_fnr: 0.05", "31:1", "YAML is indented by spaces: replace the tab"),
    ("  period: 1d", "  period: 1d\n  period: 2d", "24:3", "remove one of them; the first stands on line 23"),
    ("  crowd:\n", "  crowd: {sql: x}\n  crowd:\n", "26:3", "remove one of them; the first stands on line 25"),
    ("feeds:\n", "feeds:\n  - badges\nothers:\n", "6:3", "write `key: value` lines, indented"),
    ("budget:\n", "Budget:\n", "20:1", "did you mean `budget`?"),
    ("timezone: Europe/Berlin", "timezone: Europe/Berlin\n---\ntimezone: UTC", "2:1", "a configuration is one document: remove `---` and what"),
    ("timezone: Europe/Berlin", "timezone: Europe/Berlin\n...\nmore: 1", "3:1", "not valid YAML: expected '<document start>', but found"),
    ("timezone: Europe/Berlin", "timezone = Europe/Berlin", "2:7", "not valid YAML: mapping values are not allowed here"),
    ("timezone: Europe/Berlin", '{"timezone": "UTC",}', "2:1", "not valid YAML: expected '<document start>', but found"),
    ("timezone: Europe/Berlin", "timezone:Europe/Berlin", "2:7", "not valid YAML: mapping values are not allowed here"),
    ("timezone: Europe/Berlin", "timezone: 'Europe/Berlin", "29:43", "not valid YAML: expected <block end>, but found '<scalar>'"),
    ("timezone: Europe/Berlin", "timezone: %s", "1:11", "put the value in quotes"),
    ("timezone: Europe/Berlin", "timezone: @here", "1:11", "put the value in quotes"),
    ("timezone: Europe/Berlin", "timezone: `UTC`", "1:11", "put the value in quotes"),
    ("timezone: Europe/Berlin", "timezone: {{ zone }}", "1:12", "write `name: value`"),
    ("timezone: Europe/Berlin", "? [a, b]\n: 1", "1:3", "write `name: value`"),
    ("timezone: Europe/Berlin", "? timezone", "2:1", "write a value, or remove the key"),
    ("timezone: Europe/Berlin", "timezone: &a [*a]", "1:11", "write the value out"),
    ("timezone: Europe/Berlin", "timezone: &a Europe/Berlin\nzone: *a", "2:1", "did you mean `timezone`?"),
    ("tables: {", "tables: &t !!set {", "4:9", "remove the tag"),
    ("budget:\n  privacy_unit", "budget: &b\n  <<: *b\n  privacy_unit", "21:3", "write the keys out"),
    ("tolerance: 9", "tolerance: !!binary OQ==", "32:16", "remove the tag"),
    ("tolerance: 9", "tolerance: !env TOLERANCE", "32:16", "remove the tag"),
    ("tolerance: 9", "tolerance: !!python/object/apply:os.system [id]", "32:16", "remove the tag"),
    ("tolerance: 9", " tolerance: 9", "32:15", "not valid YAML: mapping values are not allowed here"),
    ("tolerance: 9", "tolerance 9", "33:1", "not valid YAML: could not find expected ':'"),
    ("tolerance: 9", "tolernace: 9", "32:5", "did you mean `tolerance`?"),
    ("tolerance: 9", "tolerance: 9\n    comment: rings too often", "33:5", "known here: active, baseline, episodes, false_alarms, hold, lifecycle,"),
    ("tolerance: 9", "tolerance: 9\n    mechanism: {tslm: {bounded_error: fpr}}", "33:39", "write max_fpr: 0.05"),
    ("tolerance: 9", "tolerance: 9\n    mechanism: {tslm: {bounded_error: silence}}", "33:39", "fnr | fpr"),
    ("tolerance: 9", "tolerance: 9\n    mechanism: {svt: {max_fpr: 0.05, bounded_error: fpr}}", "33:53", "remove it, or change mechanism"),
    ("tolerance: 9", "mechanism: {tslm: {max_fpr: 0.05, bounded_error: fpr}}\n    tolerance: auto\n    baseline: 8\n    false_alarms: 1 per week", "32:54", "write mechanism and tolerance"),
    ("tolerance: 9", "tolerance: 9\n    mechanism: {tslm: {max_fnr_given_no_alarm: 0.1}}", "33:48", "remove it, or change mechanism"),
    ("tolerance: 9", "tolerance: 9\n    mechanism: {svt: {max_fnr_given_no_alarm: 0.04}}", "33:47", "write max_fnr_given_no_alarm: 0.1"),
    ("tolerance: 9", "tolerance: 9\n    mechanism: {svt: {max_fnr_given_no_alarm: 10}}", "33:47", "write a number between 0 and 1"),
    ("tolerance: 9", "tolerance: 9\n    mechanism: probe\n    first_share: 0.3", "34:5", "remove it"),
    ("tolerance: 9", "tolerance: 9\n    apportion: optimal", "33:5", "remove it"),
    ("    sql: |", "    sql: |9", "27:7", "not valid YAML: expected <block end>, but found '<scalar>'"),
    ("    sql: |\n      SELECT room FROM badges", "    sql: |\n SELECT room FROM badges", "27:2", "not valid YAML: expected <block end>, but found '<scalar>'"),
    ("alarms:\n  crowd:", "alarms:\n  - crowd:", "25:3", "write `key: value` lines, indented"),
    ("rooms.txt", "", "13:21", "write a value, or remove the key"),
    ("domain: rooms.txt", "values: [lab, hall]", "13:14", "known here: clip, domain, fixed, granule, type"),
    ("room: {domain: rooms.txt}", "room: {domain: rooms.txt", "14:12", "close the bracket or the brace, or put a comma here"),
    ("room: {domain: rooms.txt}", "room: {domain: [[lab], hall]}", "13:22", "write one value"),
    ("room: {domain: rooms.txt}", "room: {domain: {lab: 1}}", "13:22", "write domain: [a, b] or domain: rooms.txt"),
    ("room: {domain: rooms.txt}", "room: {domain: [lab, null]}", "13:22", "write a value, or remove the key"),
    ("room: {domain: rooms.txt}", "room: {domain: [lab, '']}", "13:22", "write a value, or remove the key"),
    ("room: {domain: rooms.txt}", "room: {domain: [lab, lab]}", "13:28", "remove one of them"),
    ("room: {domain: rooms.txt}", "room: {domain: /etc}", "13:22", "write one public value per line into /etc"),
    ("room: {domain: rooms.txt}", "room: {domain: ../missing/rooms.txt}", "13:22", "write one public value per line into ../missing/rooms.txt"),
    ("room: {domain: rooms.txt}", "room: {domain: lab, hall}", "13:27", "known here: clip, domain, fixed, granule, type"),
    ("room: {domain: rooms.txt}", "room: {domain: https://example.org/rooms.txt}", "13:22", "write one public value per line into"),
    ("floor: {type: integer, domain: [1, 2]}", "floor: {type: integer, domain: [0x1, 2]}", "14:39", "remove it, or declare the field as string"),
    ("floor: {type: integer, domain: [1, 2]}", "floor: {type: integer, domain: [1_000, 2]}", "14:39", "remove it, or declare the field as string"),
    ("floor: {type: integer, domain: [1, 2]}", "floor: {type: integer, domain: [1-5]}", "14:39", "remove it, or declare the field as string"),
    ("floor: {type: integer, domain: [1, 2]}", "floor: {type: integer, domain: [1, 2, 99999999999999999999]}", "14:45", "remove it, or declare the field as string"),
    ("floor: {type: integer, domain: [1, 2]}", "floor: {type: int, domain: [1, 2]}", "14:21", "write string | integer | float | boolean | timestamp; did"),
    ("person: string", "person: str", "12:15", "write string | integer | float | boolean | timestamp; did"),
    ("person: string", "person: uuid", "12:15", "write string | integer | float | boolean | timestamp"),
    ("person: string", "person: [string]", "12:15", "write `key: value` lines, indented"),
    ("person: string", "person: ", "12:14", "write a value, or remove the key"),
    ("ts: timestamp", "ts: datetime", "18:11", "write string | integer | float | boolean | timestamp"),
    ("ts: timestamp", "ts: {type: timestamp, format: '%d/%m/%Y'}", "18:29", "known here: clip, domain, fixed, granule, type"),
)
# fmt: on
"""What was replaced in the good file, what by, where the error must point, and its remedy."""
