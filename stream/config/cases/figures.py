"""What a test says of predicates: their aggregates, their references, how likely they ring."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING, Final

import numpy as np

from stream.config.cases.cases import Chance, Figure
from stream.config.cases.ranges import WRITTEN, range_of
from stream.config.scalars import closest, shown
from stream.config.yamlfile import Scalar
from stream.model.headings import heading
from stream.model.numbers import number, whole_steps
from stream.model.references import band_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from fractions import Fraction

    from numpy.typing import NDArray

    from stream.config.findings import Findings
    from stream.config.yamlfile import Loc, Tree
    from stream.model.feeds import Domain
    from stream.model.queries import AggregateSpec, Query

__all__ = ["ALL", "Predicates"]

ALL: Final = "(all)"
"""Names the only predicate of an alarm that groups by nothing, as in tables."""

_FARTHEST: Final = 1 << 60


class Predicates:
    """Reads what stands beside the predicates of one alarm.

    Args:
        query: the alarm.
        findings: receive what is wrong.
    """

    def __init__(self, query: Query, findings: Findings) -> None:
        self._query = query
        self._findings = findings

    def figures(self, loc: Loc, tree: Tree) -> tuple[Figure, ...]:
        """Return aggregates, in units of their statistics."""
        found = []
        for cell, name, value, at in self._each(loc, tree, self._query.counted):
            statistics = self._statistics(at, value)
            if statistics is not None:
                found.append(Figure(cell, name, statistics, self._findings.document.place(at)))
        return tuple(found)

    def statistics(self, loc: Loc, tree: Tree) -> NDArray[np.int64]:
        """Return the same of all predicates, shape (statistics, cells); 0 where nothing is said."""
        cells = len(self._query.counted)
        whole = np.zeros((len(self._query.aggregates), cells), dtype=np.int64)
        for figure in self.figures(loc, tree):
            whole[:, figure.cell] = figure.statistics
        return whole

    def references(self, loc: Loc, tree: Tree) -> NDArray[np.int64]:
        """Return references, shape (cells,), in units of the aggregate; 0 where none is said."""
        whole = np.zeros(len(self._query.domain), dtype=np.int64)
        spec, unit = self._query.aggregates[0], band_of(self._query).unit
        for cell, _, value, at in self._each(loc, tree, self._query.domain):
            found = self._units(at, value, spec, unit, negative=True)
            if found is not None:
                whole[cell] = found
        return whole

    def ring(self, loc: Loc, tree: Tree) -> tuple[Chance, ...]:
        """Return how likely predicates are to ring, or severity levels of them."""
        found = []
        for cell, name, level, value, at in self._each_severity(loc, tree):
            if not isinstance(value, Scalar):
                self._findings.wrong(at, "one probability belongs here", WRITTEN)
                continue
            try:
                expected = range_of(value.text)
            except ValueError as error:
                self._findings.wrong(at, f"{shown(value)}: {error}", WRITTEN)
                continue
            found.append(Chance(cell, name, expected, self._findings.document.place(at), level))
        return tuple(found)

    def _each_severity(self, loc: Loc, tree: Tree) -> Iterator[tuple[int, str, int, Tree, Loc]]:
        """Yield what is said of predicates as a whole, and of severity levels by their numbers."""
        known = [level.name for level in self._query.aim.severities]
        for cell, name, value, at in self._each(loc, tree, self._query.domain):
            if not known or not isinstance(value, dict):
                yield cell, name, 0, value, at
                continue
            for level, one in value.items():
                place = (*at, level)
                if level in known:
                    yield cell, f"{name} ({level})", known.index(level), one, place
                else:
                    message = f"`{level}` is no severity of alarm `{self._query.id}`"
                    self._findings.wrong(place, message, closest(level, known), key=True)

    def _each(self, loc: Loc, tree: Tree, domain: Domain) -> Iterator[tuple[int, str, Tree, Loc]]:
        """Yield predicates: their cells, names, what is said of them, and where."""
        if not isinstance(tree, dict):
            if domain.fields:
                first = ", ".join(domain.predicate(0).values())
                message = f"this does not say which {', '.join(domain.fields)} it is about"
                self._findings.wrong(loc, message, f"write {{{_quoted(first)}: ...}}")
            else:
                yield 0, ALL, tree, loc
            return
        seen: dict[int, str] = {}
        for name, value in tree.items():
            at = (*loc, name)
            cell = _cell_of(domain, name)
            if cell is None:
                message = f"`{name}` is no predicate of alarm `{self._query.id}`"
                self._findings.wrong(at, message, _remedy(domain, name), key=True)
            elif cell in seen:
                message = f"`{name}` is the predicate that `{seen[cell]}` is, too"
                self._findings.wrong(at, message, "write it once", key=True)
            else:
                seen[cell] = name
                yield cell, name, value, at

    def _statistics(self, loc: Loc, value: Tree) -> tuple[int, ...] | None:
        """Return the aggregates of one predicate."""
        specs = self._query.aggregates
        values = value if isinstance(value, list) else [value]
        if len(values) != len(specs):
            names = ", ".join(heading(spec, self._query.feed) for spec in specs)
            message = (
                f"alarm `{self._query.id}` counts {len(specs)} figures, here are {len(values)}"
            )
            hint = f"write a list of {names}" if len(specs) > 1 else f"write {names} alone"
            self._findings.wrong(loc, message, hint)
            return None
        found = []
        for at, (each, spec) in enumerate(zip(values, specs, strict=True)):
            place = (*loc, at) if isinstance(value, list) else loc
            negative = not spec.never_negative
            found.append(self._units(place, each, spec, spec.per_unit, negative=negative))
        return None if None in found else tuple(units or 0 for units in found)

    def _units(
        self, loc: Loc, value: Tree, spec: AggregateSpec, unit: Fraction, *, negative: bool
    ) -> int | None:
        """Return a number of the aggregate's own unit in those of its statistic."""
        name = heading(spec, self._query.feed)
        found = number(value.text) if isinstance(value, Scalar) else None
        if found is None or not isinstance(value, Scalar):
            said = f"{shown(value)} is no number" if isinstance(value, Scalar) else "not a number"
            self._findings.wrong(loc, said, f"write {name} as a number, as 200")
            return None
        units, remedy = whole_steps(found, unit)
        if remedy:
            self._findings.wrong(loc, f"{name} is never {shown(value)}", remedy)
        elif found < 0 and not negative:
            self._findings.wrong(loc, f"{name} is never below 0", "write 0 or more")
        elif abs(units) >= _FARTHEST:
            self._findings.wrong(loc, f"{shown(value)} is too large", "write a smaller number")
        else:
            return units
        return None


