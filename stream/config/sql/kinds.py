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
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import isfinite, nextafter
from operator import eq, ge, gt, le, lt, ne
from typing import TYPE_CHECKING, Any, Final

from operators.conditions.comparison import Comparison
from operators.conditions.weights import Weight
from stream.model.feeds import FieldType
from stream.model.filters import And, Compare, IsIn, IsNull, Not, Or
from stream.model.regions import typed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from stream.model.feeds import Feed
    from stream.model.filters import FieldValue, Where
    from stream.model.queries import Term

__all__ = ["MOST_KINDS", "span_of_terms"]

MOST_KINDS: Final = 1 << 14
"""Most kinds of events that are looked at."""

_INT64: Final = 1 << 63


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
    filters = [term.where for term in terms if term.where is not None]
    filters += [] if where is None else [where]
    tests = {leaf for node in filters for leaf in _leaves(node)}
    summed = {term.field: term for term in terms if term.kind is Weight.SUM}
    names = {name for leaf in tests for name in leaf.fields}
    names |= {term.field for term in terms if term.field is not None}
    group, choices = set(group), []
    for name in sorted(names):
        own = [leaf for leaf in tests if name in leaf.fields]
        values = _values(name, own, feed, grouped=name in group)
        if name not in {feed.time, feed.unit, feed.id, *group}:
            values.append(None)
        choices.append(_classes(name, values, own, summed.get(name)))
    if math.prod(map(len, choices)) > MOST_KINDS:
        raise ValueError(f"its filters make more than {MOST_KINDS:,} kinds of events")
    ends = [end for kind in product(*choices) for end in _weighed(terms, where, kind)]
    return (min(ends), max(ends)) if ends else None


@dataclass(frozen=True, slots=True)
class _Class:
    """Values of one field on which all comparisons have one outcome.

    Args:
        field: whose.
        truth: the comparisons' outcomes, ``None`` where one is unknown.
        present: whether the field is there, and finite.
        span: the least and the most granules, where the field is added up.
    """

    field: str
    truth: Mapping[Where, bool | None]
    present: bool
    span: tuple[int, int]


def _leaves(node: Where) -> Iterator[Where]:
    """Yield the comparisons of a filter."""
    match node:
        case Not():
            yield from _leaves(node.part)
        case And() | Or():
            for part in node.parts:
                yield from _leaves(part)
        case _:
            yield node


def _values(
    name: str, tests: Iterable[Where], feed: Feed, *, grouped: bool
) -> list[FieldValue | None]:
    """Return values of a field, the ends of every class among them."""
    field = feed.fields[name]
    if grouped:
        return list(typed(field.domain or (), field.type))
    marks: set[FieldValue] = set()
    for test in tests:
        if isinstance(test, Compare):
            marks.add(test.value)
        elif isinstance(test, IsIn):
            marks.update(test.values)
    match field.type:
        case FieldType.BOOLEAN:
            return [False, True]
        case FieldType.STRING:
            # What follows a string at once is that string and the least character.
            return ["", *(text + end for text in map(str, marks) for end in ("", "\0"))]
        case FieldType.INTEGER | FieldType.TIMESTAMP:
            near = {mark + step for mark in map(int, marks) for step in (-1, 0, 1)}
            return [at for at in {-_INT64, _INT64 - 1, *near} if -_INT64 <= at < _INT64]
        case FieldType.FLOAT:
            beside = (
                nextafter(mark, to) for mark in map(float, marks) for to in (-math.inf, math.inf)
            )
            largest = nextafter(math.inf, 0)
            finite = [-largest, largest, *map(float, marks), *beside]
            return [*finite, -math.inf, math.inf, math.nan]


def _classes(
    name: str, values: Iterable[FieldValue | None], tests: Sequence[Where], summed: Term | None
) -> list[_Class]:
    """Return the classes of a field's values, those of one outcome together.

    What a field adds is linear in its granules, so that the least and the most are enough.
    """
    found: dict[tuple[object, ...], _Class] = {}
    for value in values:
        truth = {test: _outcome(test, value) for test in tests}
        present = value is not None and not (isinstance(value, float) and not isfinite(value))
        ends = []
        if summed is not None and present and isinstance(value, int | float):
            ends.append(_granules(value, summed))
        key = (*truth.values(), present)
        if key in found:
            ends += found[key].span
        span = (min(ends, default=0), max(ends, default=0))
        found[key] = _Class(name, truth, present, span)
    return list(found.values())


def _granules(value: float, summed: Term) -> int:
    """Return a value in granules as the counting does: floats are divided as floats."""
    granule = summed.granule or Fraction(1)
    if isinstance(value, int):
        granules: Fraction | float = value / granule
    else:
        granules = value / float(granule)
    if granules >= summed.hi:
        return summed.hi
    return round(granules) if granules > summed.lo else summed.lo


def _outcome(test: Where, value: FieldValue | None) -> bool | None:
    """Return the outcome of a comparison with a value of its field, ``None`` where unknown."""
    match test:
        case IsNull():
            return value is None
        case Compare() | IsIn() if value is None:
            return None
        case IsIn():
            return value in test.values
        case Compare():
            return _HOLDS[test.comparison](value, test.value)
    raise TypeError(f"no comparison: {type(test).__name__}")


_HOLDS: Final[Mapping[Comparison, Callable[[Any, Any], bool]]] = dict(
    zip(Comparison, (eq, ne, lt, le, gt, ge), strict=True)
)


def _weighed(
    terms: Sequence[Term], where: Where | None, kind: Sequence[_Class]
) -> tuple[int, int] | tuple[()]:
    """Return the least and the most that events of a kind weigh; nothing where they don't count."""
    truth = {test: outcome for each in kind for test, outcome in each.truth.items()}
    fields = {each.field: each for each in kind}
    if where is not None and _truth(where, truth) is not True:
        return ()
    plain, counts = 0, False
    factors: dict[str, int] = {}
    for term in terms:
        if term.where is not None and _truth(term.where, truth) is not True:
            continue
        if term.field is not None and not fields[term.field].present:
            continue
        counts = True
        if term.kind is Weight.SUM and term.field is not None:
            factors[term.field] = factors.get(term.field, 0) + term.factor
        else:
            plain += term.factor
    if not counts:
        return ()
    ends = [
        sorted((factor * fields[name].span[0], factor * fields[name].span[1]))
        for name, factor in factors.items()
    ]
    return plain + sum(least for least, _ in ends), plain + sum(most for _, most in ends)


def _truth(node: Where, truth: Mapping[Where, bool | None]) -> bool | None:
    """Return the outcome of a filter from those of its comparisons, by Kleene's logic."""
    match node:
        case Not():
            inner = _truth(node.part, truth)
            return None if inner is None else not inner
        case And() | Or():
            ends = isinstance(node, Or)  # this outcome of one part is that of the whole
            found = [_truth(part, truth) for part in node.parts]
            return ends if ends in found else None if None in found else not ends
        case _:
            return truth[node]
