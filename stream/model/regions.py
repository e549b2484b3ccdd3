"""The region of an alarm: which events can weigh anything in one of its cells.

The ledger charges an alarm's loss to the rows of a region, so the region must hold every event that
the alarm can count; it may hold more. It is the smallest conjunction that follows from the parts:
AND intersects per attribute, OR unites per attribute (what one side leaves open stays open), NOT is
pushed down by de Morgan, under SQL's three-valued logic. That a field is null cannot be said in a
region, where a row without an attribute meets no condition on it: so an attribute stays open as
soon as an event may lack it. GROUP BY keeps to the declared domain.

Attributes are the feed's name under ``feed`` and its fields under ``<feed>.<field>``, an event that
lacks a field having no such attribute. Values are those of the decoded columns: timestamps are
integer milliseconds, floats are the fractions they are exactly, and integers are half-open unit
ranges of the number line (``ValueSet.integers``), so that ``size > 3 AND size < 4`` is empty.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from typing import TYPE_CHECKING

from accountant.regions.regions import Region, Value, ValueSet
from operators.conditions.comparison import Comparison
from stream.model.feeds import FieldType
from stream.model.filters import And, Compare, IsIn, IsNull, Not, Or

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from stream.model.alarm import Alarm
    from stream.model.feeds import Domain, Feed
    from stream.model.filters import FieldValue, Where

__all__ = ["FEED", "attribute_of", "cell_values", "cells_of", "group_by_of", "region_of", "typed"]

FEED = "feed"
"""The attribute that holds the name of an event's feed."""

_DOMAINS = 16  # whose sets are kept: alarms group by the same few


def attribute_of(feed: Feed, field: str) -> str:
    """Return the name of the attribute that holds a field of a feed's events."""
    return f"{feed.name}.{field}"


def region_of(alarm: Alarm) -> Region:
    """Return a region that holds every event of any cell of the query.

    Guarantee: an event whose WHERE is true, that some aggregate's FILTER covers and whose group
    values are in the domain is in it: others move no statistic, and pay nothing. For a WHERE that
    only joins conditions on one field each by AND, none of them on nulls, and no FILTER, the events
    in the region are exactly those, but for ones that lack a field.

    Returns:
        The region, without time; the empty one when WHERE can never be true.
    """
    feed, reader = alarm.feed, _Reader(alarm.feed)
    parts = [part for spec in alarm.aggregates for part in (spec.terms or (spec,))]
    asked = _all([reader.filter(alarm.where), _domain(alarm)])
    covered = _any(reader.filter(part.where) for part in parts)
    possible = _all([asked, covered]) or asked  # FILTERs that cover no row are a warning's
    if possible is None:
        return Region.nothing()
    conditions = {FEED: ValueSet.of(feed.name)}
    for name, allowed in possible.items():
        # What every value of the type meets constrains no event that has the field.
        if not allowed.null and allowed.values != _KINDS[feed.fields[name].type]:
            conditions[attribute_of(feed, name)] = allowed.values
    return Region.of(conditions)


def group_by_of(alarm: Alarm) -> tuple[str, ...]:
    """Return the attributes that the alarm groups by, in the order of its domain."""
    return tuple(attribute_of(alarm.feed, name) for name in alarm.domain.fields)


def cells_of(alarm: Alarm) -> Iterator[tuple[Value, ...]]:
    """Yield every group of the alarm, in order, as values of ``group_by_of``."""
    return product(*(each for _, each in _declared(alarm, alarm.domain)))


def cell_values(alarm: Alarm) -> tuple[tuple[ValueSet, ...], ...]:
    """Return, per attribute of ``group_by_of``, what an event's value may be to count as each.

    A set is empty where a value of the field's type is never written so.
    """
    return tuple(_apart(kind, values) for kind, values in _declared(alarm, alarm.domain))


@dataclass(frozen=True, slots=True)
class _Allowed:
    """What a field may be: one of some values, or null."""

    values: ValueSet
    null: bool

    @property
    def none(self) -> bool:
        return self.values.empty and not self.null

    def __and__(self, other: _Allowed) -> _Allowed:
        return _Allowed(self.values & other.values, self.null and other.null)

    def __or__(self, other: _Allowed) -> _Allowed:
        return _Allowed(self.values | other.values, self.null or other.null)


if TYPE_CHECKING:
    # What each field may be, fields left out being open; None where no event will do.
    _Box = Mapping[str, _Allowed] | None

_KINDS: dict[FieldType, ValueSet] = {
    FieldType.STRING: ValueSet.strings(),
    FieldType.INTEGER: ValueSet.numbers(),
    FieldType.FLOAT: ValueSet.numbers(),
    FieldType.BOOLEAN: ValueSet.booleans(),
    FieldType.TIMESTAMP: ValueSet.numbers(),
}
_WHOLE = frozenset({FieldType.INTEGER, FieldType.TIMESTAMP})


