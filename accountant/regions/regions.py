"""Regions: conjunctions of predicates on attributes, the rows that a charge or a query can touch.

A region holds one set of values per attribute; a row is in it if every attribute's value is in its
set. Time is an attribute like any other. Two regions are equal, and have the same canonical text
exactly if the same rows are in them, over rows whose attributes can take every value: a set that
leaves out nothing constrains nothing, and any empty set makes the one empty region. Numbers
are the rational line (see ``accountant.regions.valuesets``).

Two regions share a row exactly if their sets meet attribute by attribute, so emptiness and overlap
take time linear in the attributes.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeAlias

from accountant.regions.values import Value, is_text
from accountant.regions.valuesets import Elementary, ValueSet, elementary

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "Elementary",
    "Not",
    "Region",
    "Restriction",
    "Value",
    "ValueSet",
    "elementary",
]

Restriction: TypeAlias = Any
"""What may be asked of an attribute: see ``Region.where``."""


@dataclass(frozen=True, slots=True)
class Not:
    """A condition turned around: every value that does not meet it.

    Args:
        condition: any condition that ``Region.where`` takes.
    """

    condition: Restriction


@dataclass(frozen=True, slots=True, repr=False)
class Region:
    """The rows that meet one predicate per attribute.

    Make one with ``where``, ``of``, ``everything``, ``nothing`` or ``parse``.

    Args:
        conditions: constrained attributes with their sets, sorted by name, neither empty nor
            everything.
        empty: whether no row is in it; there are no conditions then.
    """

    conditions: tuple[tuple[str, ValueSet], ...] = ()
    empty: bool = False

    def __post_init__(self) -> None:
        """Refuse a form that is not the canonical one."""
        for name, values in self.conditions:
            _attribute(name)
            if not isinstance(values, ValueSet):
                raise ValueError("a region holds sets of values")  # noqa: TRY004 - a programming error is a ValueError in this tree
        names = self.attributes
        if any(left >= right for left, right in pairwise(names)):
            raise ValueError("the conditions of a region are sorted, one per attribute")
        if any(values.empty or values.is_everything for _, values in self.conditions):
            raise ValueError("a region keeps no condition that none or all values meet")
        if self.empty and self.conditions:
            raise ValueError("the empty region has no conditions")

    @classmethod
    def where(cls, /, **conditions: Restriction) -> Region:
        """Return the rows that meet every condition.

        Args:
            **conditions: per attribute a value (equality), a set, frozenset or list of values
                (membership), a pair ``(low, high)`` (half-open range, ``None`` for an open end), a
                ``range`` of step 1 (the numbers from start to before stop), a ``ValueSet``, or
                ``Not`` of any of these. ``time=(start_ms, end_ms)`` is one of them.

        Returns:
            The region; trivial conditions drop out, a contradictory one leaves the empty region.

        Raises:
            ValueError: no condition looks so, or a value is NaN, infinite or of no known kind.
        """
        return cls.of(conditions)

    @classmethod
    def of(cls, conditions: Mapping[str, Restriction]) -> Region:
        """Return what ``where`` does, for names that are no Python identifiers.

        Raises:
            ValueError: as ``where``; or a name is not a string, or empty.
        """
        return _region({_attribute(name): _values(each) for name, each in conditions.items()})

    @classmethod
    def everything(cls) -> Region:
        """Return the region of all rows."""
        return cls()

    @classmethod
    def nothing(cls) -> Region:
        """Return the region of no row."""
        return cls(empty=True)

    @classmethod
    def parse(cls, text: str) -> Region:
        """Return the region whose canonical text this is.

        Raises:
            ValueError: it is no region's canonical text.
        """
        try:
            data = json.loads(text)
        except (ValueError, RecursionError, TypeError):
            raise ValueError("a region's text is JSON") from None
        if data is False:
            region = cls.nothing()
        elif isinstance(data, dict):
            region = _region(
                {_attribute(name): ValueSet.from_data(each) for name, each in data.items()}
            )
        else:
            raise ValueError("a region's text is an object of attributes, or false")
        if region.canonical != text:
            raise ValueError("a region has one text, and this is another spelling of it")
        return region

    @property
    def attributes(self) -> tuple[str, ...]:
        """The constrained attributes, sorted."""
        return tuple(name for name, _ in self.conditions)

    def values(self, attribute: str) -> ValueSet:
        """Return the values an attribute may have: everything where it is not constrained.

        In the empty region no value will do.
        """
        if self.empty:
            return ValueSet.nothing()
        for name, values in self.conditions:
            if name == attribute:
                return values
        return ValueSet.everything()

    def overlaps(self, other: Region) -> bool:
        """Say whether some row is in both, in time linear in their attributes."""
        if self.empty or other.empty:
            return False
        others = dict(other.conditions)
        return all(
            name not in others or values.overlaps(others[name]) for name, values in self.conditions
        )

    def __and__(self, other: Region) -> Region:
        """Return the rows in both, in time linear in their attributes."""
        if self.empty or other.empty:
            return Region.nothing()
        both = dict(self.conditions)
        for name, values in other.conditions:
            both[name] = both[name] & values if name in both else values
        return _region(both)

    def contains(self, row: Mapping[str, Value]) -> bool:
        """Say whether a row is in the region; without an attribute it meets no condition on it.

        Raises:
            ValueError: a value that is looked at is NaN, infinite or of no known kind.
        """
        return not self.empty and all(
            name in row and row[name] in values for name, values in self.conditions
        )

    @property
    def canonical(self) -> str:
        """One line of ASCII JSON that no other region has; ``false`` for the empty one."""
        data = False if self.empty else {name: each.to_data() for name, each in self.conditions}
        return json.dumps(data, sort_keys=True, separators=(",", ":"))

    def __repr__(self) -> str:
        """Return the canonical text in a readable wrapper."""
        return f"Region({self.canonical})"


def _region(conditions: Mapping[str, ValueSet]) -> Region:
    if any(values.empty for values in conditions.values()):
        return Region.nothing()
    return Region(
        tuple(
            (name, values)
            for name, values in sorted(conditions.items())
            if not values.is_everything
        )
    )


def _attribute(name: object) -> str:
    if not isinstance(name, str) or not name:
        raise ValueError("an attribute's name is a string, and not empty")
    if not is_text(name):
        raise ValueError("an attribute's name has no half surrogates")
    return str.__str__(name)


def _values(condition: Restriction) -> ValueSet:
    """Return the values that meet a condition."""
    match condition:
        case ValueSet():
            return condition
        case Not():
            return ~_values(condition.condition)
        case bool() | int() | float() | Fraction() | str():
            return ValueSet.of(condition)
        case set() | frozenset() | list():
            return ValueSet.of(*condition)
        case range():
            if condition.step != 1:
                raise ValueError("a range of numbers has step 1; list the values of another one")
            return ValueSet.between(condition.start, condition.stop)
        case (low, high) if isinstance(condition, tuple):
            return ValueSet.between(low, high)
        case tuple():
            raise ValueError("a pair (low, high) is a range; write a set for membership")
        case None:
            raise ValueError("None is no value; leave the attribute out to allow all")
        case _:
            raise ValueError(
                "a condition is a value, a set or list, a pair (low, high), a range, a ValueSet "
                f"or Not, not {type(condition).__name__}"
            )
