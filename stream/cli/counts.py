"""Exact counts as a table, as JSON lines and as Parquet: for the custodian alone."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from typing import IO, TYPE_CHECKING, Any, Final, Self

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from rich.table import Table

from operators.conditions.formula import atom_of
from stream.model.headings import heading
from stream.model.numbers import decimal
from stream.model.references import band_of
from stream.planning.fitting import Fitting
from stream.windows.instants import iso_utc
from stream.windows.shown import clock_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from stream.model.queries import AggregateSpec, Query
    from stream.replay.exact import CountedWindow
    from stream.replay.findings import FeedSurvey

__all__ = ["CountsFile", "cells_of", "counts_table", "feed_json", "lost_table", "window_json"]

_SCHEMA: Final = pa.schema(
    [
        pa.field("alarm", pa.string(), nullable=False),
        pa.field("window_start", pa.timestamp("ms", "UTC"), nullable=False),
        pa.field("window_end", pa.timestamp("ms", "UTC"), nullable=False),
        pa.field("predicate", pa.string(), nullable=False),
        pa.field("statistics", pa.list_(pa.int64()), nullable=False),
        pa.field("thresholds", pa.list_(pa.int64()), nullable=False),
        pa.field("reference", pa.int64()),
        pa.field("true", pa.bool_()),
        pa.field("complete", pa.bool_(), nullable=False),
    ]
)
_ROWS: Final = 65_536


@dataclass(frozen=True, slots=True)
class Cell:
    """One predicate of one window, in units of its statistics.

    Args:
        predicate: values by field.
        statistics: one each.
        thresholds: one for every test of the condition.
        reference: of a band; ``None`` for any other alarm.
        true: whether the condition holds; ``None`` for bands.
    """

    predicate: dict[str, str]
    statistics: tuple[int, ...]
    thresholds: tuple[int, ...]
    reference: int | None
    true: bool | None


def cells_of(query: Query, window: CountedWindow) -> Iterator[Cell]:
    """Yield the predicates of a window that count something or hold; all others count 0."""
    true, thresholds, shown = None, [], window.statistics.any(axis=0)
    if window.references is None:
        # Of groups that a quantifier counts: which of them meet the inner HAVING.
        true = replace(query.condition, members=1, least=1).truth(window.statistics)
        shown = shown | true
        literals = query.condition.formula.literals
        thresholds = [query.condition.test(literal).thresholds for literal in literals]
    else:
        shown = shown | (window.references != 0)
    for cell in np.flatnonzero(shown).tolist():
        yield Cell(
            query.counted.predicate(cell),
            tuple(window.statistics[:, cell].tolist()),
            tuple(int(each[cell]) for each in thresholds),
            None if window.references is None else int(window.references[cell]),
            None if true is None else bool(true[cell]),
        )


def counts_table(query: Query, windows: Sequence[CountedWindow], timezone: str) -> Fitting:
    """Return what the windows of an alarm count, a line for every predicate that is not empty."""
    table = Table(title=f"{query.id} (times: {timezone})", title_justify="left")
    table.add_column("window starts")
    table.add_column("predicate", overflow="fold")
    for spec in query.aggregates:
        table.add_column(heading(spec, query.feed), justify="right")
    if all(window.references is None for window in windows):
        table.add_column("rings in truth where")
        table.add_column("true")
    else:
        table.add_column("reference", justify="right")
    for window in windows:
        start = clock_text(window.key.start_ms, timezone)
        start += "" if window.complete else " (incomplete)"
        for cell in cells_of(query, window):
            predicate = ", ".join(cell.predicate.values()) or "(all)"
            last: tuple[str, ...] = (_tests(query, cell), "yes" if cell.true else "")
            if cell.reference is not None:
                last = (decimal(cell.reference * band_of(query).unit),)
            amounts = map(_amount, cell.statistics, query.aggregates)
            table.add_row(start, predicate, *amounts, *last)
            start = ""
    return Fitting(table)


def lost_table(query: Query, windows: Sequence[CountedWindow], timezone: str) -> Fitting | None:
    """Return what caps leave out of the windows of an alarm; ``None`` where that is nothing."""
    table = Table(title=f"{query.id}: left out by caps (times: {timezone})", title_justify="left")
    table.add_column("window starts")
    few = any(window.capped.beyond_windows for window in windows)
    reasons = ["repeats", "beyond predicates_per_window", "beyond events_per_cell"]
    for reason in [*reasons, "beyond windows_per_period"] if few else reasons:
        table.add_column(reason, justify="right")
    for window in windows:
        lost = window.capped
        if any(asdict(lost).values()):
            table.add_row(
                clock_text(window.key.start_ms, timezone),
                str(lost.repeats),
                _people(lost.beyond_predicates, lost.people_beyond_predicates),
                _people(lost.beyond_events, lost.people_beyond_events),
                *([_people(lost.beyond_windows, lost.people_beyond_windows)] if few else []),
            )
    return Fitting(table) if table.row_count else None


def window_json(query: Query, window: CountedWindow) -> Iterator[dict[str, Any]]:
    """Yield a window as JSON objects: its cells, then the window itself."""
    place = {
        "alarm": query.id,
        "window_start": iso_utc(window.key.start_ms),
        "window_end": iso_utc(window.key.end_ms),
    }
    for cell in cells_of(query, window):
        yield {**place, **asdict(cell)}
    yield {**place, "complete": window.complete, "left_out": asdict(window.capped)}


def feed_json(found: FeedSurvey) -> dict[str, Any]:
    """Return what was read of a feed as one JSON object."""
    return {
        "feed": found.feed,
        "events": found.rows,
        "usable": found.usable,
        "dropped": {reason: asdict(finding) for reason, finding in found.dropped.items()},
        "passed_by": {reason: asdict(finding) for reason, finding in found.passed_by.items()},
    }


class CountsFile:
    """Writes windows to Parquet, a row for every cell that is not empty; a context manager.

    Args:
        file: open for writing.
    """

    def __init__(self, file: IO[bytes]) -> None:
        self._writer = pq.ParquetWriter(file, _SCHEMA, compression="zstd")
        self._waiting: list[dict[str, Any]] = []

    def __enter__(self) -> Self:
        """Return the writer."""
        return self

    def __exit__(self, *_: object) -> None:
        """Write what is waiting, and the footer."""
        self._flush()
        self._writer.close()

    def add(self, query: Query, window: CountedWindow) -> None:
        """Add one window."""
        for cell in cells_of(query, window):
            self._waiting.append(
                {
                    **asdict(cell),
                    "alarm": query.id,
                    "window_start": window.key.start_ms,
                    "window_end": window.key.end_ms,
                    "predicate": json.dumps(cell.predicate, ensure_ascii=False),
                    "complete": window.complete,
                }
            )
        if len(self._waiting) >= _ROWS:
            self._flush()

    def _flush(self) -> None:
        self._writer.write_table(pa.Table.from_pylist(self._waiting, _SCHEMA))
        self._waiting = []


def _tests(query: Query, cell: Cell) -> str:
    """Return the tests of a condition, as numbers."""
    told = []
    for literal, threshold in zip(query.condition.formula.literals, cell.thresholds, strict=True):
        spec = query.aggregates[query.condition.atoms[atom_of(literal)].statistic]
        told.append(f"{query.condition.test(literal).comparison} {_amount(threshold, spec)}")
    return ", ".join(told)


def _amount(value: int, spec: AggregateSpec) -> str:
    """Return units of a statistic in those of its field."""
    return decimal(value * spec.per_unit)


def _people(events: int, people: int) -> str:
    return f"{events} of {people} people" if events else "0"
