"""A ledger's history in words: every kind of entry says something, nothing at length."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from accountant.layouts import Growth
from accountant.log import entries
from accountant.log.entries import Entry, OfWindow
from accountant.records import Answer, BudgetTerms, LogIdentity, Outcome, SeenDecision
from accountant.regions.shapes import ANYWHERE
from accountant.store.entry_rows import EntryRow
from accountant.units import UNITS_PER_EPSILON, PrivacyUnit
from stream.custody.history import entry_fields, log_lines

if TYPE_CHECKING:
    from collections.abc import Sequence

HOUR_MS = 3_600_000
LONG = "x" * 500
SPAN = "1970-01-01 00:00 UTC to 1970-01-01 01:00 UTC"
ASKED: dict[str, Any] = {
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


def asked(query: str, hour: int, answer: Answer) -> entries.Asked:
    """Return what a window asked for."""
    return entries.Asked(query, hour * HOUR_MS, (hour + 1) * HOUR_MS, answer=answer, **ASKED)


def seen(query: str) -> SeenDecision:
    """Return another copy's decision."""
    place = ("other", query, "s", 0, HOUR_MS, 3, Outcome.DECIDED, UNITS_PER_EPSILON, 0)
    return SeenDecision(*place, next_start_ms=HOUR_MS)


def given(query: str) -> entries.Given:
    """Return what a window that waited was answered."""
    return entries.Given(query, 0, HOUR_MS, Answer.REFUSED)


ENTRIES: list[tuple[Entry, str]] = [
    (entries.Begun("l", b"digest", 5, 1), "begun ledger_id l, secret ZGlnZXN0, created_ms 5"),
    (
        entries.Budgeted(BudgetTerms("s", PrivacyUnit.USER, 99, "lifetime")),
        "budget scope s, unit user, epsilon_max_units 99, period lifetime",
    ),
    (
        entries.LogPinned(LogIdentity("badges", "cluster", "id", "topic", 2)),
        "log feed badges, cluster_id cluster, topic_id id, topic topic, partitions 2",
    ),
    (entries.FilesPinned("badges", ("0" * 64,), 5), "files feed badges, first_ms 5"),
    (
        entries.Grown(Growth("badges", 3, 2, 5, None, 4)),
        "growth feed badges, partitions 3, before 2, from_ms 5, until_ms None",
    ),
    (
        entries.Registered("crowd", "s", "badges", "f", LONG, ANYWHERE, 5),
        "alarm alarm crowd, scope s, feed badges, fingerprint f",
    ),
    (
        entries.Changed("crowd", "f", LONG, ANYWHERE, 5),
        "changed alarm crowd, fingerprint f",
    ),
    (entries.Retired("crowd"), "retired alarm crowd"),
    (
        entries.Admitted("s", OfWindow("crowd", 0, HOUR_MS), (asked("crowd", 0, Answer.RESERVED),)),
        f"admitted 'crowd' {SPAN}: reserved, 1.5 at worst",
    ),
    (
        entries.Admitted("s", OfWindow("crowd", 0, HOUR_MS)),
        "admitted scope s, alarm crowd, start_ms 0, end_ms 3600000",
    ),
    (entries.Answered("s", (given("crowd"),)), f"answered 'crowd' {SPAN}: refused"),
    (
        entries.Ended(
            **ENDED, outcome=Outcome.DECIDED, alarm_count=2, loss_units=UNITS_PER_EPSILON // 4
        ),
        f"ended 'crowd' {SPAN}: number 7, decided, 2 alarm(s), 0.25 lost",
    ),
    (
        entries.Ended(**ENDED, outcome=Outcome.DENIED, reason="budget"),
        f"ended 'crowd' {SPAN}: number 7, denied, budget",
    ),
    (entries.Worst("s", 9), "worst scope s, units 9"),
    (
        entries.Recovered((seen("crowd"),), 5),
        f"recovered 'crowd' {SPAN}: taken over, 1 spent",
    ),
    (entries.Passed("crowd", 5), "passed alarm crowd, cursor_ms 5"),
    (entries.ClockSet(9, 5), "clock before_ms 9, now_ms 5"),
    (
        entries.Archived("f.parquet", 1, 5, bytes(16), 9),
        "archived file f.parquet, first 1, last 5, last_hash AAAAAAAAAAAAAAAAAAAAAA==, before_ms 9",
    ),
    (
        entries.Snapshot(msgspec.Raw(json.dumps({"a": LONG}).encode())),
        "snapshot of all that came before",
    ),
]


def rows(of: Sequence[Entry]) -> list[EntryRow]:
    """Return entries as they are stored."""
    return [
        EntryRow(number, one.kind, one.key, entries.encode(one), bytes(16))
        for number, one in enumerate(of, 1)
    ]


def told(of: Sequence[Entry], alarm: str | None = None, since_ms: int | None = None) -> list[str]:
    """Return the history of some entries."""
    return list(log_lines(rows(of), "UTC", alarm, since_ms))


@pytest.mark.parametrize(("entry", "line"), ENTRIES)
def test_every_entry_is_a_line(entry: Entry, line: str) -> None:
    """It begins with the number and the kind; what is long is left to the export."""
    (found,) = told([entry])
    assert found.startswith(f"1 {line}")
    assert LONG not in found
    (row,) = rows([entry])
    fields = entry_fields(row)
    said = row.payload.replace(b'"query":', b'"alarm":').replace(b'"promise":', b'"privacy":')
    assert json.loads(said).items() <= fields.items()
    kind = entry.kind.replace("query", "alarm")
    assert (fields["record"], fields["seq"], fields["hash"]) == (kind, 1, "0" * 32)


def test_no_kind_is_left_out() -> None:
    """A new kind of entry needs a line above."""
    assert {type(entry) for entry, _ in ENTRIES} == set(Entry.__subclasses__())


def test_several_windows_are_in_one_line() -> None:
    """Of one alarm, its own; since an instant, those that end after it."""
    several = (asked("crowd", 0, Answer.RESERVED), asked("other", 1, Answer.PENDING))
    entry = entries.Admitted("s", OfWindow("other", HOUR_MS, 2 * HOUR_MS), several)
    (line,) = told([entry])
    assert line.count("; ") == 1
    assert told([entry], "crowd") == [line.split("; ")[0]]
    (later,) = told([entry], since_ms=HOUR_MS)
    assert later.startswith("1 admitted 'other' 1970-01-01 01:00 UTC to ")
    assert told([entry], "crowd", HOUR_MS) == []
    assert told([entry], "nobody") == []


def test_other_alarms_are_left_out() -> None:
    """What is about no alarm stays."""
    every = [entry for entry, _ in ENTRIES]
    kinds = {line.split()[1] for line in told(every, "other")}
    assert kinds == {
        *("begun", "budget", "log", "files", "growth", "admitted", "worst", "clock"),
        *("archived", "snapshot"),
    }
    assert len(told(every, "crowd")) == len(every)


@pytest.mark.parametrize("since_ms", [0, HOUR_MS - 1])
def test_since_an_instant_it_is_about_windows_alone(since_ms: int) -> None:
    """Also since the very first one."""
    every = [entry for entry, _ in ENTRIES]
    kinds = {line.split()[1] for line in told(every, since_ms=since_ms)}
    assert kinds == {"admitted", "answered", "ended", "recovered"}
    assert told(every, since_ms=HOUR_MS) == []
