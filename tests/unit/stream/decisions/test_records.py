"""Alarms and decisions are what their published schemas say."""

from __future__ import annotations

import json
from fractions import Fraction

import jsonschema
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from accountant.costs.charges import WindowKey
from accountant.errors import DataError
from accountant.units import UNITS_PER_EPSILON
from stream.decisions.records import (
    alarm_id,
    alarms_digest,
    decision_loss_fields,
    decode_alarm,
    decode_count,
    decode_decision,
    encode,
    epsilon_text,
)
from tests.data.ledger import HOME, VERSION
from tests.support.procs import ran
from tests.support.published import alarm_of, decision_of, schema

KEY = WindowKey(end_ms=1_714_557_600_000, query="fire-code", start_ms=1_714_554_000_000)
TEXT = st.text(st.characters(exclude_categories=["Cs"]))
ALARM = alarm_of(12, {"room": "2.14"})
DECODERS = {"alarm": decode_alarm, "decision": decode_decision, "count": decode_count}
WHOLE = {"whole_start": "2024-05-01T08:00:00.000Z", "whole_end": "2024-05-01T10:00:00.000Z"}


def a_decision(reason=None, **fields):
    """A decision, or a denial for a reason."""
    return msgspec.structs.replace(
        decision_of(12, denied=bool(reason), alarms=[] if reason else [ALARM]),
        reason=reason,
        **decision_loss_fields(0 if reason else 266_666_666_667, gaussian=False),
        **fields,
    )


def validate(record, kind):
    """Check a record against its published schema, formats included, and return its fields."""
    fields = record if isinstance(record, dict) else json.loads(encode(record))
    jsonschema.Draft202012Validator(schema(kind)).validate(fields)
    return fields


@pytest.mark.parametrize("kind", ["alarm", "decision"])
def test_the_schemas_are_schemas(kind):
    """What is published is valid JSON Schema, 2020-12; which fields it asks for, goldens hold."""
    jsonschema.Draft202012Validator.check_schema(schema(kind))


@given(st.dictionaries(TEXT, TEXT, max_size=3))
def test_alarms_obey_their_schema(group):
    """Every alarm is valid under the published schema and comes back unchanged."""
    alarm = alarm_of(12, group)
    validate(alarm, "alarm")
    assert decode_alarm(encode(alarm)) == alarm


@pytest.mark.parametrize("reason", [None, "budget", "incomplete"])
@pytest.mark.parametrize("fields", [{}, WHOLE, {"draw": "0f" * 16}], ids=["window", "step", "pane"])
def test_decisions_obey_their_schema(reason, fields):
    """Decisions and denials are valid under the published schema and come back unchanged."""
    decision = a_decision(reason, **fields)
    assert fields.items() <= validate(decision, "decision").items()
    assert decode_decision(encode(decision)) == decision


SEVERAL = {"COUNT(*) > 5": "9", "AVG(x) > 5": "0.5"}


@pytest.mark.parametrize("tolerance", ["0", "9", "0.5", "12.025", "1/3", "10/7", SEVERAL])
def test_tolerances_are_exact_texts(tolerance):
    """One number as a configuration writes it, or one for each of several comparisons."""
    record = {**json.loads(encode(ALARM)), "tolerance": tolerance}
    validate(record, "alarm")
    assert decode_alarm(json.dumps(record).encode()).tolerance == tolerance


