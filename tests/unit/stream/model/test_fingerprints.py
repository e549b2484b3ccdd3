"""What moves a fingerprint, and what does not."""

from __future__ import annotations

import json
from dataclasses import replace

from stream.config.loading import load
from stream.model.fingerprints import definition, definition_json, fingerprint
from tests.support.configurations import GOOD, HAVING, WHERE, edited, write


def test_the_fingerprint_changes_with_decisions_only(tmp_path):
    """Everything that moves a decision moves the fingerprint; ports, delays and spelling do not."""

    def printed(text):
        return load(write(tmp_path, text), environ={}).by_name["fire-code"].fingerprint

    base = printed(GOOD)
    assert base == printed(GOOD)
    same = [
        (
            "timing: {grace: 30s}",
            "timing: {grace: 30s, publish_delay: 1m, max_age: 1d, decide_timeout: 1h}",
        ),
        ('"127.0.0.1:9465"', '"127.0.0.1:9999"'),
        ("max_fnr: 0.05", "max_fnr: 1/20"),
        ('epsilon_max: "4"', 'epsilon_max: "5"'),
        (HAVING, "having (120) < count(distinct person)"),
        ('"Mon-Fri 07:00-22:00"', '"Mon-Fri  07:00-22:00"'),
    ]
    for old, new in same:
        assert printed(edited(old, new)) == base, new
    other = [
        ("timing: {grace: 30s}", "timing: {grace: 31s}"),
        ("max_fnr: 0.05", "max_fnr: 0.04"),
        ("max_fnr: 0.05", "max_fnr: 0.05\n    mechanism: {tslm: {max_fpr: 0.05}}"),
        ("tolerance: 9", "tolerance: 9\n    share: 0.3"),
        ("tolerance: 9", "tolerance: 9\n    share: 0.4"),
        ("tolerance: 9", "tolerance: 9\n    hold: 3h"),
        ("tolerance: 9", "tolerance: 8"),
        ("> 120", ">= 120"),
        ("> 120", "> 121"),
        (WHERE, "floor <> 1"),
        ("INTERVAL '1' HOUR", "INTERVAL '60' SECOND"),
        ('"Mon-Fri 07:00-22:00"', '"Mon-Fri 07:00-21:00"'),
        ("timezone: Europe/Berlin", "timezone: Europe/Paris"),
        ("max_events_per_group: 3", "max_events_per_group: 2"),
        ("period: 1d", "period: 2d"),
        ("open: boolean", "open: string"),
        ("codec: json", "codec: arrow"),
        ("codec: json", "allowed_skew: 61s"),
        ("codec: json", "partitioner: crc32"),
        ("domain: rooms.txt", "domain: [lobby, lab]"),
    ]
    seen = {base}
    for old, new in other:
        other_print = printed(edited(old, new))
        assert other_print not in seen, new
        seen.add(other_print)


def test_the_definition_is_json_without_secrets(tmp_path):
    """The definition is canonical JSON and independent of the fingerprint it leads to."""
    alarms = load(write(tmp_path, GOOD), environ={})
    query = alarms.by_name["fire-code"]
    text = definition_json(query, alarms.budget)
    assert definition_json(replace(query, fingerprint="x"), alarms.budget) == text
    assert definition(query, alarms.budget)["schema"] == 3
    assert fingerprint(query, alarms.budget) == query.fingerprint
    assert len(query.fingerprint) == 64
    assert json.loads(text) == definition(query, alarms.budget)
