"""What a test says of groups: their aggregates, their references, how likely they fire."""

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
    from stream.config.yamlfile import Tree
    from stream.model.alarm import Alarm
    from stream.model.feeds import Domain

__all__ = ["ALL", "chances", "figures", "references_of", "statistics_of"]

ALL: Final = "(all)"
"""Names the only group of an alarm that groups by nothing, as in tables."""

_FARTHEST: Final = 1 << 60


def figures(alarm: Alarm, tree: Tree | None, at: Findings) -> tuple[Figure, ...]:
    """Return aggregates of groups, in units of their statistics.

    Args:
        alarm: the alarm.
        tree: what is said; ``None`` for nothing.
        at: receive what is wrong with it.
    """
    found = []
    for cell, name, value, one in _each(alarm, tree, alarm.counted, at):
        statistics = _statistics(alarm, value, one)
        if statistics is not None:
            found.append(Figure(cell, name, statistics, one.place()))
    return tuple(found)


def statistics_of(alarm: Alarm, tree: Tree, at: Findings) -> NDArray[np.int64]:
    """Return the same of all groups, shape (statistics, cells); 0 where nothing is said."""
    whole = np.zeros((len(alarm.aggregates), len(alarm.counted)), dtype=np.int64)
    for figure in figures(alarm, tree, at):
        whole[:, figure.cell] = figure.statistics
    return whole


def references_of(alarm: Alarm, tree: Tree, at: Findings) -> NDArray[np.int64]:
    """Return references, shape (cells,), in units of the aggregate; 0 where none is said."""
    whole = np.zeros(len(alarm.domain), dtype=np.int64)
    name, unit = heading(alarm.aggregates[0], alarm.feed), band_of(alarm).unit
    for cell, _, value, one in _each(alarm, tree, alarm.domain, at):
        whole[cell] = _units(value, name, unit, one, negative=True) or 0
    return whole


def chances(alarm: Alarm, tree: Tree | None, at: Findings) -> tuple[Chance, ...]:
    """Return how likely groups are to fire, or severity levels of them."""
    found = []
    for cell, name, level, value, one in _each_severity(alarm, tree, at):
        if not isinstance(value, Scalar):
            one.wrong((), "this has to be one probability", WRITTEN)
            continue
        try:
            expected = range_of(value.text)
        except ValueError as error:
            one.wrong((), f"{shown(value)}: {error}", WRITTEN)
            continue
        found.append(Chance(cell, name, expected, one.place(), level))
    return tuple(found)


def _each_severity(
    alarm: Alarm, tree: Tree | None, at: Findings
) -> Iterator[tuple[int, str, int, Tree, Findings]]:
    """Yield what is said of groups as a whole, and of severity levels by their numbers."""
    known = [level.name for level in alarm.aim.severities]
    for cell, name, value, one in _each(alarm, tree, alarm.domain, at):
        if not known or not isinstance(value, dict):
            yield cell, name, 0, value, one
            continue
        for level, chance in value.items():
            if level in known:
                yield cell, f"{name} ({level})", known.index(level), chance, one.under(level)
            else:
                message = f"`{level}` is not a severity of alarm `{alarm.id}`"
                one.wrong(level, message, closest(level, known), key=True)


def _each(
    alarm: Alarm, tree: Tree | None, domain: Domain, at: Findings
) -> Iterator[tuple[int, str, Tree, Findings]]:
    """Yield groups: their cells, names, what is said of them, and where."""
    if tree is None:
        return
    if not isinstance(tree, dict):
        if domain.fields:
            first = ", ".join(domain.group(0).values())
            message = f"the value of {', '.join(domain.fields)} is missing"
            at.wrong((), message, f"write {{{_quoted(first)}: ...}}")
        else:
            yield 0, ALL, tree, at
        return
    seen: dict[int, str] = {}
    for name, value in tree.items():
        cell = _cell_of(domain, name)
        if cell is None:
            message = f"`{name}` is not a group of alarm `{alarm.id}`"
            at.wrong(name, message, _remedy(domain, name), key=True)
        elif cell in seen:
            message = f"`{name}` is the same group as `{seen[cell]}`"
            at.wrong(name, message, "remove one", key=True)
        else:
            seen[cell] = name
            yield cell, name, value, at.under(name)


def _statistics(alarm: Alarm, value: Tree, at: Findings) -> tuple[int, ...] | None:
    """Return the aggregates of one group."""
    specs = alarm.aggregates
    names = [heading(spec, alarm.feed) for spec in specs]
    values = value if isinstance(value, list) else [value]
    if len(values) != len(specs):
        expected = "one value" if len(specs) == 1 else f"{len(specs)} values"
        message = f"alarm `{alarm.id}` takes {expected} per group, not {len(values)}"
        listed = ", ".join(names)
        hint = f"write a list of {listed}" if len(specs) > 1 else f"write {listed} only"
        at.wrong((), message, hint)
        return None
    found = [
        _units(
            each,
            name,
            spec.per_unit,
            at.under(number) if isinstance(value, list) else at,
            negative=not spec.never_negative,
        )
        for number, (each, name, spec) in enumerate(zip(values, names, specs, strict=True))
    ]
    return None if None in found else tuple(units or 0 for units in found)


def _units(value: Tree, name: str, unit: Fraction, at: Findings, *, negative: bool) -> int | None:
    """Return a number of an aggregate's own unit in those of its statistic."""
    found = number(value.text) if isinstance(value, Scalar) else None
    if found is None or not isinstance(value, Scalar):
        said = f"{shown(value)} is not a number" if isinstance(value, Scalar) else "not a number"
        at.wrong((), said, f"write {name} as a number: 200")
        return None
    units, remedy = whole_steps(found, unit)
    if remedy:
        at.wrong((), f"{name} cannot be {shown(value)}", remedy)
    elif found < 0 and not negative:
        at.wrong((), f"{name} cannot be negative", "write 0 or more")
    elif abs(units) >= _FARTHEST:
        at.wrong((), f"{shown(value)} is too large", "write a smaller number")
    else:
        return units
    return None


def _cell_of(domain: Domain, name: str) -> int | None:
    """Return the number of the group with these values, which commas part; ``None`` if none."""
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
        return f"write the value only, or {{{_quoted(ALL)}: ...}}: there is one group"
    if len(domain.fields) == 1:
        return closest(name, domain.values[0])
    shape = ", ".join(domain.group(0).values())
    return f"write the values of {', '.join(domain.fields)} with commas, as {_quoted(shape)}"


def _quoted(name: str) -> str:
    """Return a name as a key in the flow style of YAML."""
    return name if name.replace("-", "").replace("_", "").isalnum() else f'"{name}"'
