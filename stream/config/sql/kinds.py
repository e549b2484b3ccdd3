"""What one event can weigh in a linear condition: the ends over all kinds of events there can be.

Filters cut the values of every field into classes on which all their comparisons have one outcome.
One value stands for each class, and an event is a choice of one class per field: fields are free of
each other, but for the filters themselves. So the ends are exact: no event passes them, and some
event that the declarations allow reaches them.

Which events there can be follows from the declarations and WHERE alone, never from data. An event
lacks any field but the feed's required ones and those of GROUP BY, whose values are of the domain.
"""

from __future__ import annotations

import math
from collections import defaultdict
from fractions import Fraction
from itertools import product
from math import isfinite, nextafter, prod
from operator import eq, ge, gt, le, lt, ne
from typing import TYPE_CHECKING, Any, Final

from operators.conditions.comparison import Comparison
from operators.conditions.weights import Weight
from stream.model.feeds import FieldType
from stream.model.filters import And, Compare, IsIn, IsNull, Not, Or
from stream.model.regions import typed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from stream.model.alarm import Term
    from stream.model.feeds import Feed
    from stream.model.filters import FieldValue, Where

    _Test = Compare | IsIn | IsNull

__all__ = ["MOST_KINDS", "span_of_terms"]

MOST_KINDS: Final = 1 << 16
"""Most kinds of events that are looked at."""

_INT64: Final = 1 << 63
_TRUE: Final = 1.0
_UNKNOWN: Final = 0.5


def span_of_terms(
    terms: Sequence[Term], where: Where | None, feed: Feed, group: Iterable[str]
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
    tests: defaultdict[str, set[_Test]] = defaultdict(set)
    for node in filter(None, (where, *(term.where for term in terms))):
        for leaf in node.leaves:
            tests[leaf.field].add(leaf)
    summed = {term.field: term for term in terms if term.kind is Weight.SUM}
    group, known = set(group), {feed.time, feed.unit, feed.id, *group}
    choices = []
    for name in sorted(tests.keys() | {term.field for term in terms if term.field is not None}):
        values = _values(name, tests[name], feed, grouped=name in group)
        values += [] if name in known else [None]
        kept = _kept(values, tests[name], summed.get(name))
        choices.append([(name, value) for value in kept])
    if prod(map(len, choices)) > MOST_KINDS:
        raise ValueError(f"its filters make more than {MOST_KINDS:,} kinds of events")
    weights = (_weight(terms, where, dict(event)) for event in product(*choices))
    found = [weight for weight in weights if weight is not None]
    return (min(found), max(found)) if found else None


def _values(
    name: str, tests: Iterable[_Test], feed: Feed, *, grouped: bool
) -> list[FieldValue | None]:
    """Return values of a field, the ends of every class among them."""
    field = feed.fields[name]
    if grouped:
        return list(typed(field.domain or (), field.type))
    marks = [test.value for test in tests if isinstance(test, Compare)]
    marks += [value for test in tests if isinstance(test, IsIn) for value in test.values]
    match field.type:
        case FieldType.BOOLEAN:
            return [False, True]
        case FieldType.STRING:
            # What follows a string at once is that string and the least character.
            return ["", *(text + end for text in map(str, marks) for end in ("", "\0"))]
        case FieldType.INTEGER | FieldType.TIMESTAMP:
            ends = (-_INT64, _INT64 - 1)
            near = {mark + step for mark in (*ends, *map(int, marks)) for step in (-1, 0, 1)}
            return [at for at in near if -_INT64 <= at < _INT64]
        case FieldType.FLOAT:
            bounds = (-math.inf, math.inf)
            found = (*bounds, *map(float, marks))
            return [math.nan, *(nextafter(at, to) for at in found for to in (*bounds, at))]


def _kept(
    values: Iterable[FieldValue | None], tests: Iterable[_Test], summed: Term | None
) -> list[FieldValue | None]:
    """Return values that stand for all of a field: one or two for every outcome of all tests.

    What a field adds is linear in its granules, so that the least and the most are enough.
    """
    classes: defaultdict[tuple[object, ...], dict[int, FieldValue | None]] = defaultdict(dict)
    for value in values:
        outcomes = (_outcome(test, {test.field: value}) for test in tests)
        granules = 0 if summed is None or not _present(value) else _granules(value, summed)
        classes[*outcomes, _present(value)][granules] = value
    return [each[end] for each in classes.values() for end in {min(each), max(each)}]


def _present(value: FieldValue | None) -> bool:
    """Tell whether a field is there, and finite."""
    return value is not None and (isinstance(value, str) or isfinite(value))


def _granules(value: Any, summed: Term) -> int:
    """Return a value in granules as the counting does: floats are divided as floats."""
    resolution = summed.resolution or Fraction(1)
    granules = value / (resolution if isinstance(value, int) else float(resolution))
    if granules >= summed.hi:
        return summed.hi
    return round(granules) if granules > summed.lo else summed.lo


_HOLDS: Final[Mapping[Comparison, Callable[[Any, Any], bool]]] = dict(
    zip(Comparison, (eq, ne, lt, le, gt, ge), strict=True)
)


def _weight(
    terms: Sequence[Term], where: Where | None, event: Mapping[Any, FieldValue | None]
) -> int | None:
    """Return what an event weighs; ``None`` where it does not count."""
    if _outcome(where, event) < _TRUE:
        return None
    weights = [
        term.factor * (_granules(event[term.field], term) if term.kind is Weight.SUM else 1)
        for term in terms
        if _outcome(term.where, event) == _TRUE
        and (term.field is None or _present(event[term.field]))
    ]
    return sum(weights) if weights else None


def _outcome(node: Where | None, event: Mapping[Any, FieldValue | None]) -> float:
    """Return the outcome of a filter by Kleene's logic: 1 where it is true, 0.5 where unknown."""
    match node:
        case Not():
            return _TRUE - _outcome(node.part, event)
        case And() | Or():
            end = min if isinstance(node, And) else max
            return end(_outcome(part, event) for part in node.parts)
        case None | IsNull():
            return node is None or event[node.field] is None
        case Compare() | IsIn() if event[node.field] is None:
            return _UNKNOWN
        case IsIn():
            return event[node.field] in node.values
        case Compare():
            return _HOLDS[node.comparison](event[node.field], node.value)
    raise TypeError(f"no filter: {type(node).__name__}")
