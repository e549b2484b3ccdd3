"""Every link covers all before it and everything it tells of."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import pytest

from accountant.records import Answer, Outcome
from accountant.store.chain import (
    HASH_BYTES,
    Happening,
    anchor_text,
    as_served,
    extend,
    genesis,
    of_adopted,
    of_charge,
    read_anchor,
)
from accountant.store.tables.charged import ChargeRow, ChargeState, LinkKind
from accountant.store.tables.decided import AdoptedRow

WINDOW = ("q", 10, 20)
OPEN = ChargeRow(
    *("q", 10, 20, "s", Answer.RESERVED, ChargeState.RESERVED, "f", 2, 4, 1, 2, None, None, None),
    periods=(0, 10),
)
SETTLED = replace(
    OPEN, state=ChargeState.SETTLED, settled_units=1, settled_loss_units=1, costs=b"c"
)
CHANGES: dict[str, Any] = {
    "query": "p",
    "start_ms": 9,
    "end_ms": 21,
    "scope": "t",
    "admission": Answer.REFUSED,
    "state": ChargeState.SPENT,
    "fingerprint": "g",
    "units": 3,
    "cells": 5,
    "cells_per_unit": 2,
    "loss_units": 3,
    "settled_units": 0,
    "settled_loss_units": 0,
    "costs": b"d",
    "periods": (0, 20),
    "in_run": True,
    "windows_per_period": 6,
}
IN_A_RUN = replace(SETTLED, in_run=True, held_units=2)


def test_a_link_tells_of_every_column() -> None:
    """Whatever is changed of a charge changes what its last link says."""
    of_run: dict[str, Any] = {"in_run": False, "held_units": 1}
    assert CHANGES.keys() | of_run.keys() == {field.name for field in fields(ChargeRow)}
    for charge, changes in ((SETTLED, CHANGES), (IN_A_RUN, {**CHANGES, **of_run})):
        told = of_charge(charge, LinkKind.ENDED).text
        for name, value in changes.items():
            changed = replace(charge, **{name: value})
            assert of_charge(changed, LinkKind.ENDED).text != told, name


def test_links_of_charges_in_no_run_stay_as_they_were() -> None:
    """What was written before there were runs hashes as it did."""
    for charge in (OPEN, SETTLED):
        for kind in (LinkKind.SERVED, LinkKind.ENDED):
            text = of_charge(charge, kind).text
            assert "run" not in text
            assert of_charge(replace(charge, held_units=1), kind).text == text


def test_what_was_asked_for_stands_whatever_becomes_of_it() -> None:
    """The first link of a charge can still be checked once the charge has ended."""
    asked = of_charge(OPEN, LinkKind.SERVED)
    assert of_charge(SETTLED, LinkKind.SERVED) == asked
    assert as_served(OPEN) == asked
    assert as_served(SETTLED).kind is LinkKind.ENDED


def test_adoptions_are_told_of_in_full() -> None:
    """A changed loss, period, budget or digest is another text."""
    row = AdoptedRow("digest", "l", 1, "q", 10, 20, "s", Outcome.DECIDED, 3, 1, 3, (0,), 0, 30)
    told = of_adopted(row)
    others: list[dict[str, Any]] = [
        {"query": "p"},
        {"scope": "t"},
        {"digest": "other"},
        {"loss_units": 4},
        {"periods": (0, 1)},
    ]
    assert (told.told, told.window) == ("digest", WINDOW)
    assert told.text not in {of_adopted(replace(row, **one)).text for one in others}


def test_a_hash_covers_all_before_it() -> None:
    """Splitting what happens changes nothing; changing, dropping or swapping any of it does."""
    happened = [Happening(LinkKind.SERVED, WINDOW, f"text {number}") for number in range(4)]
    start = genesis("s")
    whole = extend("s", 0, start, happened)
    assert [link.link for link in whole] == [1, 2, 3, 4]
    assert {len(link.hash) for link in whole} == {HASH_BYTES}
    first = extend("s", 0, start, happened[:2])
    assert first + extend("s", 2, first[-1].hash, happened[2:]) == whole
    others = [
        [happened[1], happened[0], *happened[2:]],
        happened[1:],
        [*happened, happened[0]],
        [happened[0], *happened],
    ]
    last = {extend("s", 0, start, other)[-1].hash for other in others}
    assert whole[-1].hash not in last | {extend("s", 1, start, happened)[-1].hash}
    assert extend("s", 0, genesis("t"), happened)[-1].hash != whole[-1].hash
    assert extend("s", 7, start, []) == []


def test_anchors_read_back() -> None:
    """What status shows can be handed to verify."""
    assert read_anchor(anchor_text(12, genesis("s"))) == (12, genesis("s"))


@pytest.mark.parametrize("text", ["", "12", "12:", "x:" + "0" * 32, "-1:" + "0" * 32, "1:00"])
def test_what_is_no_anchor_is_refused(text: str) -> None:
    """Anything but NUMBER:HASH is an error that says so."""
    with pytest.raises(ValueError, match="NUMBER:HASH"):
        read_anchor(text)
