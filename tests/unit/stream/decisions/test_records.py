"""Alarms and decisions are what their published schemas say."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import jsonschema
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from accountant.costs.charges import WindowKey
from accountant.errors import DataError
from accountant.units import UNITS_PER_EPSILON
from stream.decisions.records import (
    AlarmRecord,
    DecisionRecord,
    alarm_id,
    alarms_digest,
    decision_loss_fields,
    decode_alarm,
    decode_decision,
    encode,
    epsilon_text,
)
from tests.support.procs import ran
from tests.support.published import decision_of, schema

KEY = WindowKey(end_ms=1_714_557_600_000, query="fire-code", start_ms=1_714_554_000_000)
TEXT = st.text(st.characters(exclude_categories=["Cs"]))


WINDOW = {"window_start": "2024-05-01T09:00:00.000Z", "window_end": "2024-05-01T10:00:00.000Z"}


def an_alarm(group: dict[str, str] | None = None) -> AlarmRecord:
    """An alarm as a decision would release it."""
    group = {"room": "2.14"} if group is None else group
    return AlarmRecord(
        alarm_id=alarm_id(KEY, group),
        alarm=KEY.query,
        group=group,
        mechanism="tslm",
        max_fnr=0.05,
        tolerance="9",
        epsilon=epsilon_text(266_666_666_667),
        ledger="0f3c",
        sequence=12,
        **WINDOW,
    )


def a_decision(*, denied: str | None = None, **fields: Any) -> DecisionRecord:
    """A decision, or a denial for a reason."""
    return msgspec.structs.replace(
        decision_of(12, denied=bool(denied), ledger="0f3c"),
        reason=denied,
        periods=("2024-05-01T00:00:00.000Z",),
        next_start=WINDOW["window_end"],
        **WINDOW,
        **{
            "alarms": 0 if denied else 2,
            "alarms_digest": alarms_digest([] if denied else ["0f", "1e"]),
            **decision_loss_fields(0 if denied else 266_666_666_667, gaussian=False),
            **fields,
        },
    )


def validate(record: dict[str, Any], kind: Any) -> None:
    """Check a record against its published schema, formats included."""
    jsonschema.Draft202012Validator(schema(kind)).validate(record)


@pytest.mark.parametrize("kind", ["alarm", "decision"])
def test_the_schemas_are_schemas(kind: Any) -> None:
    """What is published is valid JSON Schema, 2020-12; which fields it asks for, goldens hold."""
    jsonschema.Draft202012Validator.check_schema(schema(kind))


@given(st.dictionaries(TEXT, TEXT, max_size=3))
def test_alarms_obey_their_schema(group: dict[str, str]) -> None:
    """Every alarm is valid under the published schema and comes back unchanged."""
    alarm = an_alarm(group)
    validate(json.loads(encode(alarm)), "alarm")
    assert decode_alarm(encode(alarm)) == alarm


@pytest.mark.parametrize("denied", [None, "budget", "incomplete"])
def test_decisions_obey_their_schema(denied: str | None) -> None:
    """Decisions and denials are valid under the published schema and come back unchanged."""
    whole = {"whole_start": "2024-05-01T08:00:00.000Z", "whole_end": WINDOW["window_end"]}
    for window in ({}, whole):
        decision = a_decision(denied=denied, **window)
        pane = msgspec.structs.replace(decision, draw="0f" * 16)
        validate(json.loads(encode(pane)), "decision")
        content = json.loads(encode(decision))
        validate(content, "decision")
        assert decode_decision(encode(decision)) == decision
        assert ("whole_end" in content) is bool(window)
        with pytest.raises(jsonschema.ValidationError):
            validate({**content, "whole_end": None}, "decision")


@pytest.mark.parametrize(
    ("tolerance", "valid"),
    [
        *[(text, True) for text in ("0", "9", "0.5", "12.025", "1/3", "10/7")],
        *[(text, False) for text in ("", "09", "0.50", "1.", ".5", "-1", "1e3", "0/3", "1/0", 9)],
        ({"COUNT(*) > 5": "9", "AVG(x) > 5": "0.5"}, True),
        ({"COUNT(*) > 5": "9"}, False),
        ({"COUNT(*) > 5": "9", "AVG(x) > 5": 1}, False),
        ({"COUNT(*) > 5": "9", "AVG(x) > 5": "x"}, False),
    ],
)
def test_tolerances_are_exact_texts(tolerance: Any, valid: bool) -> None:
    """One number as a configuration writes it, or one for each of several comparisons."""
    record = {**json.loads(encode(an_alarm())), "tolerance": tolerance}
    if valid:
        validate(record, "alarm")
        assert decode_alarm(json.dumps(record).encode()).tolerance == tolerance
        return
    with pytest.raises(jsonschema.ValidationError):
        validate(record, "alarm")


@pytest.mark.parametrize(
    "change", [{"extra": 1}, {"alarm": ""}, {"window_end": "2024-05-01T10:00:00Z"}, {"epsilon": 1}]
)
def test_the_schemas_refuse(change: dict[str, Any]) -> None:
    """Unknown fields, empty names, other time formats and numeric losses break both schemas."""
    for record, kind in [(an_alarm(), "alarm"), (a_decision(), "decision")]:
        with pytest.raises(jsonschema.ValidationError):
            validate({**json.loads(encode(record)), **change}, kind)


def test_denials_cost_nothing() -> None:
    """A denied window with alarms or a charge is refused by the schema."""
    content = json.loads(encode(a_decision(denied="budget")))
    rang = {"alarms_digest": alarms_digest(["0f"])}
    for change in ({"alarms": 1}, {"epsilon_units": 1}, {"reason": None}, rang):
        with pytest.raises(jsonschema.ValidationError):
            validate({**content, **change}, "decision")


def test_alarm_ids_differ() -> None:
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
    turned = [dict(pairs) for pairs in ((("a", "1"), ("b", "2")), (("b", "2"), ("a", "1")))]
    assert len({alarm_id(KEY, group) for group in turned}) == 1
    # Fixed: subscribers recognise copies across releases of Tocsin.
    assert alarm_id(KEY, {"room": "2.14"}) == "0ceb7aa765b3ba0150958d74f4b51653"


def test_what_stands_for_alarms_is_had_without_tocsin() -> None:
    """By ``jq -r .alarm_id | sort -u | b2sum -l 128``; copies and order change nothing."""
    ids = [alarm_id(KEY, {"room": name}) for name in ("2.14", "2.15", "2.16")]
    copies = "".join(f"{one}\n" for one in [*reversed(ids), *ids])
    done = ran("sh", "-c", "sort -u | b2sum -l 128", input=copies)
    assert done.stdout == f"{alarms_digest(ids)}  -\n"
    assert alarms_digest(reversed([*ids, *ids])) == alarms_digest(ids) != alarms_digest(ids[:2])


@given(st.integers(0, 10**20))
def test_epsilon_is_exact(units: int) -> None:
    """The decimal text means exactly the loss units it came from."""
    assert Fraction(epsilon_text(units)) == Fraction(units, UNITS_PER_EPSILON)


@pytest.mark.parametrize("value", [b"", b"{}", b"\xff", b'{"alarm": "\xff"}', b"[]"])
def test_other_records_are_refused(value: bytes) -> None:
    """Whatever else lies on the topics is refused with a hint and without its content."""
    for decode in (decode_alarm, decode_decision):
        with pytest.raises(DataError, match="of this version"):
            decode(value)
