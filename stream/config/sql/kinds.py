"""What one event can weigh in a linear condition: the ends over all kinds of events there can be.

Filters cut the values of every field into classes on which all their comparisons have one outcome.
One value stands for each class, and an event is a choice of one class per field: fields are free of
each other, but for the filters themselves. These events are filtered and weighed by the counting
itself, so the ends are exact: no event passes them, and some event that the declarations allow
reaches them.

Which events there can be follows from the declarations and WHERE alone, never from data. An event
lacks any field but the feed's required ones and those of GROUP BY, whose values are of the domain.
"""

from __future__ import annotations

import math
from itertools import product
from math import nextafter, prod
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from operators.conditions.weights import Weight
from stream.counting.projection import Columns
from stream.events.columns import arrow_type
from stream.model.feeds import FieldType, required_fields
from stream.model.filters import Compare, IsIn
from stream.model.numbers import INT64
from stream.model.regions import typed

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from stream.model.alarm import Term
    from stream.model.feeds import Feed, Field
    from stream.model.filters import IsNull, Where

    _Test = Compare | IsIn | IsNull

__all__ = ["MOST_KINDS", "span_of_terms"]

MOST_KINDS: Final = 1 << 16
"""Most kinds of events that are looked at."""


def span_of_terms(
    terms: Sequence[Term], where: Where | None, feed: Feed, group: Collection[str]
) -> tuple[int, int] | None:
    """Return the least and the most that an event adds to a linear statistic, of those that count.

    Args:
        terms: of the statistic.
        where: the row filter.
        feed: whose events they are.
        group: fields of GROUP BY.

    Returns:
        ``None`` where no event can count.

    Raises:
        ValueError: there are more than ``MOST_KINDS`` kinds of events to look at.
    """
    filters = filter(None, (where, *(term.where for term in terms)))
    tests = {leaf for each in filters for leaf in each.leaves}
    fields = {each.field: feed.fields[each.field] for each in (*tests, *terms) if each.field}
    choices = []
    for name, field in fields.items():
        mine = [test for test in tests if test.field == name]
        values = typed(field.domain or (), field.type) if name in group else _ends(field, mine)
        if name not in required_fields(feed).union(group):
            values = [*values, None]
        choices.append(_unlike(values, field, mine, terms))
    if prod(map(len, choices)) > MOST_KINDS:
        raise ValueError(f"its filters make more than {MOST_KINDS:,} kinds of events")
    events = Columns(_rows(list(product(*choices)), fields.values()))
    counted, weights = events.linear(terms)
    found = weights[counted if where is None else counted & events.passing(where)]
    return (int(found.min()), int(found.max())) if found.size else None


def _rows(events: Sequence[tuple[Any, ...]], fields: Iterable[Field]) -> pa.RecordBatch:
    """Return events as columns; one that nobody reads says how many there are."""
    columns = {
        field.name: pa.array([event[at] for event in events], arrow_type(field.type))
        for at, field in enumerate(fields)
    }
    return pa.record_batch({"": pa.nulls(len(events)), **columns})


def _ends(field: Field, tests: Iterable[_Test]) -> Sequence[Any]:
    """Return values of a field, the ends of every class among them."""
    marks: list[Any] = [test.value for test in tests if isinstance(test, Compare)]
    marks += [value for test in tests if isinstance(test, IsIn) for value in test.values]
    match field.type:
        case FieldType.BOOLEAN:
            return [False, True]
        case FieldType.STRING:
            # What follows a string at once is that string and the least character.
            return ["", *(text + end for text in marks for end in ("", "\0"))]
        case FieldType.INTEGER | FieldType.TIMESTAMP:
            near = {mark + step for mark in (-INT64, INT64 - 1, *marks) for step in (-1, 0, 1)}
            return [value for value in near if -INT64 <= value < INT64]
        case FieldType.FLOAT:
            bounds = (-math.inf, math.inf)
            found = (*bounds, *marks)
            return [math.nan, *(nextafter(at, to) for at in found for to in (*bounds, at))]


def _unlike(
    values: Sequence[Any], field: Field, tests: Iterable[_Test], terms: Iterable[Term]
) -> list[Any]:
    """Return values that stand for all of a field: one or two for every outcome of all tests.

    What a field adds is linear in its granules, so that the least and the most are enough.
    """
    rows = Columns(_rows([(value,) for value in values], [field]))
    granules = np.zeros(len(values), np.int64)
    for term in terms:
        if term.kind is Weight.SUM and term.field == field.name:
            granules = np.where(rows.present(field.name), rows.granules(term.alone), 0)
    outcomes = [rows.passing(test) for test in tests]
    outcomes += [rows.present(field.name), np.array([value is None for value in values])]
    classes: dict[tuple[Any, ...], dict[int, Any]] = {}
    for value, size, *outcome in zip(values, granules, *outcomes, strict=True):
        classes.setdefault(tuple(outcome), {})[size] = value
    return [each[end] for each in classes.values() for end in {min(each), max(each)}]
