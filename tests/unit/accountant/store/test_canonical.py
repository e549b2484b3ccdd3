"""Texts put together piece by piece are those that ``json`` gives."""

from __future__ import annotations

import json
from dataclasses import fields, replace
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, get_type_hints

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accountant.records import Answer, Outcome
from accountant.store.canonical import hexed, quoted, whole, wholes
from accountant.store.chain import HASH_BYTES, of_adopted, of_charge, of_decision
from accountant.store.decisionchain import alarms_digest, hash_after
from accountant.store.tables.charged import ChargeRow, ChargeState, LinkKind
from accountant.store.tables.decided import AdoptedRow, DecisionRow

if TYPE_CHECKING:
    from collections.abc import Mapping

NUMBERS = st.integers(-(2**63), 2**63 - 1)
NAMES = st.text(max_size=8)
SOME_BYTES = st.binary(max_size=8)
PERIODS = st.lists(NUMBERS, max_size=3).map(tuple)
TYPES: Mapping[Any, st.SearchStrategy[Any]] = {
    str: NAMES,
    int: NUMBERS,
    bool: st.booleans(),
    bytes: SOME_BYTES,
    str | None: st.none() | NAMES,
    int | None: st.none() | NUMBERS,
    bytes | None: st.none() | SOME_BYTES,
    tuple[int, ...]: PERIODS,
    Answer: st.sampled_from(Answer),
    ChargeState: st.sampled_from(ChargeState),
    Outcome: st.sampled_from(Outcome),
}


def rows(record: type[Any]) -> st.SearchStrategy[Any]:
    """Return any rows of a record."""
    types = get_type_hints(record)
    return st.builds(record, **{each.name: TYPES[types[each.name]] for each in fields(record)})


def dumped(*whole_row: object) -> str:
    """Return a row as JSON, encoded at once."""
    return json.dumps(whole_row, separators=(",", ":"))


@given(rows(ChargeRow), st.none() | st.binary(min_size=16, max_size=16))
def test_a_charge_is_told_as_json_tells_it(row: ChargeRow, decided: bytes | None) -> None:
    """Whatever its columns hold, names in any script among it."""
    asked = [
        *(row.scope, row.fingerprint, row.units, row.cells, row.cells_per_unit, row.loss_units),
        *(row.periods, *(["in a run"] if row.in_run else [])),
        *([] if row.windows_per_period is None else [["windows a period", row.windows_per_period]]),
    ]
    costs = None if row.costs is None else blake2b(row.costs).hexdigest()
    became = [row.admission, row.state, row.settled_units, row.settled_loss_units, costs]
    became += [row.held_units] if row.in_run else []
    last = [] if decided is None else [[decided.hex()]]
    for kind, ended in ((LinkKind.SERVED, []), (LinkKind.ENDED, became)):
        found = of_charge(row, kind, decided)
        assert found.text == dumped(kind, *row.window, asked, ended, *last)
        assert found.window == row.window
    if decided is not None:
        text = of_decision(row.window, decided).text
        assert text == dumped(LinkKind.DECIDED, *row.window, [decided.hex()])


@given(rows(AdoptedRow))
def test_an_adoption_is_told_as_json_tells_it(row: AdoptedRow) -> None:
    """Its budget, digest, loss and periods."""
    vouched = [row.scope, row.digest, row.loss_units, row.periods]
    assert of_adopted(row).text == dumped(LinkKind.ADOPTED, *row.window, vouched)


@given(rows(DecisionRow), SOME_BYTES)
def test_a_decision_is_hashed_as_json_tells_it(row: DecisionRow, last: bytes) -> None:
    """Every column that is in its hash."""
    alarms = alarms_digest(row.alarms) if row.alarms_digest is None else row.alarms_digest
    text = dumped(
        *(*row.window, row.sequence, row.outcome, row.reason, alarms.hex(), row.alarm_count),
        *(row.epsilon_units, row.release_ms, row.decided_at_ms, row.fingerprint),
        *(row.next_start_ms, None if row.run_digest is None else row.run_digest.hex()),
    )
    assert hash_after(last, row) == blake2b(last + text.encode(), digest_size=HASH_BYTES).digest()


@pytest.mark.parametrize("wrong", ["1", 1.0, True, b"1", [1], "1,2"])
def test_what_is_no_integer_has_no_integers_text(wrong: Any) -> None:
    """A row that holds text, say, where a number belongs, is not told like one with the number."""
    numbers = {whole(one) for one in (1, 0, None)}
    assert whole(wrong) not in numbers
    assert wholes([wrong]) not in {wholes([1]), wholes([1, 2]), wholes([])}
    row = ChargeRow(
        *("q", 1, 2, "s", Answer.RESERVED, ChargeState.SETTLED, "f", 1, 1, 1, 1, 1, 1, None),
        periods=(1,),
    )
    told = of_charge(row, LinkKind.ENDED).text
    for name in ("start_ms", "units", "cells", "cells_per_unit", "loss_units", "settled_units"):
        assert of_charge(replace(row, **{name: wrong}), LinkKind.ENDED).text != told, name


def test_small_texts() -> None:
    """Missing values, empty lists and quotes."""
    assert (whole(None), whole(-3), wholes(()), wholes((1, -2))) == ("null", "-3", "[]", "[1,-2]")
    assert (hexed(None), hexed(b""), hexed(b"\x0f")) == ("null", '""', '"0f"')
    assert quoted('a"\n\x7fü') == json.dumps('a"\n\x7fü')