@pytest.mark.parametrize(
    ("kind", "record", "change"),
    [
        # Unknown fields, empty names, other time formats and numeric losses.
        *[
            (kind, record, change)
            for kind, record in (("alarm", ALARM), ("decision", a_decision()))
            for change in (
                {"extra": 1},
                {"alarm": ""},
                {"window_end": "2024-05-01T10:00:00Z"},
                {"epsilon": 1},
            )
        ],
        # Tolerances that are no exact texts.
        *[
            ("alarm", ALARM, {"tolerance": tolerance})
            for tolerance in (
                *("", "09", "0.50", "1.", ".5", "-1", "1e3", "0/3", "1/0", 9),
                {"COUNT(*) > 5": "9"},
                {**SEVERAL, "AVG(x) > 5": 1},
                {**SEVERAL, "AVG(x) > 5": "x"},
            )
        ],
        # A denied window with alarms or a charge; a window of steps without an end.
        *[
            ("decision", a_decision("budget"), change)
            for change in (
                {"alarms": 1},
                {"epsilon_units": 1},
                {"reason": None},
                {"alarms_digest": alarms_digest(["0f"])},
                {"whole_end": None},
            )
        ],
    ],
)
def test_the_schemas_refuse(kind, record, change):
    """What Tocsin never writes; the record itself is valid."""
    fields = validate(record, kind)
    with pytest.raises(jsonschema.ValidationError):
        validate({**fields, **change}, kind)


def test_alarm_ids_differ():
    """Another query, window or group gives another id; the id itself never changes."""
    keys = [
        KEY,
        WindowKey(KEY.end_ms, "other", KEY.start_ms),
        WindowKey(KEY.end_ms + 1, KEY.query, KEY.start_ms),
        WindowKey(KEY.end_ms, KEY.query, KEY.start_ms + 1),
    ]
    identities = {alarm_id(key, {"room": "2.14"}) for key in keys}
    identities |= {alarm_id(KEY, group) for group in ({}, {"room": "2"}, {"hall": "2.14"})}
    assert len(identities) == 7
    assert alarm_id(KEY, {"a": "1", "b": "2"}) == alarm_id(KEY, {"b": "2", "a": "1"})
    # Fixed: subscribers recognise copies across releases of Tocsin.
    assert alarm_id(KEY, {"room": "2.14"}) == "0ceb7aa765b3ba0150958d74f4b51653"


def test_what_stands_for_alarms_is_had_without_tocsin():
    """By ``jq -r .alarm_id | sort -u | b2sum -l 128``; copies and order change nothing."""
    ids = [alarm_id(KEY, {"room": name}) for name in ("2.14", "2.15", "2.16")]
    copies = "".join(f"{one}\n" for one in [*reversed(ids), *ids])
    done = ran("sh", "-c", "sort -u | b2sum -l 128", input=copies)
    assert done.stdout == f"{alarms_digest(ids)}  -\n"
    assert alarms_digest(reversed([*ids, *ids])) == alarms_digest(ids) != alarms_digest(ids[:2])


@given(st.integers(0, 10**20))
def test_epsilon_is_exact(units):
    """The decimal text means exactly the loss units it came from."""
    assert Fraction(epsilon_text(units)) == Fraction(units, UNITS_PER_EPSILON)


KEPT = sorted(HOME.glob("records_*.jsonl"))


@pytest.mark.parametrize("path", KEPT, ids=lambda path: path.stem)
@pytest.mark.parametrize("new", [{}, {"new": 1}], ids=["as it is", "with a field more"])
def test_records_of_other_versions_are_read(path, new):
    """What a release left, and what a later version may: its cost is not passed over."""
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert {kind for line in lines for kind in line} == set(DECODERS)
    for line in lines:
        for kind, fields in line.items():
            record = DECODERS[kind](json.dumps({**fields, **new}).encode())
            assert json.loads(encode(record)) == fields


def test_this_version_has_left_records():
    """One of each kind, as the examples of the schemas are."""
    assert HOME / f"records_{VERSION}.jsonl" in KEPT


@pytest.mark.parametrize("value", [b"", b"{}", b"\xff", b'{"alarm": "\xff"}', b"[]"])
def test_other_records_are_refused(value):
    """Whatever else lies on the topics is refused with a hint and without its content."""
    for decode in DECODERS.values():
        with pytest.raises(DataError, match="of this version"):
            decode(value)
