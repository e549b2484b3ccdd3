"""What happened to a ledger, entry by entry, in words that a custodian can read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec

from accountant.log import entries
from accountant.units import from_loss_units
from stream.windows.shown import clock_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from accountant.costs.charges import WindowKey
    from accountant.store.entry_rows import EntryRow

__all__ = ["entry_fields", "log_lines"]

_LONG: Final = 60
"""A value that takes more characters is not shown in a line."""


def entry_fields(row: EntryRow) -> dict[str, Any]:
    """Return an entry as a JSON-ready object.

    Its kind stands under ``record``; losses are loss units, times milliseconds, bytes base64.
    """
    fields = msgspec.json.decode(row.payload)
    return {"record": row.kind, "seq": row.seq, **fields, "hash": row.hash.hex()}


def log_lines(
    rows: Iterable[EntryRow], timezone: str, alarm: str | None, since_ms: int | None
) -> Iterator[str]:
    """Yield a line for each entry: its number, its kind, and what it says.

    Args:
        rows: in order.
        timezone: whose clocks are shown.
        alarm: leave out what is about other alarms.
        since_ms: leave out what is about windows that end by then alone.
    """
    for row in rows:
        entry = entries.decode(row.kind, row.payload)
        about = [
            (window, said)
            for window, said in _windows_of(entry)
            if alarm in {None, window.query} and (since_ms is None or window.end_ms > since_ms)
        ]
        others = (alarm is not None and getattr(entry, "query", alarm) != alarm) or since_ms
        if not about and (others or isinstance(entry, _OF_WINDOWS)):
            continue
        what = [_said(entry)] if not isinstance(entry, _OF_WINDOWS) else []
        what += (
            f"{one.query!r} {clock_text(one.start_ms, timezone)} to "
            f"{clock_text(one.end_ms, timezone)}: {said}"
            for one, said in about
        )
        yield f"{row.seq} {row.kind} {'; '.join(what)}"


_OF_WINDOWS: Final = (entries.Admitted, entries.Answered, entries.Ended, entries.Recovered)


def _windows_of(entry: entries.Entry) -> Iterator[tuple[WindowKey, str]]:
    """Yield the windows that an entry is about, and what it says of each."""
    match entry:
        case entries.Admitted():
            for asked in entry.windows:
                loss = from_loss_units(asked.units * min(asked.cells_per_unit, asked.cells))
                yield asked.window, f"{asked.answer}, {loss:.6g} at worst"
        case entries.Answered():
            for given in entry.windows:
                yield given.window, given.answer
        case entries.Ended():
            loss = from_loss_units(entry.loss_units)
            said = entry.reason or f"{entry.alarm_count} alarm(s), {loss:.6g} lost"
            yield entry.window, f"number {entry.sequence}, {entry.outcome}, {said}"
        case entries.Recovered():
            for seen in entry.decisions:
                yield seen.key, f"taken over, {from_loss_units(seen.loss_units):.6g} spent"


def _said(entry: entries.Entry) -> str:
    """Return the rest of an entry, name by name; long values are left to ``export``."""
    values = msgspec.to_builtins(entry)
    flat = values.pop(entry.kind, None)
    values |= flat if isinstance(flat, dict) else {}
    short = {name: value for name, value in values.items() if len(str(value)) <= _LONG}
    return ", ".join(f"{name} {value}" for name, value in short.items())
