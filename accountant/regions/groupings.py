"""What the cells of a query are: the values of each attribute that it groups by, in order.

A query's cells are all combinations of the values, the last attribute running fastest. The text of
a grouping is stored beside the region (:class:`accountant.regions.shapes.Shape`), so that the
filter can tell which cells one row can be in together. Where a text is opaque (a plain name or
digest: cells too many to write down) nothing is known of its
cells but that equal names have equal cells under equal numbers.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from math import prod
from typing import TYPE_CHECKING, Any

from accountant.regions.valuesets import ValueSet

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["LONGEST_TEXT", "Grouping", "cells_key", "grouping_of"]

LONGEST_TEXT = 2**14
"""Characters of a grouping that are written down; a longer one is stored by its name alone."""

_SHORTEST = len("{}")  # what a value in it takes at least


@dataclass(frozen=True, slots=True)
class Grouping:
    """The cells of a query.

    Args:
        name: digest of the cells; equal exactly for equal cells under equal numbers.
        attributes: what is grouped by, in the order of the cells.
        values: per attribute its declared values in order, each as the set of values of a row that
            count as it; a set may be empty, and no two of one attribute meet.
    """

    name: str
    attributes: tuple[str, ...]
    values: tuple[tuple[ValueSet, ...], ...]

    @property
    def cells(self) -> int:
        """How many cells there are."""
        return prod(map(len, self.values))

    @property
    def text(self) -> str:
        """The grouping in one line of ASCII JSON, or its name where that is too long."""
        if sum(map(len, self.values)) * _SHORTEST > LONGEST_TEXT:
            return self.name
        by = [
            [name, [each.to_data() for each in values]]
            for name, values in zip(self.attributes, self.values, strict=True)
        ]
        text = json.dumps({"name": self.name, "by": by}, separators=(",", ":"))
        return text if len(text) <= LONGEST_TEXT else self.name


@lru_cache(maxsize=4_096)
def cells_key(text: str) -> str:
    """Return what equal cells under equal numbers have in common, from a grouping's text.

    One name may stand for values that are read in two ways, and so for two attributes.
    """
    found = grouping_of(text)
    return text if found is None else json.dumps([found.name, *found.attributes])


@lru_cache(maxsize=4_096)
def grouping_of(text: str) -> Grouping | None:
    """Return the grouping that a text tells of; ``None`` where it is opaque.

    Raises:
        ValueError: it looks like the text of a grouping, and is none.
    """
    if not text.startswith("{"):
        return None
    try:
        data = json.loads(text)
        name, by = data["name"], [(each, _sets(sets)) for each, sets in data["by"]]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise ValueError("this is no text of a grouping") from None
    attributes = tuple(each for each, _ in by)
    values = tuple(sets for _, sets in by)
    if len(set(attributes)) < len(attributes) or any(map(_meet, values)):
        raise ValueError("a grouping names an attribute and a value once")
    return Grouping(str(name), attributes, values)


def _sets(data: Any) -> tuple[ValueSet, ...]:
    return tuple(map(ValueSet.from_data, data))


def _meet(sets: Sequence[ValueSet]) -> bool:
    union = ValueSet.nothing()
    for each in sets:
        if each.overlaps(union):
            return True
        union |= each
    return False