def _cell_of(domain: Domain, name: str) -> int | None:
    """Return the number of the predicate with these values, which commas part; ``None`` if none."""
    values = _values(domain, name)
    if len(values) != len(domain.fields):
        return None
    cell = 0
    for value, known in zip(values, domain.values, strict=True):
        if value not in known:
            return None
        cell = cell * len(known) + known.index(value)
    return cell


def _values(domain: Domain, name: str) -> list[str]:
    if not domain.fields:
        return [] if name == ALL else [name]
    if len(domain.fields) == 1:
        return [name]
    # As in a CSV file: values with commas stand in quotes.
    return [value.strip() for value in next(csv.reader([name], skipinitialspace=True), [])]


def _remedy(domain: Domain, name: str) -> str:
    """Return what to write instead of a name that is none."""
    if not domain.fields:
        return f"it groups by nothing: write the value alone, or {{{_quoted(ALL)}: ...}}"
    if len(domain.fields) == 1:
        return closest(name, domain.values[0])
    shape = ", ".join(domain.predicate(0).values())
    return f"write values of {', '.join(domain.fields)}, with commas between: {_quoted(shape)}"


def _quoted(name: str) -> str:
    """Return a name as a key in the flow style of YAML."""
    return name if name.replace("-", "").replace("_", "").isalnum() else f'"{name}"'