class _Reader:
    """Finds what a filter asks of each field of a feed."""

    def __init__(self, feed: Feed) -> None:
        self._feed = feed
        self._required = {feed.time, feed.unit, feed.id}  # an event without one is dropped

    def filter(self, node: Where | None) -> _Box:
        """Return what fields may be where a filter is true, if there is one."""
        return {} if node is None else self.where(node, truth=True)

    def where(self, node: Where, *, truth: bool) -> _Box:
        """Return what fields may be where the filter is true, or where it is false."""
        match node:
            case Not():
                return self.where(node.part, truth=not truth)
            case And() | Or():
                parts = [self.where(part, truth=truth) for part in node.parts]
                # By de Morgan a disjunction is false where every part is.
                return _all(parts) if isinstance(node, And) is truth else _any(parts)
            case IsNull():
                return self._leaf(node.field, ValueSet.nothing(), null=True, truth=truth)
            case IsIn():
                values = _listed(node.type, node.values)
                return self._leaf(node.field, values, null=False, truth=truth)
            case Compare():
                values = _compared(node.type, node.comparison, node.value)
                return self._leaf(node.field, values, null=False, truth=truth)
            case _:
                return {}

    def _leaf(self, name: str, values: ValueSet, *, null: bool, truth: bool) -> _Box:
        """Return what one field may be where a condition on it is true, or where it is false.

        Only a test for null is ever decided for a null.
        """
        kind = _KINDS[self._feed.fields[name].type]
        null = null and truth and name not in self._required
        allowed = _Allowed((values if truth else ~values) & kind, null)
        return None if allowed.none else {name: allowed}


def _both(left: Mapping[str, _Allowed], right: Mapping[str, _Allowed]) -> _Box:
    both = dict(left)
    for name, allowed in right.items():
        both[name] = both[name] & allowed if name in both else allowed
    return None if any(allowed.none for allowed in both.values()) else both


def _all(parts: Iterable[_Box]) -> _Box:
    """Return what fields may be where all parts hold."""
    result: _Box = {}
    for part in parts:
        result = None if result is None or part is None else _both(result, part)
    return result


def _any(parts: Iterable[_Box]) -> _Box:
    """Return what fields may be where some part holds: the smallest box around them."""
    result: _Box = None
    for part in parts:
        if result is None or part is None:
            result = part if result is None else result
        else:
            result = {name: result[name] | part[name] for name in result if name in part}
    return result


def _domain(alarm: Alarm) -> dict[str, _Allowed]:
    """Return the declared values of the fields that the alarm groups by."""
    declared = zip(alarm.counted.fields, _declared(alarm, alarm.counted), strict=True)
    return {
        name: _Allowed(_together(kind, values), null=False) for name, (kind, values) in declared
    }


@lru_cache(maxsize=_DOMAINS)
def _together(kind: FieldType, values: tuple[FieldValue, ...]) -> ValueSet:
    return _listed(kind, values) & _KINDS[kind]


@lru_cache(maxsize=_DOMAINS)
def _apart(kind: FieldType, values: tuple[FieldValue, ...]) -> tuple[ValueSet, ...]:
    return tuple(_listed(kind, (value,)) & _KINDS[kind] for value in values)


def _declared(
    alarm: Alarm, domain: Domain
) -> Iterator[tuple[FieldType, tuple[str | int | bool, ...]]]:
    """Yield the type and the declared values of every field of a domain."""
    for name, values in zip(domain.fields, domain.values, strict=True):
        kind = alarm.feed.fields[name].type
        yield kind, typed(values, kind)


def typed(values: Sequence[str], kind: FieldType) -> tuple[str | int | bool, ...]:
    """Return the declared values of a field as events have them.

    Those that a value of the field's type is never written as are strings still: no event has them.
    """
    match kind:
        case FieldType.INTEGER | FieldType.TIMESTAMP:
            return tuple(_integer(value) for value in values)
        case FieldType.BOOLEAN:
            return tuple({"true": True, "false": False}.get(value, value) for value in values)
        case FieldType.STRING:
            return tuple(values)
        case FieldType.FLOAT:
            raise ValueError("a float has no domain: nothing is grouped by it")


def _integer(text: str) -> int | str:
    try:
        number = int(text)
    except ValueError:
        return text
    return number if str(number) == text else text


def _listed(kind: FieldType, values: Iterable[FieldValue]) -> ValueSet:
    """Return the set of some literals of a type."""
    if kind in _WHOLE:
        return ValueSet.integers(*(value for value in values if isinstance(value, int)))
    return ValueSet.of(*values)


def _compared(kind: FieldType, comparison: Comparison, value: FieldValue) -> ValueSet:
    """Return the values for which a comparison with a literal is true."""
    equal = _listed(kind, (value,))
    if comparison in (Comparison.EQ, Comparison.NE):
        return equal if comparison is Comparison.EQ else ~equal
    below = ValueSet.between(None, value)
    cut = below | equal if comparison.after else below
    return ~cut if comparison.upward else cut
