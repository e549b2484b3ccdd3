"""A ledger's history: every kind of entry is an object that says all of it."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from accountant.layouts import Growth
from accountant.log import entries
from accountant.log.entries import Entry, OfWindow
from accountant.records import Answer, BudgetTerms, LogIdentity, Outcome, SeenDecision
from accountant.regions.shapes import ANYWHERE
from accountant.store.entry_rows import EntryRow
from accountant.units import UNITS_PER_EPSILON, PrivacyUnit
from stream.custody.history import entry_fields

HOUR_MS = 3_600_000
ASKED: dict[str, Any] = {
    "query": "crowd",
    "start_ms": 0,
    "end_ms": HOUR_MS,
    "answer": Answer.RESERVED,
    "fingerprint": "f",
    "units": UNITS_PER_EPSILON // 2,
    "cells": 4,
    "cells_per_unit": 3,
}
ENDED: dict[str, Any] = {
    "query": "crowd",
    "start_ms": 0,
    "end_ms": HOUR_MS,
    "sequence": 7,
    "fingerprint": "f",
    "next_start_ms": HOUR_MS,
    "release_ms": 0,
    "decided_at_ms": 0,
}


SEEN = SeenDecision(
    *("other", "crowd", "s", 0, HOUR_MS, 3, Outcome.DECIDED, UNITS_PER_EPSILON, 0),
    next_start_ms=HOUR_MS,
)
ENTRIES: list[Entry] = [
    entries.Begun("l", b"digest", 5, 1),
    entries.Budgeted(BudgetTerms("s", PrivacyUnit.USER, 99, "lifetime")),
    entries.LogPinned(LogIdentity("badges", "cluster", "id", "topic", 2)),
    entries.FilesPinned("badges", ("0" * 64,), 5),
    entries.Grown(Growth("badges", 3, 2, 5, None, 4)),
    entries.Registered("crowd", "s", "badges", "f", "text", ANYWHERE, 5),
    entries.Changed("crowd", "f", "text", ANYWHERE, 5),
    entries.Retired("crowd"),
    entries.Admitted("s", OfWindow("crowd", 0, HOUR_MS), (entries.Asked(**ASKED),)),
    entries.Admitted("s", OfWindow("crowd", 0, HOUR_MS)),
    entries.Answered("s", (entries.Given("crowd", 0, HOUR_MS, Answer.REFUSED),)),
    entries.Ended(
        **ENDED, outcome=Outcome.DECIDED, alarm_count=2, loss_units=UNITS_PER_EPSILON // 4
    ),
    entries.Ended(**ENDED, outcome=Outcome.DENIED, reason="budget"),
    entries.Worst("s", 9),
    entries.Recovered((SEEN,), 5),
    entries.Passed("crowd", 5),
    entries.ClockSet(9, 5),
    entries.Archived("f.parquet", 1, 5, bytes(16), 9),
    entries.Snapshot(msgspec.Raw(json.dumps({"a": "text"}).encode())),
]


@pytest.mark.parametrize("entry", ENTRIES)
def test_every_entry_is_an_object(entry: Entry) -> None:
    """It has its kind, its number, its hash, and all that it says."""
    row = EntryRow(1, entry.kind, entry.key, entries.encode(entry), bytes(16))
    fields = entry_fields(row)
    said = row.payload.replace(b'"query":', b'"alarm":').replace(b'"promise":', b'"privacy":')
    assert json.loads(said).items() <= fields.items()
    kind = entry.kind.replace("query", "alarm")
    assert (fields["record"], fields["seq"], fields["hash"]) == (kind, 1, "0" * 32)


def test_no_kind_is_left_out() -> None:
    """A new kind of entry needs a line above."""
    assert {type(entry) for entry in ENTRIES} == set(Entry.__subclasses__())
