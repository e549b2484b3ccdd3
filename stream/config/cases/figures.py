"""What a test says of groups: their aggregates, their references, how likely they fire."""

from __future__ import annotations

import csv
from contextlib import suppress
from typing import TYPE_CHECKING, Final, TypeVar

import numpy as np

from stream.config.alarms.reduction import FARTHEST
from stream.config.alarms.thresholds import in_steps
from stream.config.cases.cases import Chance, Figure
from stream.config.cases.ranges import WRITTEN
from stream.config.findings import Refused
from stream.config.scalars import closest
from stream.config.yamlfile import quoted
from stream.model.headings import heading
from stream.model.references import band_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from fractions import Fraction

    from numpy.typing import NDArray

    from stream.config.cases.ranges import Range
    from stream.config.findings import Findings
    from stream.model.alarm import Alarm
    from stream.model.feeds import Domain

    Measure = tuple[str, Fraction, bool]

__all__ = ["chances", "figures", "references", "whole"]

V = TypeVar("V")

_ALL: Final = "(all)"
"""Names the only group of an alarm that groups by nothing, as in tables."""


def figures(
    alarm: Alarm, counts: Mapping[str, Sequence[Fraction]], at: Findings
) -> tuple[Figure, ...]:
    """Return aggregates of groups, in units of their statistics.

    Args:
        alarm: the alarm.
        counts: what is said: of each group, a number for each aggregate.
        at: receive what is wrong with it.
    """
    measures = [
        (heading(spec, alarm.feed), spec.per_unit, not spec.never_negative)
        for spec in alarm.aggregates
    ]
    return tuple(_figures(alarm, alarm.counted, measures, counts, at))


def references(
    alarm: Alarm, written: Mapping[str, Sequence[Fraction]], at: Findings
) -> tuple[Figure, ...]:
    """Return references of groups, likewise, each as the statistic of its group."""
    measure = heading(alarm.aggregates[0], alarm.feed), band_of(alarm).unit, True
    return tuple(_figures(alarm, alarm.domain, [measure], written, at))


def whole(figures: Sequence[Figure], statistics: int, domain: Domain) -> NDArray[np.int64]:
    """Return figures of all groups, shape (statistics, cells); 0 where nothing is said."""
    found = np.zeros((statistics, len(domain)), dtype=np.int64)
    for figure in figures:
        found[:, figure.cell] = figure.statistics
    return found


def chances(
    alarm: Alarm, fires: Mapping[str, Mapping[str, Range]], at: Findings
) -> tuple[Chance, ...]:
    """Return how likely groups are to fire, or severity levels of them."""
    known = {level.name: number for number, level in enumerate(alarm.aim.severities)}
    found = []
    for cell, name, by_level, one in _each(alarm, alarm.domain, fires, at):
        for level, expected in by_level.items():
            if level and level not in known:
                message = f"`{level}` is not a severity of alarm `{alarm.id}`"
                one.wrong(level, message, closest(level, known, WRITTEN), key=True)
                continue
            shown = f"{name} ({level})" if level else name
            found.append(Chance(cell, shown, expected, one.place(level), known.get(level, 0)))
    return tuple(found)


def _figures(
    alarm: Alarm,
    domain: Domain,
    measures: Sequence[Measure],
    written: Mapping[str, Sequence[Fraction]],
    at: Findings,
) -> Iterator[Figure]:
    """Yield what is said of groups: of each a number for each measure."""
    for cell, name, values, one in _each(alarm, domain, written, at):
        if len(values) != len(measures):
            expected = "one value" if len(measures) == 1 else f"{len(measures)} values"
            message = f"alarm `{alarm.id}` takes {expected} per group, not {len(values)}"
            listed = ", ".join(measure for measure, *_ in measures)
            hint = f"write a list of {listed}" if measures[1:] else f"write {listed} only"
            one.wrong((), message, hint)
            continue
        with suppress(Refused):
            statistics = tuple(
                _units(value, measure, one.under(number))
                for number, (value, measure) in enumerate(zip(values, measures, strict=True))
            )
            yield Figure(cell, name, statistics, one.place())


def _each(
    alarm: Alarm, domain: Domain, written: Mapping[str, V], at: Findings
) -> Iterator[tuple[int, str, V, Findings]]:
    """Yield groups: their cells, names, what is said of them, and where."""
    first: dict[int, str] = {}
    for name, value in written.items():
        cell = _cell_of(domain, name)
        if cell is None:
            message = f"`{name or _ALL}` is not a group of alarm `{alarm.id}`"
            hint = f"write {{{quoted(', '.join(domain.group(0).values()) or _ALL)}: ...}}"
            if name and len(domain.fields) == 1:
                hint = closest(name, domain.values[0])
            at.wrong(name, message, hint, key=bool(name))
        elif first.setdefault(cell, name) != name:  # "a,x" beside "a, x"
            at.wrong(name, f"`{name}` is the same group as `{first[cell]}`", "remove one", key=True)
        else:
            yield cell, name or _ALL, value, at.under(name)


def _cell_of(domain: Domain, name: str) -> int | None:
    """Return the number of the group with these values, which commas part; ``None`` if none."""
    values = [name]
    try:
        if len(domain.fields) > 1:  # as in a CSV file: values with commas stand in quotes
            values = [
                value.strip() for value in next(csv.reader([name], skipinitialspace=True), [])
            ]
        elif not domain.fields and name in ("", _ALL):
            values = []
        return domain.index(values)
    except (csv.Error, ValueError):  # another number of values, or one that is none
        return None


def _units(value: Fraction, measure: Measure, at: Findings) -> int:
    """Return a number of an aggregate's own unit in those of its statistic."""
    name, unit, negative = measure
    if value < 0 and not negative:
        raise at.wrong((), f"{name} cannot be negative", "write 0 or more")
    with at.placing(()):
        return in_steps(value, unit, f"value of {name}", "its step", most=FARTHEST)
