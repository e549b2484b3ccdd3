"""Thresholds of HAVING in granules: numbers, or one per value of a group field."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any, Final, TypeVar

import numpy as np

from accountant.errors import ConfigError
from stream.config.alarms.reduction import (
    COUNTS,
    LARGEST_STATISTIC,
    ZERO_WHEN_EMPTY,
    Function,
)
from stream.config.findings import Refused
from stream.config.reading import Place
from stream.config.scalars import closest
from stream.config.tables import canonical
from stream.model.numbers import decimal, whole_steps

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping
    from fractions import Fraction

    from numpy.typing import NDArray

    from stream.config.findings import Findings
    from stream.config.sql.comparisons import Asked, Threshold
    from stream.config.sql.having import HavingReader
    from stream.config.tables import Table
    from stream.config.yamlfile import Loc
    from stream.model.feeds import Domain, Feed

    _Convert = Callable[[Fraction], Fraction]

__all__ = ["Levels", "ThresholdReader", "as_for", "in_steps", "unlike_cells"]

_Number = TypeVar("_Number", bound=np.generic)

_MOST_ROW_ERRORS: Final = 20


@dataclass(frozen=True, slots=True)
class Levels:
    """The thresholds of one comparison.

    Args:
        values: in granules; one, or one per value of a group field.
        sizes: number of values of every group field.
        axis: which group field, from 0; ``None`` for one value.
    """

    values: tuple[Fraction, ...]
    sizes: tuple[int, ...]
    axis: int | None = None

    def over_cells(self, values: NDArray[_Number]) -> NDArray[_Number]:
        """Return one number per threshold, in the order of ``values``, for every cell.

        Returns:
            Shape (cells,).
        """
        along = [1] * len(self.sizes)
        if self.axis is not None:
            along[self.axis] = self.sizes[self.axis]
        return np.broadcast_to(values.reshape(along), self.sizes).reshape(-1)


def unlike_cells(levels: Collection[Levels]) -> NDArray[np.intp]:
    """Return the first of all cells that share all their thresholds, for every set of thresholds.

    Args:
        levels: at least one, of one domain.
    """
    sizes, axes = next(iter(levels)).sizes, {each.axis for each in levels}
    cells = np.arange(prod(sizes)).reshape(sizes)
    first = tuple(slice(None if axis in axes else 1) for axis in range(len(sizes)))
    return cells[first].reshape(-1)


@dataclass(frozen=True, slots=True)
class ThresholdReader:
    """Reads the thresholds of one alarm; errors go to ``findings``.

    Args:
        feed: the alarm's feed.
        domain: its groups.
        tables: public tables by name.
        findings: receives errors.
    """

    feed: Feed
    domain: Domain
    tables: Mapping[str, Table]
    findings: Findings

    def read(self, asked: Asked) -> Levels:
        """Return the thresholds of a comparison.

        Raises:
            Refused: one does not fit.
        """
        function, unit = asked.measure.function, asked.measure.unit
        of = "" if function in COUNTS else "the resolution"
        # Where the steps of others lie is no affair of who writes their thresholds.
        whole = function in ZERO_WHEN_EMPTY - {Function.LINEAR}

        def converted(number: Fraction) -> Fraction:
            in_steps(number if whole else round(number / unit) * unit, unit, "threshold", of)
            return number / unit

        return self.levels_of(asked.threshold, converted, "sql")

    def per_cell(
        self,
        text: str,
        reader: HavingReader,
        convert: _Convert,
        place: str | Loc,
        *,
        what: str,
        hint: str,
        kind: type[int | float],
    ) -> NDArray[Any]:
        """Return what a text such as ``usual[room]`` says of every cell of the domain.

        Args:
            text: as written.
            reader: of the query's HAVING.
            convert: see :meth:`levels_of`.
            place: where it is written.
            what: it is.
            hint: what to write instead.
            kind: of the numbers.

        Returns:
            Shape (cells,).

        Raises:
            Refused: something is wrong.
        """
        with self.findings.placing(place, hint):
            threshold = reader.read_number(text, f"the {what}")
        levels = self.levels_of(threshold, convert, place, what)
        return levels.over_cells(np.array([kind(value) for value in levels.values]))

    def levels_of(
        self,
        threshold: Threshold,
        convert: _Convert,
        place: str | Loc,
        what: str = "threshold",
    ) -> Levels:
        """Return a number, or a table's value for every value of its group field, in granules.

        Args:
            threshold: the number, or names the table and the field.
            convert: returns a number in granules; raises ``ConfigError``.
            place: where it is written; rows of a table are reported in the table.
            what: the alarm compares with.

        Raises:
            Refused: something is wrong.
        """
        errors, offset = self.findings.errors, threshold.offset if place == "sql" else None
        before, sizes = len(errors), tuple(map(len, self.domain.values))
        if threshold.number is not None:
            with self.findings.placing(place, offset=offset):
                return Levels((convert(threshold.number),), sizes)
        axis = self.domain.fields.index(threshold.field)
        keys = self.domain.values[axis]
        table, field = self.tables[threshold.table], self.feed.fields[threshold.field]
        places = frozenset(keys)
        found: dict[str, Fraction] = {}
        for written, (number, at) in table.cells.items():
            if len(errors) - before >= _MOST_ROW_ERRORS:
                raise Refused
            key = ""
            with suppress(ValueError):
                key = canonical(written, field.type)
            row = Place(table.file, at.line)
            if key not in places or key in found:
                message = f"`{written[:40]}` is not in the domain of `{field.name}`, or twice"
                errors.append(row.error(message, f"{closest(written, keys)}; or remove the row"))
            else:
                found[key] = number
                try:
                    found[key] = convert(number)
                except ConfigError as error:
                    errors.append(at.error(error.message, error.hint))
        missing = [key for key in keys if key not in found]
        if missing:
            more = f" and {len(missing) - 5} more" if len(missing) > 5 else ""
            message = f"{table.file} has no value for {field.name} {', '.join(missing[:5])}{more}"
            hint = f"add a row for each: every group needs a {what}"
            self.findings.wrong(place, message, hint, offset)
        if len(errors) > before:
            raise Refused
        return Levels(tuple(map(found.__getitem__, keys)), sizes, axis)


def as_for(domain: Domain, cell: int) -> str:
    """Return which group is one example, in parentheses; "" where there are no fields."""
    named = ", ".join(f"{name} = {value}" for name, value in domain.group(cell).items())
    return f" (for example for {named})" if named else ""


def in_steps(
    number: Fraction, unit: Fraction, what: str, of: str, *, most: int = LARGEST_STATISTIC
) -> int:
    """Return a number in steps of an aggregate.

    Args:
        number: in the aggregate's own unit.
        unit: what a step is in it.
        what: the number is, for errors.
        of: what the step is; "" of a count.
        most: steps from which on it is beyond all use, a power of 2.

    Raises:
        ConfigError: it is no whole number of steps, or too many.
    """
    steps, hint = whole_steps(number, unit)
    if hint:
        message = f"the {what} of a count is a whole number, not {decimal(number)}"
        if of:
            message = f"the {what} {decimal(number)} is not a multiple of {decimal(unit)}, {of}"
        raise ConfigError(message, hint=hint)
    if abs(steps) >= most:
        message = f"the {what} needs more than {most.bit_length() - 1} bits"
        raise ConfigError(message, hint="write a smaller number")
    return steps
