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

from functools import lru_cache, reduce
from itertools import product
from operator import and_, or_
from typing import TYPE_CHECKING

from accountant.regions.regions import Region, Value, ValueSet
from operators.conditions.comparison import Comparison
from stream.model.feeds import FieldType
from stream.model.filters import And, Compare, IsIn, IsNull, Not, Or

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

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
    asked = reader.filter(alarm.where) & _grouped(alarm)
    covered = asked & _around(reader.filter(part.where) for part in parts)
    possible = asked if covered.empty else covered  # FILTERs that cover no row are a warning's
    if possible.empty:
        return possible
    conditions = {FEED: ValueSet.of(feed.name)}
    for name, field in feed.fields.items():
        attribute, kind = attribute_of(feed, name), _KINDS[field.type]
        values = possible.values(attribute)
        # What may be null stays open. What every value of the type meets constrains no event.
        if values | kind == kind and values != kind:
            conditions[attribute] = values
    return Region.of(conditions)


def group_by_of(alarm: Alarm) -> tuple[str, ...]:
    """Return the attributes that the alarm groups by, in the order of its domain."""
    return tuple(attribute for attribute, _, _ in _declared(alarm, alarm.domain))


def cells_of(alarm: Alarm) -> Iterator[tuple[Value, ...]]:
    """Yield every group of the alarm, in order, as values of ``group_by_of``."""
    return product(*(values for _, _, values in _declared(alarm, alarm.domain)))


def cell_values(alarm: Alarm) -> tuple[tuple[ValueSet, ...], ...]:
    """Return, per attribute of ``group_by_of``, what an event's value may be to count as each."""
    return tuple(_apart(kind, values) for _, kind, values in _declared(alarm, alarm.domain))


_KINDS: dict[FieldType, ValueSet] = {
    FieldType.STRING: ValueSet.strings(),
    FieldType.INTEGER: ValueSet.numbers(),
    FieldType.FLOAT: ValueSet.numbers(),
    FieldType.BOOLEAN: ValueSet.booleans(),
    FieldType.TIMESTAMP: ValueSet.numbers(),
}
_WHOLE = frozenset({FieldType.INTEGER, FieldType.TIMESTAMP})


class _Reader:
    """Finds what a filter asks of each field of a feed.

    What fields may be is a region while it is read: values of other types than the field's stand
    for null there.
    """

    def __init__(self, feed: Feed) -> None:
        self._feed = feed
        self._required = {feed.time, feed.unit, feed.id}  # an event without one is dropped

    def filter(self, node: Where | None) -> Region:
        """Return what fields may be where a filter is true, if there is one."""
        return Region.everything() if node is None else self.where(node, truth=True)

    def where(self, node: Where, *, truth: bool) -> Region:
        """Return what fields may be where the filter is true, or where it is false."""
        match node:
            case Not():
                return self.where(node.part, truth=not truth)
            case And() | Or():
                parts = [self.where(part, truth=truth) for part in node.parts]
                # By de Morgan a disjunction is false where every part is.
                return reduce(and_, parts) if isinstance(node, And) is truth else _around(parts)
            case IsNull():
                kind = self._kind(node.field)
                null = ValueSet.nothing() if node.field in self._required else ~kind
                return self._of(node.field, null if truth else kind)
            case IsIn():
                return self._leaf(node.field, _listed(node.type, node.values), truth=truth)
            case Compare():
                values = _compared(node.type, node.comparison, node.value)
                return self._leaf(node.field, values, truth=truth)
            case _:
                return Region.everything()

    def _leaf(self, name: str, values: ValueSet, *, truth: bool) -> Region:
        """Return what a field may be where it has some values, or where it has others.

        Neither is ever decided for a null.
        """
        return self._of(name, (values if truth else ~values) & self._kind(name))

    def _kind(self, name: str) -> ValueSet:
        return _KINDS[self._feed.fields[name].type]

    def _of(self, name: str, values: ValueSet) -> Region:
        return Region.of({attribute_of(self._feed, name): values})


def _around(parts: Iterable[Region]) -> Region:
    """Return the smallest region around some: what one of them leaves open stays open."""
    some = [part for part in parts if not part.empty]
    if not some:
        return Region.nothing()
    names = set[str].intersection(*(set(part.attributes) for part in some))
    return Region.of({name: reduce(or_, (part.values(name) for part in some)) for name in names})


def _grouped(alarm: Alarm) -> Region:
    """Return the declared values of the fields that the alarm groups by."""
    declared = _declared(alarm, alarm.counted)
    return Region.of({name: _listed(kind, values) for name, kind, values in declared})


@lru_cache(maxsize=_DOMAINS)
def _apart(kind: FieldType, values: tuple[FieldValue, ...]) -> tuple[ValueSet, ...]:
    return tuple(_listed(kind, (value,)) for value in values)


def _declared(
    alarm: Alarm, domain: Domain
) -> Iterator[tuple[str, FieldType, tuple[str | int, ...]]]:
    """Yield the attribute, the type and the declared values of every field of a domain."""
    for name, values in zip(domain.fields, domain.values, strict=True):
        kind = alarm.feed.fields[name].type
        yield attribute_of(alarm.feed, name), kind, typed(values, kind)


def typed(values: Sequence[str], kind: FieldType) -> tuple[str | int, ...]:
    """Return the declared values of a field as events have them.

    Raises:
        ValueError: the field is neither a string nor an integer: nothing is grouped by it.
    """
    if kind is FieldType.INTEGER:
        return tuple(map(int, values))
    if kind is FieldType.STRING:
        return tuple(values)
    raise ValueError("events are grouped by strings and integers")


@lru_cache(maxsize=_DOMAINS)
def _listed(kind: FieldType, values: tuple[FieldValue, ...]) -> ValueSet:
    """Return the set of those literals that are of a type."""
    if kind in _WHOLE:
        return ValueSet.integers(*(value for value in values if isinstance(value, int)))
    return ValueSet.of(*values) & _KINDS[kind]


def _compared(kind: FieldType, comparison: Comparison, value: FieldValue) -> ValueSet:
    """Return the values for which a comparison with a literal is true."""
    equal = _listed(kind, (value,))
    if comparison in (Comparison.EQ, Comparison.NE):
        return equal if comparison is Comparison.EQ else ~equal
    below = ValueSet.between(None, value)
    cut = below | equal if comparison.after else below
    return ~cut if comparison.upward else cut
