"""Alarms with many filters are counted together, and each counts what it would alone.

A reader of one alarm knows nothing of other filters; ``test_counter.py`` holds it to brute force.
"""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import pairwise, product

import numpy as np
import pytest

from operators.conditions.comparison import Comparison
from stream.counting import counter, filters
from stream.counting.bounding import Bounds
from stream.model.feeds import FieldType
from stream.model.filters import And, Compare, IsIn, IsNull, Not, Or
from tests.support.contributions import CELLS, random_rows
from tests.unit.stream.counting.test_sharing import _SETUPS, told_apart

_MANY = 70  # more than a word has bits
_WIDTHS = {"narrow": 2**62, "wide": 0}

_LEAVES = [
    *(IsNull(name) for name in ("amount", "open", "event")),
    *(
        Compare("amount", FieldType.FLOAT, comparison, amount)
        for comparison, amount in product(Comparison, (-0.5, -0.0, 1.0, 2.0))
    ),
    *(Compare("event", FieldType.STRING, comparison, "e2") for comparison in Comparison),
    *(Compare("open", FieldType.BOOLEAN, Comparison.EQ, value) for value in (False, True)),
    IsIn("amount", FieldType.FLOAT, (0.0, 2.0)),
    IsIn("event", FieldType.STRING, ("e1", "é")),
]
_FILTERS = [*_LEAVES, *map(Not, _LEAVES), *map(And, pairwise(_LEAVES)), *map(Or, pairwise(_LEAVES))]
"""Over fields that events leave out, spell wrongly or repeat."""


def _counts_otherwise(setup, rng):
    """Return which of many alarms counts otherwise beside the others than alone."""
    alarms = setup.alarms
    wheres = [None, *rng.sample(_FILTERS, _MANY)]
    queries = [
        replace(query, id=f"{query.id} {at}", where=where)
        for query in alarms.by_name.values()
        for at, where in enumerate(wheres if query.id == "count" else wheres[: rng.randrange(5)])
    ]
    return told_apart(setup, alarms, queries, rng)


@pytest.mark.long
@pytest.mark.parametrize("width", _WIDTHS)
@pytest.mark.parametrize("setup", _SETUPS, ids=str)
def test_filters_that_are_counted_together_count_what_they_do_alone(setup, width, monkeypatch):
    """Sums, offsets and all, with duplicates, late rows, nulls and caps, compacted at every row."""
    monkeypatch.setattr(counter, "_COMPACT_ROWS", 0)
    monkeypatch.setattr(counter, "_CHUNK_ROWS", 7)
    monkeypatch.setattr(filters, "SUM_LIMIT", _WIDTHS[width])
    monkeypatch.setattr(filters, "_TABLE", 3 * _MANY)
    assert not _counts_otherwise(setup, random.Random(f"filters {setup} {width}"))


SPREAD, ENDS, GROUPED = counter.spread, counter.ends, filters.grouped
MISTAKES = {
    "every filter takes what any does": (
        counter,
        "spread",
        lambda sums, asked, **rest: SPREAD(sums, ~np.zeros_like(asked), **rest),
    ),
    "people of whom a filter takes some rows are left out": (
        counter,
        "of_filter",
        lambda asked, _: np.zeros(len(asked), np.bool_),
    ),
    "offsets are those of all rows": (
        counter,
        "ends",
        lambda asked, count, offset: ENDS(~np.zeros_like(asked), count, offset),
    ),
    "rows alike in a first field are alike": (filters, "grouped", lambda *key: GROUPED(key[0])),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_broken_twins_are_caught(mistake, monkeypatch):
    """Filters or offsets taken for those of others, or people left out."""
    monkeypatch.setattr(counter, "_COMPACT_ROWS", 0)
    monkeypatch.setattr(*MISTAKES[mistake])
    assert any(_counts_otherwise(setup, random.Random(f"{mistake} {setup}")) for setup in _SETUPS)


@pytest.mark.parametrize("seed", range(20))
def test_what_many_filters_keep_is_bounded(seed):
    """Whatever rows come: no more than twice what filters keep by themselves, and what they need.

    Ten filters are true of rows in up to 1,024 ways, of which each could keep rows of its own. A
    twin that drops rows behind those of other filters loses some that are needed.
    """
    count, rng = 10, np.random.default_rng(seed)
    rules = Bounds(
        per_user=True,
        distinct=(False, True)[: 1 + seed % 2],
        deduplicate=bool(seed % 3),
        predicates_per_window=2,
        events_per_cell=1 + seed % 3,
        cells=CELLS,
    )
    rows = random_rows(rng, 4_000, rules)
    rows = replace(rows, asked=rng.integers(1, 1 << count, (len(rows), 1)).astype(np.uint64))
    left = rules.compact(rows, count)
    places = {*zip(rows.unit.number, rows.period, rows.place % CELLS, strict=True)}
    assert len(left) <= 2 * count * len(places) * rules.events_per_cell * len(rules.distinct)
    behind_any = rules.compact(replace(rows, asked=None))
    twin = rows.take(np.isin(rows.sequence, behind_any.sequence))
    assert all(_same(rules, left, rows, at) for at in range(count))
    assert not all(_same(rules, twin, rows, at) for at in range(count))


def _same(rules, some, rows, at):
    """Tell whether a filter counts the same of some rows as of all."""
    kept, whole = (
        rules.apply(replace(each, asked=None).take(filters.of_filter(each.asked, at)))
        for each in (some, rows)
    )
    return np.array_equal(kept.sequence, whole.sequence) and np.array_equal(kept.place, whole.place)
