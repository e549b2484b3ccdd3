"""Row filters against a direct evaluator of SQL's three-valued logic, nulls included."""

from __future__ import annotations

import operator

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from operators.conditions.comparison import Comparison
from stream.counting.filtering import passing
from stream.model.feeds import FieldType
from stream.model.filters import And, Compare, IsIn, IsNull, Not, Or

KINDS = {
    "name": (FieldType.STRING, pa.string(), ["", "a", "b", "ä", "z", "\U0001f600", "\uffff"]),
    "size": (FieldType.INTEGER, pa.int64(), [-(2**63), -1, 0, 1, 2**63 - 1]),
    "paid": (FieldType.FLOAT, pa.float64(), [-1.5, -0.0, 0.0, 1e-300, 1.5, float("inf")]),
    "open": (FieldType.BOOLEAN, pa.bool_(), [False, True]),
    "ts": (FieldType.TIMESTAMP, pa.int64(), [0, 1, 2**40]),
}
SCHEMA = pa.schema([(name, stored) for name, (_, stored, _) in KINDS.items()])
VALUES = {name: st.sampled_from(values) for name, (*_, values) in KINDS.items()}
DIRECT = {each: getattr(operator, each.name.lower()) for each in Comparison}


def evaluate(where, row):
    """Evaluate one row directly; ``None`` is unknown."""
    match where:
        case Compare():
            value = row[where.field]
            return None if value is None else DIRECT[where.comparison](value, where.value)
        case IsIn():
            value = row[where.field]
            return None if value is None else any(value == known for known in where.values)
        case IsNull():
            return row[where.field] is None
        case Not():
            inner = evaluate(where.part, row)
            return None if inner is None else not inner
        case And():
            outcomes = [evaluate(part, row) for part in where.parts]
            return False if False in outcomes else None if None in outcomes else True
        case Or():
            outcomes = [evaluate(part, row) for part in where.parts]
            return True if True in outcomes else None if None in outcomes else False
    raise TypeError


@st.composite
def leaves(draw):
    """Draw a comparison, a membership or a null test."""
    name = draw(st.sampled_from(list(KINDS)))
    kind, form = KINDS[name][0], draw(st.integers(0, 2))
    if form == 0:
        return IsNull(name)
    if form == 1:
        return IsIn(name, kind, tuple(draw(st.lists(VALUES[name], min_size=1, max_size=3))))
    return Compare(name, kind, draw(st.sampled_from(list(Comparison))), draw(VALUES[name]))


TREES = st.recursive(
    leaves(),
    lambda inner: st.one_of(
        inner.map(Not),
        st.builds(
            lambda join, parts: join(tuple(parts)),
            st.sampled_from([And, Or]),
            st.lists(inner, min_size=1, max_size=3),
        ),
    ),
    max_leaves=8,
)
ROWS = st.lists(
    st.fixed_dictionaries({name: st.none() | values for name, values in VALUES.items()}), max_size=6
)


@settings(max_examples=150)
@given(TREES, ROWS)
@example(IsNull("name"), [])
def test_masks_agree_with_direct_evaluation(where, rows):
    """A row passes iff the expression is true for it, whatever is null and stands beside it."""
    batch = pa.RecordBatch.from_pylist(rows, schema=SCHEMA)
    mask = passing(where, batch)
    assert mask.dtype == np.bool_
    assert mask.tolist() == [evaluate(where, row) is True for row in rows]


@pytest.mark.parametrize("comparator", list(Comparison))
def test_bytes_that_are_not_utf8_fail_no_mask(comparator):
    """Strings are compared without decoding: a broken one harms no other row."""
    raw = pa.array([b"a", b"\xff\xfe", None, b"b"], pa.binary())
    broken = pa.Array.from_buffers(pa.string(), 4, raw.buffers(), raw.null_count)
    batch = pa.RecordBatch.from_arrays([broken], names=["name"])
    mask = passing(Compare("name", FieldType.STRING, comparator, "a"), batch)
    assert mask[[0, 3]].tolist() == [DIRECT[comparator]("a", "a"), DIRECT[comparator]("b", "a")]
    assert not mask[2]
    member = passing(IsIn("name", FieldType.STRING, ("b",)), batch)
    assert member.tolist() == [False, False, False, True]
